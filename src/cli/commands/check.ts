// understudy check: validates fixtures, scenarios, seeds and cassettes like serve, for CI.
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Command } from 'commander'
import { type FixtureFile, fixtureProblems, loadFixtures, readPath } from '../../backends/fixture/load.ts'
import { type CassetteCheck, checkCassette, unusedBlobs } from '../../cassettes/check.ts'
import { recordingsIn } from '../../cassettes/read.ts'
import { SETTINGS_FILE } from '../../config/file.ts'
import { type Config, readConfig, settingProblems } from '../../config.ts'
import type { Problem } from '../../contract/core/problem.ts'
import { fixtureSubjects, operationNames } from '../../endpoints/index.ts'
import { KNOWN_FILE, knownProblems, readKnownFailures } from '../../exploration/known-failures.ts'
import { lazy } from '../../lib/lazy.ts'
import { alternatives, counted } from '../../lib/units.ts'
import { sumOf } from '../../lib/values.ts'
import { knownModels } from '../../providers/catalogue.ts'
import { providerNames } from '../../providers/names.ts'
import { isScenario, parseScenario, rulesWithoutEffect, scenarioProblems } from '../../scenarios/load.ts'
import { FileError, parseSource, type SourceFile } from '../../schema/source.ts'
import type { CommandIo } from '../io.ts'
import { writeOutputFile } from '../print/output-file.ts'
import { fixtureNameProblems, type KnownNames, modelWarnings, scenarioNameProblems, sourceOf } from './check-names.ts'

const seeding = lazy<typeof import('../../resources/seeds/seed.ts')>(() => require('../../resources/seeds/seed.ts'))
const seedFile = lazy<typeof import('../../resources/seeds/seed-file.ts')>(() =>
  require('../../resources/seeds/seed-file.ts'),
)

/** Name of the seed file next to fixtures. */
const SEED_NAME = 'workspace.yaml'
const DEFAULT_FOLDERS = ['fixtures', 'scenarios', 'cassettes']

/**
 * `understudy check`: validates fixtures, scenarios, seeds, cassettes and known cases. Fails if a file is invalid.
 * @throws FileError if no file or folder is found
 */
export function checkCommand({ env, stdout, stderr }: CommandIo): Command {
  return new Command('check')
    .description(
      'validate fixtures, scenarios, cassettes, seeds (workspace.yaml) and known cases (explore.yaml), then exit',
    )
    .argument('[DIR...]', `files or folders (default: ${[...DEFAULT_FOLDERS, KNOWN_FILE].join(', ')}, if they exist)`)
    .option('--config <FILE>', 'settings file that names your providers (default: understudy.yaml, if it exists)')
    .option('--fix', 'first rewrite former names of keys and values in these files and in the settings file')
    .action(async (named: string[], options: { config?: string; fix?: true }) => {
      const defaults = [...DEFAULT_FOLDERS, KNOWN_FILE].filter((path) => existsSync(path))
      const paths = named.length > 0 ? named : defaults
      if (paths.length === 0) {
        throw new FileError(
          `the current folder has no ${alternatives(DEFAULT_FOLDERS)} folder: name the files or folders to check`,
        )
      }
      const seeds = paths.flatMap(seedsIn)
      const knownFailures = paths.filter(isKnownFile)
      const sources = paths.filter((path) => !seeds.includes(path) && !knownFailures.includes(path))
      const read = sources.flatMap(readPath)
      const recordings = recordingsIn(read)
      const { cassettes = [], files = [] } = Object.groupBy(read, (file) =>
        recordings.has(file) ? 'cassettes' : 'files',
      )
      if (options.fix) {
        const settings = options.config ?? SETTINGS_FILE
        const others = [...knownFailures, ...(existsSync(settings) ? [settings] : [])]
        for (const [path, count] of fixFiles(files, others)) stdout.line(`${path}: ${counted(count, 'name')} replaced`)
      }
      const checked = { files: options.fix ? files.flatMap(({ path }) => readPath(path)) : files, seeds, knownFailures }
      const checks = new Map(cassettes.map(({ path }) => [path, checkCassette(path)]))
      const { counts, warnings, notes } = await check(
        { ...checked, cassettes: checks },
        namesIn(readConfig(options, env)),
      )
      for (const warning of warnings) stderr.line(`understudy: warning: ${warning}`)
      for (const note of notes) stderr.line(`understudy: note: ${note}`)
      stdout.line([...counts, counted(warnings.length, 'warning')].join(', '))
    })
}

const namesIn = ({ forwarding }: Config): KnownNames => ({
  models: knownModels(),
  providers: providerNames(forwarding.named).known,
  operations: operationNames(),
})

/** The seed file that a path is, or that a folder contains next to its fixtures. */
function seedsIn(path: string): string[] {
  if (basename(path) === SEED_NAME) return [path]
  const seed = join(path, SEED_NAME)
  return existsSync(seed) ? [seed] : []
}

