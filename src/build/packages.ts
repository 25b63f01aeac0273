// Packs what people install by npm into `dist/packages/*.tgz`: the test helper, the command, and the executable of each platform
// that was built (`npm run build` makes this one's, `npm run build:all` all of them).
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { $, Glob } from 'bun'
import { readSettings } from '../../release/settings.ts'
import { VERSION } from '../version.ts'
import { executableOf, here, isMusl, platforms } from './platforms.ts'

const root = join(import.meta.dir, '..', '..')
const { values: flags } = parseArgs({
  // As tests need them: somewhere else, and without the seconds that it takes to compress executables.
  options: { out: { type: 'string', default: join(root, 'dist', 'packages') }, uncompressed: { type: 'boolean' } },
})
const out = resolve(flags.out)
const stage = join(out, 'stage')

const { npmScope } = readSettings()
/** Name of a package of ours, and of its tarball without the version, as npm would name it. */
const packageName = (name: string) => `${npmScope}/${name}`
const tarballName = (name: string) => `${npmScope.slice(1)}-${name}`

const ofPlatforms = Object.fromEntries(platforms.map((platform) => [packageName(platform), VERSION]))

/** The manifest of a package of `packages/`, as it is published. */
function publishedManifest(folder: string): Record<string, unknown> {
  const manifest = JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'))
  return { ...manifest, name: packageName(folder), version: VERSION, optionalDependencies: ofPlatforms }
}

function platformManifest(platform: string): Record<string, unknown> {
  const [os = '', cpu = ''] = platform.split('-')
  return {
    name: packageName(platform),
    version: VERSION,
    description: `The executable of Understudy for ${platform}.`,
    license: 'MIT',
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

async function pack(name: string): Promise<void> {
  const tar = join(stage, `${name}.tar`)
  await $`tar -cf ${tar} -C ${join(stage, name)} package`
  const file = join(out, `${name}-${VERSION}.tgz`)
  await Bun.write(file, Bun.gzipSync(await Bun.file(tar).bytes(), { level: flags.uncompressed ? 0 : 9 }))
  rmSync(tar)
  console.error(`packed ${file}`)
}

async function packTestHelper(): Promise<void> {
  const folder = begin(tarballName('test'), publishedManifest('test'))
  copyFileSync(join(root, 'packages', 'test', 'README.md'), join(folder, 'README.md'))
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  await $`${process.execPath} ${tsc} -p ${join(root, 'packages', 'test')} --outDir ${join(folder, 'dist')}`
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

/** Packs the executable of a platform, when it was built. */
async function packPlatform(platform: string): Promise<void> {
  const name = executableOf(platform)
  const archive = join(root, 'dist', `understudy-${platform}.tar.gz`)
  const built = join(root, 'dist', name)
  const own = platform === here && existsSync(built)
  if (!own && !existsSync(archive)) return
  const folder = begin(tarballName(platform), platformManifest(platform))
  const target = join(folder, 'bin', name)
  mkdirSync(dirname(target))
  if (own) copyFileSync(built, target)
  else await $`tar -xzf ${archive} -C ${dirname(target)} --strip-components=1 ${`understudy-${platform}/${name}`}`
  chmodSync(target, 0o755)
  await pack(tarballName(platform))
}

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
await packTestHelper()
await packCommand()
for (const platform of platforms) await packPlatform(platform)
rmSync(stage, { recursive: true })
