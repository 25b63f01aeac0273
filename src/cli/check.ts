// understudy check: what serve says of fixture and scenario files, for CI.
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { type FixtureFile, loadFixtures, readPath } from '../backends/fixture/load.ts'
import { FileError } from '../contract/source.ts'
import { allOperations } from '../endpoints/index.ts'
import { idleRules, isScenario, parseScenario } from '../scenarios/load.ts'
import { count } from './report.ts'

const DEFAULT_FOLDERS = ['fixtures', 'scenarios']

export function checkCommand(): Command {
  return new Command('check')
    .description('check fixture and scenario files as serve would, and end')
    .argument('[DIR...]', `files or folders (default: ${DEFAULT_FOLDERS.join(' and ')}, those that are here)`)
    .action((given: string[]) => {
      const paths = given.length > 0 ? given : DEFAULT_FOLDERS.filter((folder) => existsSync(folder))
      if (paths.length === 0) {
        throw new FileError(
          `there is no folder ${DEFAULT_FOLDERS.join(' or ')} here: name the files or folders to check`,
        )
      }
      const { counts, warnings } = check(paths.flatMap(readPath))
      for (const warning of warnings) console.error(`understudy: warning: ${warning}`)
      console.log([...counts, count(warnings.length, 'warning')].join(', '))
    })
}

/** What is in the files; throws `FileError` with the problems of all of them. */
function check(files: readonly FixtureFile[]) {
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
  const scenarios = scenarioFiles.flatMap(({ path, text }) => collect(() => parseScenario(path, text)))
  if (problems.length > 0) throw new FileError(problems.join('\n'))
  const operations = allOperations().map(({ name }) => name)
  const fixtures = loaded.flatMap((one) => one.fixtures)
  return {
    counts: [
      ...(fixtureFiles.length > 0 || scenarios.length === 0 ? [count(fixtures.length, 'fixture')] : []),
      ...(scenarios.length > 0 ? [count(scenarios.length, 'scenario')] : []),
    ],
    warnings: [...loaded.flatMap((one) => one.warnings), ...scenarios.flatMap((one) => idleRules(one, operations))],
  }
}
