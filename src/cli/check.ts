// understudy check: what serve says of fixture and scenario files, for CI.
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { type FixtureFile, loadFixtures, readPath } from '../backends/fixture/load.ts'
import { type Config, readConfig } from '../config.ts'
import { FileError } from '../contract/source.ts'
import { allOperations } from '../endpoints/index.ts'
import { providerNames } from '../providers/names.ts'
import { idleRules, isScenario, parseScenario } from '../scenarios/load.ts'
import { fixtureNameProblems, type KnownNames, scenarioNameProblems } from './check-names.ts'
import { count } from './report.ts'

const DEFAULT_FOLDERS = ['fixtures', 'scenarios']

export function checkCommand(): Command {
  return new Command('check')
    .description('check fixture and scenario files as serve would, and end')
    .argument('[DIR...]', `files or folders (default: ${DEFAULT_FOLDERS.join(' and ')}, those that are here)`)
    .option('--config <FILE>', 'settings file, whose providers are known (default: understudy.yaml, when there is one)')
    .action((given: string[], options: { config?: string }) => {
      const paths = given.length > 0 ? given : DEFAULT_FOLDERS.filter((folder) => existsSync(folder))
      if (paths.length === 0) {
        throw new FileError(
          `there is no folder ${DEFAULT_FOLDERS.join(' or ')} here: name the files or folders to check`,
        )
      }
      const { counts, warnings } = check(paths.flatMap(readPath), namesIn(readConfig(options)))
      for (const warning of warnings) console.error(`understudy: warning: ${warning}`)
      console.log([...counts, count(warnings.length, 'warning')].join(', '))
    })
}

const namesIn = ({ forwarding }: Config): KnownNames => ({
  providers: providerNames(forwarding.named).known,
  operations: allOperations().map(({ name }) => name),
})

/** What is in the files; throws `FileError` with the problems of all of them. */
function check(files: readonly FixtureFile[], names: KnownNames) {
  const problems: string[] = []
  const collect = <T>(read: () => T): T[] => {
    try {
      return [read()]
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      problems.push(error.message)
      return []
    }
  }
  const { scenario: scenarioFiles = [], fixture: fixtureFiles = [] } = Object.groupBy(files, (file) =>
    isScenario(file.path, file.text) ? 'scenario' : 'fixture',
  )
  const loaded = collect(() => loadFixtures(fixtureFiles, allOperations()))
  for (const file of fixtureFiles) problems.push(...fixtureNameProblems(file, names))
  const scenarios = scenarioFiles.flatMap((file) =>
    collect(() => {
      const scenario = parseScenario(file.path, file.text)
      problems.push(...scenarioNameProblems(file, scenario, names))
      return scenario
    }),
  )
  if (problems.length > 0) throw new FileError(problems.join('\n'))
  const fixtures = loaded.flatMap((one) => one.fixtures)
  return {
    counts: [
      ...(fixtureFiles.length > 0 || scenarios.length === 0 ? [count(fixtures.length, 'fixture')] : []),
      ...(scenarios.length > 0 ? [count(scenarios.length, 'scenario')] : []),
    ],
    warnings: [
      ...loaded.flatMap((one) => one.warnings),
      ...scenarios.flatMap((one) => idleRules(one, names.operations)),
    ],
  }
}
