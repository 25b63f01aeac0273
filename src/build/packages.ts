// Packs what people install by npm into `dist/packages/*.tgz`: the test helper, the command, and the executable of each platform
// that was built (`npm run build` makes this one's, `npm run build:all` all of them).
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { $, Glob } from 'bun'
import { publishedNames, readSettings } from '../../release/settings.ts'
import { VERSION } from '../version.ts'
import { archivedFile, gzip, tar } from './archive.ts'
import { executableOf, isMusl, ownPlatform, platforms } from './platforms.ts'

const root = join(import.meta.dir, '..', '..')
const { values: flags } = parseArgs({
  // As tests need them: somewhere else, uncompressed, or with a small program in place of the executable.
  options: {
    out: { type: 'string', default: join(root, 'dist', 'packages') },
    uncompressed: { type: 'boolean' },
    executable: { type: 'string' },
    // A release: the folder that has the archive of every platform.
    archives: { type: 'string' },
  },
})
const out = resolve(flags.out)
const stage = join(out, 'stage')

const settings = readSettings()
const { npmScope } = settings
/** Name of a package of ours, and of its tarball without the version, as npm would name it. */
const packageName = (name: string) => `${npmScope}/${name}`
const tarballName = (name: string) => `${npmScope.slice(1)}-${name}`

const ofPlatforms = Object.fromEntries(platforms.map((platform) => [packageName(platform), VERSION]))

/** Where the packages come from, once that is decided: npm compares it with the workflow that publishes. */
const origin =
  settings.owner === null
    ? {}
    : {
        homepage: publishedNames(settings).homepage,
        repository: { type: 'git', url: `git+https://github.com/${publishedNames(settings).repository}.git` },
      }

/** The manifest of a package of `packages/`, as it is published. */
function publishedManifest(folder: string): Record<string, unknown> {
  const manifest = JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'))
  return { ...manifest, name: packageName(folder), version: VERSION, ...origin, optionalDependencies: ofPlatforms }
}

function platformManifest(platform: string): Record<string, unknown> {
  const [os = '', cpu = ''] = platform.split('-')
  return {
    name: packageName(platform),
    version: VERSION,
    description: `The executable of Understudy for ${platform}.`,
    license: 'MIT',
    ...origin,
    os: [os],
    cpu: [cpu],
    ...(os === 'linux' && { libc: [isMusl(platform) ? 'musl' : 'glibc'] }),
    files: ['bin'],
  }
}

/** Makes a folder with what every package has; gives its path. */
function begin(name: string, manifest: Record<string, unknown>): string {
  const folder = join(stage, name, 'package')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  return folder
}

/** Packs what was put into the folder of a package. */
async function pack(name: string): Promise<void> {
  const folder = join(stage, name)
  const entries = [...new Glob('**/*').scanSync(folder)].map((found) => {
    const path = found.replaceAll('\\', '/')
    return { path, bytes: readFileSync(join(folder, found)), executable: path.startsWith('package/bin/') }
  })
  const file = join(out, `${name}-${VERSION}.tgz`)
  await Bun.write(file, gzip(await tar(entries), flags.uncompressed ? 0 : undefined))
  console.error(`packed ${file}`)
}

async function packTestHelper(): Promise<void> {
  const folder = begin(tarballName('test'), publishedManifest('test'))
  copyFileSync(join(root, 'packages', 'test', 'README.md'), join(folder, 'README.md'))
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const options = ['-p', join(root, 'packages', 'test'), '--outDir', join(folder, 'dist'), '--checkers', '1']
  // It ends before collecting garbage would pay, and more checkers would each do much of the work again.
  await $`${process.execPath} ${tsc} ${options}`.env({ ...process.env, GOGC: 'off' })
  // The compiler leaves the names of the sources in declarations.
  for (const name of new Glob('*.d.{ts,mts}').scanSync(join(folder, 'dist'))) {
    const path = join(folder, 'dist', name)
    writeFileSync(path, readFileSync(path, 'utf8').replace(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"))
  }
  await pack(tarballName('test'))
}

async function packCommand(): Promise<void> {
  const folder = begin(tarballName('cli'), publishedManifest('cli'))
  cpSync(join(root, 'packages', 'cli', 'bin'), join(folder, 'bin'), { recursive: true })
  copyFileSync(join(root, 'packages', 'cli', 'README.md'), join(folder, 'README.md'))
  await pack(tarballName('cli'))
}

/**
 * The executable of a platform: from its archive, or as it was built for this machine; undefined when it was not built.
 *
 * @throws where a release lacks its archive
 */
async function executableFor(platform: string): Promise<Uint8Array | undefined> {
  const name = executableOf(platform)
  const file = `understudy-${platform}.tar.gz`
  const built = flags.executable ?? join(root, 'dist', name)
  if (!flags.archives && platform === ownPlatform && existsSync(built)) return readFileSync(built)
  const archive = join(flags.archives ?? join(root, 'dist'), file)
  if (existsSync(archive)) return archivedFile(archive, `understudy-${platform}/${name}`)
  if (flags.archives) throw new Error(`the executable for ${platform} is missing: ${flags.archives} has no ${file}`)
  return undefined
}

/** Packs the executable of a platform, when it was built. */
async function packPlatform(platform: string): Promise<void> {
  const executable = await executableFor(platform)
  if (!executable) return
  const folder = begin(tarballName(platform), platformManifest(platform))
  await Bun.write(join(folder, 'bin', executableOf(platform)), executable)
  await pack(tarballName(platform))
}

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
await packTestHelper()
await packCommand()
for (const platform of platforms) await packPlatform(platform)
rmSync(stage, { recursive: true })
