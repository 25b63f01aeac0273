// `npm run release`: the steps of a release, each of which the workflow runs as it is here. With --dry, all of them, and nothing leaves
// this machine.
import { readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { platforms } from '../src/build/platforms.ts'
import { check } from './check.ts'
import { archiveOf, FOLDERS, must, type Release, ReleaseError, writePart } from './context.ts'
import { writeFormulas } from './formulas.ts'
import { draftRelease, publishRelease } from './github.ts'
import { readImage, writeImage } from './image.ts'
import { checkInstallation, MANAGERS, type Manager } from './installation.ts'
import { moveActionTag } from './major-tag.ts'
import { MANIFEST_FILE, writeManifest, writeSums } from './manifest.ts'
import { writeNotes } from './notes.ts'
import { publishPackages } from './npm.ts'
import { pushImage } from './push-image.ts'
import { writeSbom } from './sbom.ts'
import { publishedNames, readSettings } from './settings.ts'
import { writeSite } from './site.ts'

const root = join(import.meta.dir, '..')

/** What some of the steps take. */
interface Options {
  /** A folder with the libraries of the image. */
  libraries: string | undefined
  managers: readonly Manager[]
}

/** One step: what it is for, and what it does. */
interface Step {
  summary: string
  run(release: Release, options: Options): Promise<void> | void
}

const script = (release: Release, ...command: string[]) =>
  must([process.execPath, ...command], { cwd: release.root, env: release.env })

async function buildArchives(release: Release): Promise<void> {
  rmSync(release.out, { recursive: true, force: true })
  await script(release, 'src/build/build.ts', '--all')
  for (const archive of release.platforms.map(archiveOf))
    writePart(release, `${FOLDERS.assets}/${archive}`, readFileSync(join(release.root, 'dist', archive)))
}

async function packPackages(release: Release): Promise<void> {
  const [packages, archives] = [FOLDERS.packages, FOLDERS.assets].map((folder) => join(release.out, folder))
  await script(release, 'src/build/packages.ts', '--out', `${packages}`, '--archives', `${archives}`)
}

const commitOf = ({ root: cwd, env }: Release) => must(['git', 'rev-parse', 'HEAD'], { cwd, env })

async function assembleImage(release: Release, { libraries }: Options): Promise<void> {
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

/** Names that stand for several steps. */
const GROUPS: Record<string, string[]> = { prepare: Object.keys(PREPARATION), publish: Object.keys(PUBLICATION) }
const STEPS: Record<string, Step> = { ...PREPARATION, ...PUBLICATION, ...OTHER }

const usage = () =>
  [
    'Usage: npm run release -- [options] [STEP...]',
    '',
    'Prepares and publishes a release. Each step can be run again.',
    '',
    'Steps:',
    ...Object.entries(STEPS).map(([name, { summary }]) => `  ${name.padEnd(16)}${summary}`),
    ...Object.entries(GROUPS).map(([name, steps]) => `  ${name.padEnd(16)}${steps.join(', ')}`),
    '',
    'Options:',
    '  --dry              upload nothing; without steps: prepare everything and show what would be uploaded',
    '  --tag TAG          the tag of the release (default: GITHUB_REF_NAME in a workflow, else v and the version)',
    '  --out FOLDER       where to put what is uploaded (default: dist/release)',
    '  --libraries FOLDER libraries of the container image (default: those of Debian 12)',
    `  --managers LIST    package managers of the step install (default: ${MANAGERS.join(',')})`,
  ].join('\n')

function managersOf(list: string): Manager[] {
  return list.split(',').map((name) => {
    const manager = MANAGERS.find((one) => one === name)
    if (!manager)
      throw new ReleaseError(`unknown package manager ${JSON.stringify(name)}; valid: ${MANAGERS.join(', ')}`)
    return manager
  })
}

/** The names to publish under; those of a rehearsal where nothing is uploaded. */
function namesOf(rehearsal: boolean) {
  try {
    return publishedNames(readSettings(), { rehearsal })
  } catch (error) {
    throw new ReleaseError(error instanceof Error ? error.message : String(error))
  }
}

async function main(): Promise<void> {
  const { values: flags, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      dry: { type: 'boolean', default: false },
      tag: { type: 'string' },
      out: { type: 'string', default: join(root, 'dist', 'release') },
      libraries: { type: 'string' },
      managers: { type: 'string', default: MANAGERS.join(',') },
      help: { type: 'boolean', default: false },
    },
  })
  const { dry } = flags
  if (flags.help) return console.log(usage())
  const named = positionals.length === 0 && dry ? Object.keys(GROUPS) : positionals
  if (named.length === 0) throw new ReleaseError(`name a step, or --dry\n\n${usage()}`)
  const steps = named.flatMap((name) => GROUPS[name] ?? [name])
  const unknown = steps.find((name) => !Object.hasOwn(STEPS, name))
  if (unknown !== undefined)
    throw new ReleaseError(
      `unknown step ${JSON.stringify(unknown)}; valid: ${Object.keys({ ...STEPS, ...GROUPS }).join(', ')}`,
    )
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const { GITHUB_REF_TYPE: kind, GITHUB_REF_NAME: ref } = process.env
  const release: Release = {
    ...{ root, version, platforms, dry, env: process.env, out: resolve(flags.out) },
    tag: flags.tag ?? (kind === 'tag' && ref ? ref : `v${version}`),
    // What uploads nothing needs no owner yet.
    names: namesOf(dry || steps.every((name) => Object.hasOwn(OTHER, name))),
    print: (line) => console.log(`  ${line}`),
  }
  const options = {
    libraries: flags.libraries === undefined ? undefined : resolve(flags.libraries),
    managers: managersOf(flags.managers),
  }
  for (const name of steps) {
    console.log(`${name}: ${STEPS[name]?.summary}`)
    await STEPS[name]?.run(release, options)
  }
}

try {
  await main()
} catch (error) {
  // A mistake of whoever releases, or a refusal: the message says it all.
  if (!(error instanceof ReleaseError) && !(error instanceof TypeError)) throw error
  console.error(`release: ${error.message}`)
  process.exit(1)
}
