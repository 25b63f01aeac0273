// Compiles the executable: `dist/understudy` for this platform, with `--platform NAME` `dist/understudy-NAME` for another, or with
// --all an archive a platform plus SHA256SUMS. With --no-site it contains the documentation site only when that is built already.

import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { $, Glob } from 'bun'
import { SHIPPED } from '../backends/fixture/in-force.ts'
import { embeddedFixtures } from '../backends/fixture/load.ts'
import { NOTICES_FILE, packNotices } from '../cli/notices-file.ts'
import { EMPTY, newDatabase } from '../db/open.ts'
import { SITE_FILE } from '../docs/site-file.ts'
import { fixtureSubjects } from '../endpoints/index.ts'
import { bundlePage } from '../inspector/bundle.ts'
import { compressPage, PAGE_FILE } from '../inspector/page-file.ts'
import { STARTING_POLICY } from '../lib/jit-policy.ts'
import { PLACES_FILE } from '../lib/paged-asset.ts'
import { SEED_FILE, seedAsJson } from '../resources/seeds/seed-file.ts'
import { SCENARIOS_FILE } from '../scenarios/load.ts'
import { compiledSchemaFile } from '../schema/parse.ts'
import { type ArchiveEntry, gzip, tar } from './archive.ts'
import { NO_PLACES, writePlaces } from './asset-places.ts'
import { compiledSchemas } from './compiled-schemas.ts'
import { EMBEDDED_FILES, folderOf, licenseNotices, packageRecorder } from './licenses.ts'
import { withoutSignature } from './mach-o.ts'
import { packedLibraries, unpacking } from './packed-libraries.ts'
import { driverOf, executableOf, ownPlatform, platforms } from './platforms.ts'
import { scenariosAsJson } from './scenarios-json.ts'
import { currentSite, siteFile, sitePackages } from './site.ts'
import { tokenTables } from './token-table.ts'

const root = join(import.meta.dir, '..', '..')
const dist = join(root, 'dist')

const { values: flags } = parseArgs({
  options: {
    all: { type: 'boolean' },
    platform: { type: 'string', default: ownPlatform },
    site: { type: 'boolean', default: true },
    // What an image is built from has no Git.
    commit: { type: 'string' },
  },
  allowNegative: true,
})
const builtFrom = await checkedOut(flags.commit)
const tables = tokenTables()
const site = flags.site ? await siteFile() : currentSite()
const emptyDatabases = Object.entries(EMPTY).map(
  ([kind, { asset }]) => [asset, newDatabase(kind as keyof typeof EMPTY)] as const,
)
const outlines = Object.entries(compiledSchemas()).map(([name, json]) => [compiledSchemaFile(name), json] as const)
/** The packages of every module that is bundled. */
const modules = packageRecorder()
/** What is made for the executable, by its path. */
const made: Record<string, Uint8Array | string> = {
  ...tables,
  ...Object.fromEntries([...emptyDatabases, ...outlines]),
  ...(await packedLibraries([modules.plugin])),
  [PLACES_FILE]: NO_PLACES,
  [SHIPPED]: JSON.stringify(embeddedFixtures(fixtureSubjects)),
  [SEED_FILE]: seedAsJson(),
  [SCENARIOS_FILE]: scenariosAsJson(),
  [PAGE_FILE]: compressPage(await bundlePage([modules.plugin])),
  ...(site && { [SITE_FILE]: site }),
  [NOTICES_FILE]: '',
}
/** Swagger UI's own files and ours behind it; everything the page loads comes from the executable. */
const swaggerAssets = [
  ...['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'].map(
    (name) => `node_modules/swagger-ui-dist/${name}`,
  ),
  'src/docs/page.js',
  'test/golden/openapi-examples.json',
]

/** They run beside the program (workers/pool.ts, workers/recording.ts, db/checkpoint.ts), so they are programs of their own inside the executable. */
const WORKERS = ['src/workers/worker.ts', 'src/workers/recording-worker.ts', 'src/db/checkpoint-worker.ts']

/** The commit that is built, and whether files have changed since; null without Git. */
async function checkedOut(commit?: string): Promise<{ commit: string; modified: boolean } | null> {
  if (commit) return { commit, modified: false }
  const git = async (...words: string[]) => {
    const { exitCode, stdout } = await $`git -C ${root} ${words}`.quiet().nothrow()
    return exitCode === 0 ? stdout.toString().trim() : undefined
  }
  // A folder inside somebody else's repository is no checkout of ours.
  if ((await git('rev-parse', '--show-cdup').catch(() => undefined)) !== '') return null
  const head = await git('rev-parse', 'HEAD')
  return head ? { commit: head, modified: (await git('status', '--porcelain')) !== '' } : null
}

const ENTRIES = ['src/main.ts', ...WORKERS]

/** The licenses of the packages whose modules, data or files are embedded. */
function notices(): Uint8Array<ArrayBuffer> {
  const others = [...EMBEDDED_FILES.map(folderOf), ...(site ? sitePackages(site) : []).map((path) => join(root, path))]
  return packNotices(licenseNotices([...modules.folders, ...others]))
}

