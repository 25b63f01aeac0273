// The README and the pages are true: links lead somewhere, examples run, and flags, paths, headers, faults and scenarios exist.
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Glob } from 'bun'
import { commands } from '../../src/build/reference/program-pages.ts'
import { readConfig } from '../../src/config.ts'
import { faultKinds } from '../../src/faults/index.ts'
import { createTestApp } from '../support/app.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder, type Finished, run } from '../support/server.ts'

const ROOT = join(import.meta.dir, '..', '..')
/** Names of the scenarios in a folder. */
const scenarioNames = (folder: string) =>
  readdirSync(join(ROOT, folder)).flatMap((file) => (file.endsWith('.yaml') ? [basename(file, '.yaml')] : []))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'bench/README.md',
  ...new Glob('docs/**/*.md').scanSync(ROOT),
].sort()
/** Every page but those for people who change Understudy. */
const guides = pages.filter((page) => page === 'README.md' || page.startsWith('docs/'))

/** A block of code: its language, its text, and the line above it. */
interface Block {
  page: string
  language: string
  code: string
  before: string
}
const blocks: Block[] = guides.flatMap((page) => {
  const found = read(page).matchAll(/^(.*)\n\n?```(\w*)\n([\s\S]*?)^```/gm)
  return [...found].map(([, before = '', language = '', code = '']) => ({ page, language, code, before }))
})

/** Files of other programs, which are looked at no further. */
const FOREIGN = ['prometheus.yml', 'compose.yaml']

/** A step with the action of this repository, from a checkout or as it is published. */
const ACTION = /uses: (?:\.|[\w.-]+)\/understudy(?:@|\n|$)/

/** A step of a workflow. */
interface Step {
  uses?: string
  with?: object
}

/** The anchors of a page, as GitHub makes them of headings. */
const anchorsOf = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

const program = createTestApp({ tools: 'eager' })
afterAll(() => program.close())

test('README: is at most 150 lines long', () => {
  expect(read('README.md').split('\n').length - 1).toBeLessThanOrEqual(150)
})

