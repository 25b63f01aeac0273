// An invalid file argument (a folder, a link that leads nowhere, something else) is one plain error line, never a stack.
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand, serveHere } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'

const folder = folderWith({ 'no-snapshot.json': '{}', 'text.json': 'null' })
const cwd = folder.path
mkdirSync(join(cwd, 'a-folder'))
if (process.platform !== 'win32') {
  symlinkSync('loop', join(cwd, 'loop'))
  mkdirSync(join(cwd, 'round', 'chat.completions'), { recursive: true })
  symlinkSync('..', join(cwd, 'round', 'chat.completions', 'up'))
}
afterAll(folder.remove)

/** On Windows links need rights that nobody has. */
const onPosix = process.platform === 'win32' ? [] : [true]
const rows: [string, string[], number, string[]][] = [
  ...onPosix.flatMap((): typeof rows => [
    ['fixtures in a link to itself', ['check', 'loop'], 2, ['fixtures loop cannot be read: ELOOP']],
    ['fixtures in a cycle of links', ['check', 'round'], 2, ['fixtures round cannot be read: ELOOP']],
    ['fixtures in a device file', ['check', '/dev/null'], 2, ['/dev/null:1:1', 'the file is empty']],
  ]),
  [
    'a seed that is a folder',
    ['serve', '--port', '0', '--seed-file', 'a-folder'],
    2,
    ['seed file a-folder cannot be read: '],
  ],
  [
    'a report that is a folder',
    ['exec', '--junit', 'a-folder', '--', 'true'],
    2,
    ['--junit "a-folder" cannot be written: it is a folder'],
  ],
]

test.each(rows)('invalid file: is one error line for %s', async (_, args, code, parts) => {
  const ended = await runCommand(args, { cwd })
  expect(ended).toMatchObject({ code, stdout: '' })
  expect(ended.stderr).toStartWith('understudy: ')
  expect(ended.stderr.trimEnd()).not.toContain('\n')
  for (const part of parts) expect(ended.stderr).toContain(part)
})

test('invalid snapshot file: is one error line', async () => {
  const server = await serveHere(['--db', ':memory:'], { cwd })
  const env = { UNDERSTUDY_URL: server.url }
  try {
    const none =
      "is not a snapshot: it must contain 'understudy_snapshot' and 'tables', as 'understudy snapshot save' writes them\n"
    for (const [command, file, said] of [
      ['diff', 'no-snapshot.json', `no-snapshot.json ${none}`],
      ['load', 'no-snapshot.json', `no-snapshot.json ${none}`],
      ['diff', 'text.json', `text.json ${none}`],
      ['save', 'a-folder', 'a-folder cannot be written: '],
      ['save', 'nowhere/x.json', 'nowhere/x.json cannot be written: '],
    ] as const) {
      const ended = await runCommand(['snapshot', command, file], { cwd, env })
      expect(ended).toMatchObject({ code: 1, stdout: '' })
      expect(ended.stderr).toStartWith(`understudy: ${said}`)
      expect(ended.stderr.trimEnd()).not.toContain('\n')
    }
  } finally {
    await server.stop()
  }
})
