// The steps of a release, each of which the workflow runs as it is here.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { check } from './check.ts'
import { archiveOf, FOLDERS, must, type Release, ReleaseError, writePart } from './context.ts'
import { writeFormulas } from './formulas.ts'
import { draftRelease, publishRelease } from './github.ts'
import { readImage, writeImage } from './image.ts'
import { checkInstallation, type Manager } from './installation.ts'
import { moveActionTag } from './major-tag.ts'
import { MANIFEST_FILE, writeManifest, writeSums } from './manifest.ts'
import { writeNotes } from './notes.ts'
import { publishPackages } from './npm.ts'
import { pushImage } from './push-image.ts'
import { writeSbom } from './sbom.ts'
import { writeSite } from './site.ts'

/** What some of the steps take. */
export interface StepOptions {
  /** A folder with the libraries of the image. */
  libraries: string | undefined
  managers: readonly Manager[]
}

/** One step: what it is for, and what it does. */
export interface Step {
  summary: string
  run(release: Release, options: StepOptions): Promise<void> | void
}

/** Runs a script of the build, which prints what it has done. */
async function script(release: Release, ...command: string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, ...command], {
    cwd: release.root,
    env: { ...release.env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if ((await child.exited) !== 0) throw new ReleaseError(`${command[0]} failed; see above`)
}

async function buildArchives(release: Release): Promise<void> {
  rmSync(release.out, { recursive: true, force: true })
  // Runtimes of other platforms are downloaded into the checkout, since a home may be read-only.
  const env = { BUN_INSTALL_CACHE_DIR: join(release.root, 'dist', 'runtimes'), ...release.env }
  await script({ ...release, env }, 'src/build/build.ts', '--all')
  for (const archive of release.platforms.map(archiveOf))
    writePart(release, `${FOLDERS.assets}/${archive}`, readFileSync(join(release.root, 'dist', archive)))
}

async function packPackages(release: Release): Promise<void> {
  const [packages, archives] = [FOLDERS.packages, FOLDERS.assets].map((folder) => join(release.out, folder))
  const missing = release.platforms.filter((platform) => !existsSync(join(`${archives}`, archiveOf(platform))))
  if (missing.length > 0)
    throw new ReleaseError(
      `the executables for ${missing.join(', ')} are missing in ${archives}: run npm run release -- archives`,
    )
  await script(release, 'src/build/packages.ts', '--out', `${packages}`, '--archives', `${archives}`)
}

const commitOf = ({ root: cwd, env }: Release) => must(['git', 'rev-parse', 'HEAD'], { cwd, env })

async function assembleImage(release: Release, { libraries }: StepOptions): Promise<void> {
  await writeImage(release, { libraries, revision: await commitOf(release) })
  const { reference, digest } = readImage(release)
  release.print(`${reference} is ${digest}`)
}

async function listEverything(release: Release): Promise<void> {
  writeSums(release)
  writeManifest(release, readImage(release), await commitOf(release))
  release.print(`${join(release.out, MANIFEST_FILE)} lists what is uploaded`)
}

/** Makes everything that is uploaded, in this order. */
const PREPARATION: Record<string, Step> = {
  check: { summary: 'compare the tag, the versions, the working tree and the changelog', run: check },
  archives: { summary: 'build the executables', run: buildArchives },
  packages: { summary: 'pack the npm packages', run: packPackages },
  sbom: { summary: 'write the bill of materials', run: writeSbom },
  formulas: { summary: 'write the Homebrew formula and the Scoop manifest', run: writeFormulas },
  site: { summary: 'build the documentation site', run: writeSite },
  notes: { summary: 'take the release notes from the changelog', run: writeNotes },
  image: { summary: 'assemble the container image', run: assembleImage },
  manifest: { summary: 'list everything with its checksum', run: listEverything },
}

/** Uploads it, in this order. */
const PUBLICATION: Record<string, Step> = {
  'github-draft': { summary: 'draft the GitHub release with its files', run: draftRelease },
  npm: { summary: 'publish the npm packages', run: publishPackages },
  'image-push': { summary: 'upload the container image', run: pushImage },
  'github-publish': { summary: 'publish the GitHub release', run: publishRelease },
  'action-tag': { summary: 'move the tag of the action, such as v1', run: moveActionTag },
}

/** Steps that are run by their own names alone. */
const OTHER: Record<string, Step> = {
  install: {
    summary: 'install what was prepared for this platform with each package manager, and run it',
    run: (release, { managers }) => checkInstallation(release, { managers }),
  },
}

/** Every step, by its name. */
export const STEPS: Readonly<Record<string, Step>> = { ...PREPARATION, ...PUBLICATION, ...OTHER }

/** Names that stand for several steps. */
export const GROUPS: Readonly<Record<string, readonly string[]>> = {
  prepare: Object.keys(PREPARATION),
  publish: Object.keys(PUBLICATION),
}

/** Whether a step uploads nothing, and names nothing that is published. */
export const isLocal = (name: string): boolean => Object.hasOwn(OTHER, name)