test.each(pages)('links of %s: lead to existing targets', (page) => {
  const links = [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  const dead = links.filter((link) => {
    if (/^https?:/.test(link)) return false
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? page : join(dirname(page), path)
    if (!existsSync(join(ROOT, target))) return true
    return anchor !== undefined && !anchorsOf(target).includes(anchor)
  })
  expect(dead).toEqual([])
})

test('README: links every page', () => {
  const readme = read('README.md')
  expect(guides.filter((page) => page.startsWith('docs/') && !readme.includes(`](${page}`))).toEqual([])
})

describe('documentation examples', () => {
  const said = (block: Block) => `${block.page}: ${block.code.split('\n')[0]}`

  const yaml = blocks.filter(({ language }) => language === 'yaml')
  const isWorkflow = ({ code }: Block) => ACTION.test(code)
  test.each(yaml.filter(isWorkflow).map((block) => [said(block), block] as const))(
    '%s: has a workflow with valid inputs',
    (_, block) => {
      const { inputs } = Bun.YAML.parse(read('action.yml')) as { inputs: object }
      const parsed = Bun.YAML.parse(block.code) as { jobs?: Record<string, { steps: Step[] }> } | Step[]
      const steps = Array.isArray(parsed) ? parsed : Object.values(parsed.jobs ?? {}).flatMap((job) => job.steps)
      const own = steps.filter(({ uses }) => uses !== undefined && ACTION.test(`uses: ${uses}`))
      expect(own.flatMap((step) => Object.keys(step.with ?? {})).filter((name) => !(name in inputs))).toEqual([])
      if (block.before.includes('`examples/')) expect(isFile(block)).toBe(true)
    },
  )

  const files = yaml.filter((block) => !isWorkflow(block))
  test.each(files.map((block) => [said(block), block] as const))('%s: is valid', async (_, { code }) => {
    const [, path = ''] = /^# (\S+\.ya?ml)/.exec(code) ?? []
    expect(path).not.toBe('')
    if (FOREIGN.includes(path)) return expect(Bun.YAML.parse(code)).toBeObject()
    const folder = emptyFolder()
    try {
      const file = join(folder.path, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, code)
      if (basename(path) === 'understudy.yaml') {
        expect(() => readConfig({ config: file }, { OPENAI_API_KEY: 'key', MY_KEY: 'key' })).not.toThrow()
        return
      }
      // What a seed names beside itself.
      for (const [, named = ''] of code.matchAll(/file: (\S+\.md)/g)) {
        mkdirSync(join(folder.path, dirname(named)), { recursive: true })
        writeFileSync(join(folder.path, named), 'Returns are free.')
      }
      const { code: status, stdout, stderr } = await runCommand(['check', '.'], { cwd: folder.path })
      expect([stdout + stderr, status]).toEqual([expect.any(String), 0])
    } finally {
      folder.remove()
    }
  })

  const scripts = blocks.filter(({ language }) => ['js', 'ts', 'py', 'python'].includes(language))
  /** Whether the code is a file of the examples, which have tests of their own. */
  const isFile = ({ code, before }: Block) =>
    [...before.matchAll(/`(examples\/[^`]+)`/g)].some(
      ([, path = '']) => existsSync(join(ROOT, path)) && read(path).includes(code),
    )
  const named = scripts.filter(({ before }) => before.includes('`examples/'))
  test.each(named.map((block) => [said(block), block] as const))('%s: is the file that it names', (_, block) => {
    expect(isFile(block)).toBe(true)
  })

  const fetched = scripts.filter(({ language, before }) => language === 'js' && !before.includes('`examples/'))
  test.each(fetched.map((block) => [said(block), block] as const))(
    '%s: prints what the text says',
    async (_, block) => {
      const printed: string[] = []
      const body = new Function('fetch', 'console', `return (async () => {${block.code}})()`)
      await body((url: string, init: RequestInit) => program.understudy.app.fetch(new Request(url, init)), {
        log: (...words: unknown[]) => printed.push(words.join(' ')),
      })
      expect(printed).not.toEqual([])
      for (const line of printed) expect(read(block.page)).toContain(`\`${line}\``)
    },
  )
})

describe('documented commands', () => {
  const shown = blocks.filter(({ code }) => code.startsWith('$ understudy '))
  /** What each command prints: several pages show the same. */
  const outputs = new Map<string, Promise<Finished>>()
  const outputOf = (command: string) => {
    const words = command.slice('$ understudy '.length).split(' ')
    // What the command of exec prints is beside that of a process alone.
    const start = words[0] === 'exec' ? run : runCommand
    const output = outputs.get(command) ?? start(words, { cwd: ROOT })
    outputs.set(command, output)
    return output
  }
  test.each(shown.map((block) => [block.code.split('\n')[0] ?? '', block] as const))(
    'print what the page shows: %s',
    async (command, { code }) => {
      const { stdout, stderr } = await outputOf(command)
      const printed = `${stdout}${stderr}`.replace(/[ ]+$/gm, '')
      for (const line of code.split('\n').slice(1)) {
        const [begin = ''] = line.split('...')
        expect(printed).toContain(begin.trimEnd())
      }
    },
  )
})

describe('documented names', () => {
  const words = guides.map((page) => ({ page, text: read(page) }))
  /** What stands in code, within lines and in blocks. */
  const codeOf = (text: string) => [...text.matchAll(/```[\s\S]*?```|`[^`\n]+`/g)].join('\n')
  const missing = (pattern: RegExp, isKnown: (name: string) => boolean) =>
    words.flatMap(({ page, text }) =>
      [...codeOf(text).matchAll(pattern)].flatMap(([name]) => (isKnown(name) ? [] : [`${page}: ${name}`])),
    )

  test('include only existing flags', async () => {
    const helps = await Promise.all(commands().map(({ name }) => runCommand(['help', ...name.split(' ')])))
    const known = new Set(helps.flatMap(({ stdout }) => [...stdout.matchAll(/--[\w-]+/g)].map(String)))
    // Of the program itself, of test runners, of the bench, of curl, and of what builds and runs containers.
    const others = [
      '--version',
      '--test',
      '--only',
      '--read-only',
      '--platform',
      '--isolation',
      '--from-literal',
      '--prefix',
      '--save-dev',
      '--data-raw',
    ]
    expect(missing(/(?<=[\s`])--[a-z][\w-]+/g, (name) => known.has(name) || others.includes(name))).toEqual([])
  })

  test('include only existing paths', async () => {
    const { paths } = (await program.fetch('/swagger/json')).json() as { paths: object }
    const known = Object.keys(paths).map((path) => path.replace(/\{[^}]+\}/g, '*'))
    const generic = (name: string) => name.replace(/<[^>]+>|\{[^}]+\}|:\w+/g, '*')
    const patternOf = (name: string) => new RegExp(`^${generic(name).replaceAll('*', '[^/]+')}(?:/|$)`)
    const isPath = (name: string) => known.some((path) => patternOf(name).test(path)) || name.endsWith('/v2/router')
    const isCase = (name: string) => known.some((path) => new RegExp(`^${path.replaceAll('*', '[^/]+')}$`).test(name))
    const inCode = /(?:\/v2|\/_understudy)\/[\w/{}<>:-]*[\w}>]/g
    expect(missing(inCode, (name) => isPath(name) || isCase(name))).toEqual([])
  })

  test('include the right numbers of fault types and shipped scenarios in the README', () => {
    const [, ...numbers] =
      /(\d+) fault types, (\d+) ready-made scenarios, (\d+) \[past incidents\]/.exec(read('README.md')) ?? []
    expect(numbers.map(Number)).toEqual([
      faultKinds.length,
      scenarioNames('scenarios').length,
      scenarioNames('scenarios/incidents').length,
    ])
  })

  test('include every fault type and no other in docs/reference/faults.md', () => {
    const rows = read('docs/reference/faults.md').matchAll(/^\| \[`([\w-]+)`\]\(#\1\) \|/gm)
    const types = [...rows].map(([, name = '']) => name)
    expect(types.sort()).toEqual(faultKinds.map(({ type }) => type as string).sort())
  })

  test('include every shipped scenario in docs/scenarios.md', () => {
    const [, table = ''] = /\| scenarios \| names \|\n([\s\S]*?)\n\n/.exec(read('docs/scenarios.md')) ?? []
    const told = [...table.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name)
    const shipped = scenarioNames('scenarios')
    expect(told.sort()).toEqual(shipped.sort())
  })
})
