// No page, message or generated file names a package, image or repository that is not ours: the package `understudy` of npm is not.
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import manifest from '../../package.json' with { type: 'json' }
import command from '../../packages/cli/package.json' with { type: 'json' }
import helper from '../../packages/test/package.json' with { type: 'json' }
import { codeOwners, installPage, withPublishedAction, withPublishedHelper, withScope } from '../../release/names.ts'
import { publishedNames, readSettings, type Settings } from '../../release/settings.ts'
import { VERSION } from '../../src/version.ts'
import tools from '../../tools/package.json' with { type: 'json' }

const ROOT = join(import.meta.dir, '..', '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const settings = readSettings()

const FILES = [
  ...[
    '*.md',
    '*.yml',
    '*.yaml',
    'Dockerfile',
    '.github/**/*',
    'docs/**/*.md',
    'deploy/**/*',
    'examples/**/*',
    'scenarios/*',
  ],
  ...['fixtures/**/*', 'packages/*/*.md', 'packages/*/{bin,src}/**/*', 'release/**/*', 'src/**/*.{ts,tsx,mjs}'],
]
const files = [
  ...new Set(
    FILES.flatMap((glob) =>
      [...new Glob(glob).scanSync({ cwd: ROOT, dot: true })].map((file) => file.replaceAll('\\', '/')),
    ),
  ),
]
  .filter((file) => !file.includes('node_modules/'))
  .sort()

/** Commands that fetch packages, with what follows them on their line. */
const INSTALLS =
  /\b(?:npm (?:install|i|add)|pnpm add|yarn add|bun add|npx|bunx|npm exec|pnpm dlx|yarn dlx)(?= )([^\n`|&;#'()]*)/g
/** Those that run one package, whose first argument is its name. */
const RUNS = /^(?:npx|bunx|npm exec|pnpm dlx|yarn dlx)/

/** Names of the packages that the commands in a text fetch, without paths. */
function fetchedPackages(text: string): string[] {
  return [...text.matchAll(INSTALLS)].flatMap(([command, args = '']) => {
    const words = args
      .trim()
      .split(/\s+/)
      .filter((word) => word !== '' && !word.startsWith('-') && !/[$"]|\.tgz|^\.{0,2}\//.test(word))
    return RUNS.test(command) ? words.slice(0, 1) : words
  })
}

/** Code in a page: blocks, indented lines and spans. Everything else is prose. */
const codeIn = (page: string): string =>
  [...page.matchAll(/^```[\s\S]*?^```|^ {4}.*$|`[^`\n]+`/gm)].map(([code]) => code.replaceAll('`', '')).join('\n')

const allowed = new Set(
  [manifest.dependencies, manifest.devDependencies, tools.dependencies].flatMap((packages) => Object.keys(packages)),
)
const isOurs = (name: string, { npmScope }: Settings) => name.startsWith(`${npmScope}/`)

/** What a text names that is not ours, as a reader would paste it. */
function foreignNames(file: string, text: string, names: Settings = settings): string[] {
  const code = file.endsWith('.md') ? codeIn(text) : text
  const isSource = /\.(?:tsx?|mjs)$/.test(file)
  const packages = fetchedPackages(code).filter((name) =>
    // In sources, such words may stand in sentences.
    isSource ? name.replace(/@[^/]*$/, '') === 'understudy' : !isOurs(name, names) && !allowed.has(name),
  )
  const { repository, image } = names.owner === null ? { repository: null, image: null } : publishedNames(names)
  const repositories = [...text.matchAll(/(?:uses: |github\.com\/)([\w.-]+\/understudy)\b/g)].flatMap(
    ([, name = '']) => (name === repository || name.startsWith('./') ? [] : name),
  )
  const images = [...text.matchAll(/\b(?:ghcr\.io|docker\.io|quay\.io)\/[\w./-]+/g)].flatMap(([name]) =>
    name === image ? [] : name,
  )
  const others = /\b(?:pip3? install|brew install|scoop install|cargo install|docker pull) understudy\b|\bOWNER\//.exec(
    code,
  )
  return [...packages, ...repositories, ...images, ...(others ?? [])]
}

test('packages: every page, message and shipped file names only packages, images and repositories of ours', () => {
  const found = files
    .filter((file) => !file.startsWith('release/'))
    .map((file) => [file, foreignNames(file, read(file))] as const)
  expect(found.filter(([, names]) => names.length > 0)).toEqual([])
})

test.each([
  ['npm install understudy', ['understudy']],
  ['npm install --save-dev understudy @ours/test', ['understudy']],
  ['npx understudy@1 serve', ['understudy@1']],
  ['npx @ours/cli exec -- npx vitest run', []],
  ['npm install --save-dev "$TARBALLS"/*.tgz', []],
  ['uses: OWNER/understudy@v1', ['OWNER/understudy', 'OWNER/']],
  ['docker run ghcr.io/somebody/understudy', ['ghcr.io/somebody/understudy']],
  ['pip install understudy', ['pip install understudy']],
])('packages: finds the foreign names in %s', (line, names) => {
  expect(foreignNames('page.md', `    ${line}\n`, { ...settings, npmScope: '@ours', owner: null })).toEqual(names)
})

test('packages: all have the scope of the settings, and the examples the version of this checkout', () => {
  expect([command.name, helper.name]).toEqual([`${settings.npmScope}/cli`, `${settings.npmScope}/test`])
  const scopes = files.flatMap((file) =>
    [...read(file).matchAll(/(@[\w-]+)\/(?:cli|linux-x64)(?![\w-])/g)].map(([, scope]) => scope),
  )
  expect(new Set(scopes)).toEqual(new Set([settings.npmScope]))
  const wanted = settings.owner === null ? `${settings.npmScope.slice(1)}-test-${VERSION}.tgz` : `^${VERSION}`
  for (const name of ['bun-test', 'playwright', 'vitest'])
    expect(read(`examples/${name}/package.json`)).toContain(wanted)
  expect(read('.github/CODEOWNERS')).toBe(codeOwners(settings))
})

const decided: Settings = { npmScope: '@example', owner: 'Example', repository: null, image: null, homepage: null }

test('names: another scope is written into names of packages and tarballs, and into nothing else', () => {
  const text = "import '@before/test' // npx @before/cli; before/x; file:../../dist/packages/before-test-1.0.0.tgz"
  expect(withScope(text, '@before', '@after')).toBe(
    "import '@after/test' // npx @after/cli; before/x; file:../../dist/packages/after-test-1.0.0.tgz",
  )
})

test('names: pages name the published action, packages and image once the owner is decided', () => {
  if (settings.owner !== null) return
  const names = publishedNames(decided)
  for (const file of ['docs/ci.md', 'examples/github-actions/test.yml']) {
    const text = withPublishedAction(read(file), names)
    expect(text).toContain(`uses: Example/understudy@v${VERSION.split('.')[0]}`)
    expect(text).not.toMatch(/not published|dist\/understudy|\.\/understudy|--prefix/)
    expect(foreignNames(file, withScope(text, settings.npmScope, '@example'), decided)).toEqual([])
  }
  expect(withPublishedHelper(read('examples/vitest/package.json'))).toContain(`"^${VERSION}"`)
  const page = installPage(names)
  expect(page).toContain('npx @example/cli exec')
  expect(page).not.toMatch(/\{\w+\}|not published/)
  expect(foreignNames('docs/install.md', page, decided)).toEqual([])
  // Other pages lead to its headings, and it has what the page has that it replaces.
  const anchors = files.flatMap((file) =>
    [...read(file).matchAll(/install\.md#([\w-]+)/g)].map(([, anchor = '']) => anchor),
  )
  const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'))
  expect(anchors.filter((anchor) => !headings.includes(anchor))).toEqual([])
  const archives = (text: string) => new Set([...text.matchAll(/understudy-[\w-]+\.tar\.gz/g)].map(([name]) => name))
  expect(archives(page)).toEqual(archives(read('docs/install.md')))
})

test('names: the owner reviews changes once decided', () => {
  expect(codeOwners({ owner: 'Example' })).toContain('\n* @Example\n')
  expect(codeOwners({ owner: null })).not.toContain('* @')
})
