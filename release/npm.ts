// Publishes the npm packages. What the registry already has is left alone, so a release that stopped half-way can be run again.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { archivedFile } from '../src/build/archive.ts'
import { FOLDERS, must, type Release, ReleaseError, run } from './context.ts'
import { filesOf } from './manifest.ts'
import { npmTag } from './versions.ts'

/** A package to publish. */
interface PackedPackage {
  file: string
  name: string
  /** Its checksum, as registries state it. */
  integrity: string
}

async function packedPackage(file: string): Promise<PackedPackage> {
  const { name } = JSON.parse(new TextDecoder().decode(await archivedFile(file, 'package/package.json')))
  const hash = new Bun.CryptoHasher('sha512').update(await Bun.file(file).bytes()).digest('base64')
  return { file, name, integrity: `sha512-${hash}` }
}

/** The executables' packages come first: nobody may install a command whose executable is not there yet. */
function ordered({ platforms, names }: Release, packages: readonly PackedPackage[]): PackedPackage[] {
  const ofPlatform = ({ name }: PackedPackage) => platforms.some((platform) => name === `${names.npmScope}/${platform}`)
  const missing = platforms.filter((platform) => !packages.some(({ name }) => name === `${names.npmScope}/${platform}`))
  if (missing.length > 0) throw new ReleaseError(`the npm packages of ${missing.join(', ')} are missing`)
  return [...packages.filter(ofPlatform), ...packages.filter((one) => !ofPlatform(one))]
}

/** What npm printed, without its own prefixes and the path of its log. */
const complaint = (stderr: string) =>
  stderr
    .split('\n')
    .flatMap((line) => /^npm error (.*)/.exec(line)?.[1] ?? [])
    .filter((line) => line.trim() !== '' && !line.includes('complete log'))
    .join('\n')

/**
 * The checksum under which the registry has a version; undefined when it does not have it.
 *
 * @throws where the registry cannot say
 */
async function publishedIntegrity({ root, env, version }: Release, name: string): Promise<string | undefined> {
  const command = ['npm', 'view', `${name}@${version}`, 'dist.integrity', '--json']
  const { code, stdout, stderr } = await run(command, { cwd: root, env })
  if (code === 0) return stdout.trim() === '' ? undefined : String(JSON.parse(stdout))
  if (stderr.includes('E404')) return undefined
  throw new ReleaseError(`npm view ${name} failed:\n${complaint(stderr)}`)
}

/**
 * Publishes the packages that the registry does not have. In a workflow of GitHub, with provenance.
 *
 * @throws where the registry refuses one, or has other contents under this version
 */
export async function publishPackages(release: Release): Promise<void> {
  const { out, version, env, print } = release
  const files = filesOf(release, FOLDERS.packages)
  const packages = ordered(release, await Promise.all(files.map(({ path }) => packedPackage(join(out, path)))))
  if (release.dry) {
    for (const { name } of packages) print(`would publish ${name}@${version} to npm, tag ${npmTag(version)}`)
    return
  }
  const provenance = env.ACTIONS_ID_TOKEN_REQUEST_URL ? ['--provenance'] : []
  const options = ['--access', 'public', '--tag', npmTag(version), ...provenance]
  // Who publishes from a machine of their own is logged in there; a trusted workflow needs no token.
  if (!env.NPM_TOKEN) return publishEach(release, packages, options)
  const credentials = await credentialsFile(release, env.NPM_TOKEN)
  try {
    await publishEach(release, packages, ['--userconfig', credentials, ...options])
  } finally {
    rmSync(dirname(credentials), { recursive: true })
  }
}

/** A file of npm settings with the token, for the registry that npm is set to. */
async function credentialsFile({ root: cwd, env }: Release, token: string): Promise<string> {
  const { host, pathname } = new URL(await must(['npm', 'config', 'get', 'registry'], { cwd, env }))
  const file = join(mkdtempSync(join(tmpdir(), 'understudy-npm-')), '.npmrc')
  writeFileSync(file, `//${host}${pathname}:_authToken=${token}\n`, { mode: 0o600 })
  return file
}

async function publishEach(release: Release, packages: readonly PackedPackage[], options: string[]): Promise<void> {
  const { version, env, root: cwd, print } = release
  for (const [index, one] of packages.entries()) {
    if (await isPublished(release, one)) {
      print(`${one.name}@${version} is already published`)
      continue
    }
    const { code, stderr } = await run(['npm', 'publish', one.file, ...options], { cwd, env })
    // The registry may have taken it all the same, from a run before this one.
    if (code !== 0 && !(await isPublished(release, one)))
      throw new ReleaseError(
        [
          `npm refused ${basename(one.file)}, after ${index} of ${packages.length} packages:`,
          complaint(stderr),
          'Run this step again when the reason is removed: it continues with this package.',
        ].join('\n'),
      )
    print(`published ${one.name}@${version}`)
  }
}

/**
 * Whether the registry has this package.
 *
 * @throws where it has something else under this version, which cannot be replaced
 */
async function isPublished(release: Release, { name, integrity, file }: PackedPackage): Promise<boolean> {
  const found = await publishedIntegrity(release, name)
  if (found === undefined) return false
  if (found === integrity) return true
  throw new ReleaseError(
    `${name}@${release.version} is published with other contents (${found}) than ${basename(file)} (${integrity}): release another version`,
  )
}