/** A bundler's plugin that puts the notices in place of an empty file, once every module is known. */
const noticing: Bun.BunPlugin = {
  name: 'noticing',
  setup(builder) {
    builder.onLoad({ filter: /[\\/]notices\.json\.gz$/ }, async ({ defer }) => {
      await defer()
      return { contents: notices(), loader: 'file' }
    })
  },
}

/** Types of files that are embedded as they are. */
const FILES = ['.yaml', '.yml', '.json', '.md', '.css', '.png', '.bin', '.db', '.gz']

async function compile(platform: string, outfile: string): Promise<void> {
  const assets = [
    ...new Glob('{fixtures,scenarios}/**/*.{yaml,yml,json,md}').scanSync(root),
    ...swaggerAssets,
    ...Object.keys(made),
  ].sort()
  const result = await Bun.build({
    root,
    entrypoints: [...ENTRIES, ...assets].map((path) => join(root, path)),
    loader: Object.fromEntries(FILES.map((type) => [type, 'file'])),
    // A folder of their own: a script that is served would else be replaced by the module made of it.
    naming: { asset: 'assets/[dir]/[name].[ext]', chunk: '[name]-[hash].[ext]' },
    format: 'esm',
    bytecode: true,
    splitting: true,
    minify: { whitespace: true, syntax: true },
    // Else the paths of this machine are in packages that were written for CommonJS, and nothing is there at run time.
    define: { BUILT_FROM: JSON.stringify(builtFrom), __dirname: '"."', __filename: '"."' },
    plugins: [embeddable(platform), unpacking, noticing, modules.plugin],
    compile: {
      outfile,
      target: `bun-${platform.replace('win32', 'windows')}` as Bun.Build.CompileTarget,
      autoloadDotenv: false,
      autoloadBunfig: false,
      jitPolicy: STARTING_POLICY,
    },
  })
  if (!result.success) throw new AggregateError(result.logs, `building for ${platform} failed`)
  await Bun.write(join(root, NOTICES_FILE), notices())
  // Where a running program can read its own file, and no signature says what is in that.
  if (platform.startsWith('linux')) writePlaces(outfile, tables)
  if (platform === 'darwin-x64') {
    await Bun.write(outfile, withoutSignature(await Bun.file(outfile).bytes()))
    chmodSync(outfile, 0o755)
  }
}

/** Large files of which few runs read any; the program unpacks them (lib/assets.ts). */
const COMPRESSED = /[\\/](?:swagger-ui-bundle\.js|swagger-ui\.css|openapi-examples\.json|cl100k\.bin)$/

/** The driver's entry for one platform (its default one looks for node_modules at run time), and files that are not embedded as they are. */
const embeddable = (platform: string): Bun.BunPlugin => ({
  name: 'embeddable',
  setup(builder) {
    const driver = join(root, `node_modules/better-sqlite3/lib/${driverOf(platform)}.js`)
    builder.onResolve({ filter: /^better-sqlite3$/ }, () => ({ path: driver }))
    // It is served, not run.
    builder.onLoad({ filter: /[\\/]docs[\\/]page\.js$/ }, async ({ path }) => ({
      contents: await Bun.file(path).bytes(),
      loader: 'file',
    }))
    builder.onLoad({ filter: COMPRESSED }, async ({ path }) => ({
      contents: gzipSync(await Bun.file(path).bytes(), { level: 9 }),
      loader: 'file',
    }))
  },
})

/** What stands beside the executable in its archive. */
const documents = (): ArchiveEntry[] =>
  ['README.md', 'LICENSE', ...new Glob('docs/**/*').scanSync(root)].map((path) => ({
    path: path.replaceAll('\\', '/'),
    bytes: readFileSync(join(root, path)),
  }))

mkdirSync(dist, { recursive: true })
for (const [path, bytes] of Object.entries(made)) await Bun.write(join(root, path), bytes)
const platform = platforms.find((known) => known === flags.platform)
if (!flags.all) {
  if (!platform) throw new Error(`unknown --platform ${JSON.stringify(flags.platform)}; valid: ${platforms.join(', ')}`)
  const name = platform === ownPlatform ? executableOf(ownPlatform) : `understudy-${platform}`
  await compile(platform, join(dist, `${name}.new`))
  const [built] = new Glob(`${name}.new*`).scanSync(dist)
  renameSync(join(dist, built ?? `${name}.new`), join(dist, name))
  console.error(`built dist/${name}`)
} else {
  const sums: string[] = []
  const folder = join(dist, 'archives')
  rmSync(folder, { recursive: true, force: true })
  for (const platform of platforms) {
    const name = executableOf(platform)
    const executable = join(folder, platform, name)
    mkdirSync(join(folder, platform), { recursive: true })
    await compile(platform, executable)
    const top = `understudy-${platform}`
    const archive = gzip(
      await tar([
        { path: `${top}/${name}`, bytes: readFileSync(executable), executable: true },
        ...documents().map(({ path, bytes }) => ({ path: `${top}/${path}`, bytes })),
      ]),
    )
    await Bun.write(join(dist, `${top}.tar.gz`), archive)
    sums.push(`${new Bun.CryptoHasher('sha256').update(archive).digest('hex')}  ${top}.tar.gz`)
    console.error(`built dist/${top}.tar.gz`)
  }
  rmSync(folder, { recursive: true })
  await Bun.write(join(dist, 'SHA256SUMS'), `${sums.join('\n')}\n`)
}
