// understudy fixture: lists the fixtures in files and in the executable.

import { existsSync } from 'node:fs'
import { Command } from 'commander'
import type { Fixture } from '../../backends/fixture/fixture.ts'
import { shippedFixtures } from '../../backends/fixture/in-force.ts'
import { embeddedFixtures, loadFixtures, readPath } from '../../backends/fixture/load.ts'
import { fixtureSubjects } from '../../endpoints/index.ts'
import type { CommandIo } from '../io.ts'
import type { Printer } from '../print/output.ts'

const DEFAULT_FOLDER = 'fixtures'

/** `understudy fixture`: lists the fixtures in files and those that ship. */
export function fixtureCommand({ stdout }: CommandIo): Command {
  const fixture = new Command('fixture').description('list fixtures')
  fixture
    .command('list', { isDefault: true })
    .description('list the fixtures in files, in the order in which they are tried, and the shipped fixtures')
    .argument('[DIR...]', `files or folders (default: ${DEFAULT_FOLDER}, if it exists)`)
    .option('--json', 'print JSON, one line per fixture')
    .action((folders: string[], { json = false }: { json?: boolean }) => {
      const paths = folders.length > 0 ? folders : [DEFAULT_FOLDER].filter((folder) => existsSync(folder))
      const { fixtures } = loadFixtures(paths.flatMap(readPath), fixtureSubjects)
      const shipped = shippedFixtures(() => embeddedFixtures(fixtureSubjects))
      if (json) return printEach(stdout, { files: fixtures, shipped })
      if (paths.length > 0) print(stdout, `Fixtures in ${paths.join(', ')}:`, fixtures)
      print(stdout, 'Shipped fixtures (used only with --shipped-fixtures):', shipped)
    })
  return fixture
}

function print(stdout: Printer, heading: string, fixtures: readonly Fixture[]): void {
  const lines = fixtures.map(({ name, operation, match, location }) => {
    const label = name.startsWith(`${operation}/`) ? name : `${operation} ${name}`
    return `  ${label}  ${JSON.stringify({ ...match, operation: undefined })}  ${location}`
  })
  stdout.lines([heading, ...(lines.length === 0 ? ['  none'] : lines)])
}

function printEach(stdout: Printer, all: { files: readonly Fixture[]; shipped: readonly Fixture[] }): void {
  for (const [from, fixtures] of Object.entries(all))
    for (const { name, operation, match, location, replies } of fixtures)
      stdout.json({ name, operation, from, place: location, match, replies: replies.length })
}