/** The problems of a seed, or of a document that it names. */
async function seedProblems(path: string): Promise<string[]> {
  const problems: string[] = []
  const onUnreadable = (file: string, { message }: Error) => void problems.push(`${path}: document ${file}: ${message}`)
  try {
    await seeding().prepareSeed(seedFile().readSeed(path), { onUnreadable })
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    problems.push(...error.problems)
  }
  return problems
}

interface CheckedFiles {
  files: readonly FixtureFile[]
  seeds: readonly string[]
  knownFailures: readonly string[]
  /** By path. */
  cassettes: ReadonlyMap<string, CassetteCheck>
}

/**
 * The content of the files.
 * @throws FileError with the problems of all of them
 */
async function check({ files, seeds, knownFailures, cassettes }: CheckedFiles, names: KnownNames) {
  const problems: string[] = []
  const collect = <T>(read: () => T): T[] => {
    try {
      return [read()]
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      problems.push(...error.problems)
      return []
    }
  }
  const { scenario: scenarioFiles = [], fixture: fixtureFiles = [] } = Object.groupBy(files, (file) =>
    isScenario(file.path, file.text) ? 'scenario' : 'fixture',
  )
  const loaded = collect(() => loadFixtures(fixtureFiles, fixtureSubjects))
  for (const file of fixtureFiles) {
    const source = sourceOf(file.path, file.text)
    if (source) problems.push(...fixtureNameProblems(source, names))
  }
  const scenarios = scenarioFiles.flatMap((file) =>
    collect(() => {
      const scenario = parseScenario(file.path, file.text)
      const source = parseSource(file.path, file.text)
      problems.push(...scenarioNameProblems(source, scenario, names))
      return { scenario, source }
    }),
  )
  const recorded = [...cassettes.values()]
  problems.push(...recorded.flatMap((one) => one.problems))
  for (const path of seeds) problems.push(...(await seedProblems(path)))
  const accepted = knownFailures.flatMap((path) => collect(() => readKnownFailures(path)).flat())
  if (problems.length > 0) throw new FileError(problems)
  const fixtures = loaded.flatMap((one) => one.fixtures)
  const interactions = sumOf(recorded, (one) => one.interactions)
  return {
    counts: [
      (fixtureFiles.length > 0 || scenarios.length + seeds.length + knownFailures.length + cassettes.size === 0) &&
        counted(fixtures.length, 'fixture'),
      seeds.length > 0 && counted(seeds.length, 'seed'),
      scenarios.length > 0 && counted(scenarios.length, 'scenario'),
      cassettes.size > 0 && `${counted(cassettes.size, 'cassette')} (${counted(interactions, 'interaction')})`,
      knownFailures.length > 0 && counted(accepted.length, 'known case'),
    ].filter((count) => count !== false),
    warnings: [
      ...files.flatMap((file) => modelWarnings(parseSource(file.path, file.text), names.models)),
      ...loaded.flatMap((one) => one.warnings),
      ...scenarios.flatMap(({ scenario, source }) =>
        rulesWithoutEffect(scenario, names.operations, (index) => source.at(['rules', index])),
      ),
      ...unusedBlobs(cassettes),
    ],
    notes: recorded.flatMap((one) => one.notes),
  }
}

type FindProblems = (source: SourceFile) => readonly Problem[]

/** Maximum passes over a file: what is inside a renamed key is only checked in the next one. */
const MAX_ROUNDS = 20

/**
 * Rewrites the former names in files, and leaves everything else in them byte for byte. Files that are not YAML or JSON
 * are unchanged: the check reports them.
 * @param files fixtures and scenarios
 * @param others paths of files of known failures and of settings
 * @returns the number of replaced names by path, for changed files only
 * @throws ServerError for a file that cannot be written
 */
function fixFiles(files: readonly FixtureFile[], others: readonly string[]): Map<string, number> {
  const found = new Map<string, number>()
  const fix = (path: string, text: string, problemsOf: FindProblems) => {
    const { count, fixed } = renamedText(path, text, problemsOf)
    if (count === 0) return
    // It is a file of the project, which others must still be able to read.
    const { mode } = statSync(path)
    writeOutputFile(path, fixed)
    chmodSync(path, mode)
    found.set(path, count)
  }
  for (const file of files)
    fix(file.path, file.text, ({ value, path }) =>
      isScenario(path, file.text) ? scenarioProblems(value) : fixtureProblems({ ...file, value }, fixtureSubjects),
    )
  for (const path of others)
    fix(path, readFileSync(path, 'utf8'), ({ value }) =>
      isKnownFile(path) ? knownProblems(value) : settingProblems(value),
    )
  return found
}

function renamedText(path: string, text: string, problemsOf: FindProblems): { count: number; fixed: string } {
  let fixed = text
  let count = 0
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const source = sourceOf(path, fixed)
    if (!source) break
    const renames = problemsOf(source).filter(({ rename }) => rename !== undefined)
    const next = source.renamed(renames)
    if (next === fixed) break
    fixed = next
    count += renames.length
  }
  return { count, fixed }
}

/** Whether a path is a file of known failures. */
const isKnownFile = (path: string): boolean => basename(path) === KNOWN_FILE
