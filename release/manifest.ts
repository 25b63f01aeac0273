// What a release uploads: every file with its checksum and where it goes, in one file that each later step checks itself against.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { archiveOf, FOLDERS, type Release, ReleaseError, sha256, writePart } from './context.ts'
import type { Image } from './image.ts'
import { NOTES } from './notes.ts'
import { actionTag, isPrerelease, npmTag } from './versions.ts'

/** Name of the file. */
export const MANIFEST_FILE = 'manifest.json'
/** Name of the list of checksums that people download. */
export const SUMS = 'SHA256SUMS'

/** A file of a release. */
export interface ReleaseFile {
  /** Path below the release's folder. */
  path: string
  bytes: number
  sha256: string
  /** Where it goes. */
  to: string
}

/** Everything that a release uploads. */
export interface ReleaseManifest {
  version: string
  tag: string
  commit: string
  prerelease: boolean
  image: Image
  /** The tag that people name the action by, which moves to this commit; null where it does not move. */
  actionTag: string | null
  files: ReleaseFile[]
}

const filesBelow = (folder: string) => [...new Glob('**/*').scanSync({ cwd: folder, dot: true })].sort()

/** Writes the checksums of the release's assets; those of archives let the action check what it downloads. */
export function writeSums(release: Release): void {
  const folder = join(release.out, FOLDERS.assets)
  rmSync(join(folder, SUMS), { force: true })
  const lines = filesBelow(folder).map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`)
  writePart(release, `${FOLDERS.assets}/${SUMS}`, lines.join(''))
}

/** Where a file goes. */
function destinationOf({ tag, version, names }: Release, path: string): string {
  const [folder] = path.split('/')
  if (folder === FOLDERS.assets) return `GitHub release ${tag}`
  if (folder === FOLDERS.packages) return `npm, tag ${npmTag(version)}`
  if (folder === FOLDERS.image) return `${names.image}:${version}`
  if (folder === FOLDERS.site) return 'documentation site'
  return `notes of GitHub release ${tag}`
}

/** Parts that no release is complete without. */
function required(release: Release): string[] {
  const assets = [...release.platforms.map(archiveOf), SUMS, 'understudy.cdx.json', 'understudy.rb', 'understudy.json']
  return [
    ...assets.map((name) => `${FOLDERS.assets}/${name}`),
    `${FOLDERS.image}/index.json`,
    `${FOLDERS.site}/index.html`,
    NOTES,
  ]
}

/**
 * Writes the manifest.
 *
 * @throws where a part is missing
 */
export function writeManifest(release: Release, image: Image, commit: string): void {
  const paths = filesBelow(release.out).filter((path) => path !== MANIFEST_FILE)
  const missing = required(release).filter((path) => !paths.includes(path))
  if (missing.length > 0) throw new ReleaseError(`the release is not complete, it has no ${missing.join(', ')}`)
  const files = paths.map((path): ReleaseFile => {
    const bytes = readFileSync(join(release.out, path))
    return { path, bytes: bytes.length, sha256: sha256(bytes), to: destinationOf(release, path) }
  })
  const { version, tag } = release
  const manifest: ReleaseManifest = {
    ...{ version, tag, commit, prerelease: isPrerelease(version), image },
    ...{ actionTag: actionTag(version), files },
  }
  writePart(release, MANIFEST_FILE, `${JSON.stringify(manifest, null, 2)}\n`)
}

/**
 * Reads the manifest.
 *
 * @throws where nothing was prepared, or another version
 */
export function readManifest(release: Release): ReleaseManifest {
  const file = join(release.out, MANIFEST_FILE)
  if (!existsSync(file)) throw new ReleaseError(`${file} does not exist: run npm run release -- prepare`)
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as ReleaseManifest
  if (manifest.tag !== release.tag)
    throw new ReleaseError(`${release.out} has the release ${manifest.tag}, expected ${release.tag}: prepare it again`)
  return manifest
}

/**
 * The files of a folder of the release, which are as the manifest lists them.
 *
 * @throws where a file is missing or has changed since it was prepared
 */
export function filesOf(release: Release, folder: string): ReleaseFile[] {
  const files = readManifest(release).files.filter(({ path }) => path.startsWith(`${folder}/`))
  for (const { path, sha256: expected } of files) {
    const found = join(release.out, path)
    if (!existsSync(found)) throw new ReleaseError(`${path} is missing: prepare the release again`)
    if (sha256(readFileSync(found)) !== expected)
      throw new ReleaseError(`${path} has changed since the release was prepared: prepare it again`)
  }
  return files
}
