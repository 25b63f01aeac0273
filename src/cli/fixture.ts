// understudy fixture: which fixtures there are, in files and in the executable.
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import type { Fixture } from '../backends/fixture/fixture.ts'
import { embeddedFixtures, loadFixtures, readPath } from '../backends/fixture/load.ts'
import { shippedFixtures } from '../backends/fixture/shipped.ts'
import { fixtureSubjects } from '../endpoints/index.ts'

const DEFAULT_FOLDER = 'fixtures'

export function fixtureCommand(): Command {
  const fixture = new Command('fixture').description('show fixtures')
  fixture
    .command('list', { isDefault: true })
    .description('list the fixtures of files, in the order in which they are tried, and the shipped ones')
    .argument('[DIR...]', `files or folders (default: ${DEFAULT_FOLDER}, when it is here)`)
    .option('--json', 'print JSON: one line a fixture')
    .action((given: string[], { json = false }: { json?: boolean }) => {
      const paths = given.length > 0 ? given : [DEFAULT_FOLDER].filter((folder) => existsSync(folder))
      const { fixtures } = loadFixtures(paths.flatMap(readPath), fixtureSubjects)
      const shipped = shippedFixtures(() => embeddedFixtures(fixtureSubjects))
      if (json) return printJson({ files: fixtures, shipped })
      if (paths.length > 0) print(`Fixtures in ${paths.join(', ')}:`, fixtures)
      print('Shipped fixtures, which answer only with --shipped-fixtures:', shipped)
    })
  return fixture
}

function print(heading: string, fixtures: readonly Fixture[]): void {
  console.log(heading)
  if (fixtures.length === 0) console.log('  none')
  for (const { name, operation, match, location } of fixtures) {
    const label = name.startsWith(`${operation}/`) ? name : `${operation} ${name}`
    console.log(`  ${label}  ${JSON.stringify({ ...match, operation: undefined })}  ${location}`)
  }
}

function printJson(all: { files: readonly Fixture[]; shipped: readonly Fixture[] }): void {
  for (const [from, fixtures] of Object.entries(all))
    for (const { name, operation, match, location, replies } of fixtures)
      console.log(JSON.stringify({ name, operation, from, place: location, match, replies: replies.length }))
}
