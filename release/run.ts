// `npm run release`: runs the steps of a release. With --dry nothing leaves this machine.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { platforms } from '../src/build/platforms.ts'
import { type Release, ReleaseError } from './context.ts'
import { MANAGERS, type Manager } from './installation.ts'
import { publishedNames, readSettings } from './settings.ts'
import { GROUPS, isLocal, STEPS } from './steps.ts'

const root = join(import.meta.dir, '..')

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
    names: namesOf(dry || steps.every(isLocal)),
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
