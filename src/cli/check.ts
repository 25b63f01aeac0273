// understudy check: what serve says of fixture files, for CI.
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { readFixtures } from '../backends/fixture/load.ts'
import { FileError } from '../contract/source.ts'
import { allOperations } from '../endpoints/index.ts'

const DEFAULT_FOLDER = 'fixtures'

export function checkCommand(): Command {
  return new Command('check')
    .description('check fixture files as serve would, and end')
    .argument('[DIR...]', `fixture files or folders (default: ${DEFAULT_FOLDER})`)
    .action((given: string[]) => {
      const paths = given.length > 0 ? given : [DEFAULT_FOLDER]
      if (given.length === 0 && !existsSync(DEFAULT_FOLDER)) {
        throw new FileError(`there is no folder ${DEFAULT_FOLDER} here: name the files or folders to check`)
      }
      const { fixtures, warnings } = readFixtures(paths, allOperations())
      for (const warning of warnings) console.error(`understudy: warning: ${warning}`)
      const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`
      console.log(`${count(fixtures.length, 'fixture')}, ${count(warnings.length, 'warning')}`)
    })
}
