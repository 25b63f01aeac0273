// The help of every command is true: defaults as a person would write them, and suggestions for misspelled input.
import { afterAll, describe, expect, test } from 'bun:test'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'

const folder = folderWith({ 'not-executable.sh': 'echo hi\n' })
chmodSync(join(folder.path, 'not-executable.sh'), 0o644)
const cwd = folder.path
afterAll(folder.remove)

describe('command help', () => {
  test.each([
    ['trace', 'show', '<ID>'],
    ['trace', 'list', '--limit <N>'],
    ['snapshot', 'diff', 'compare the session with a snapshot'],
  ])('of %s %s is that of the inner command', async (outer, inner, part) => {
    const [asked, given] = await Promise.all([
      runCommand(['help', outer, inner], { cwd }),
      runCommand([outer, inner, '--help'], { cwd }),
    ])
    expect(asked).toEqual(given)
    expect(asked.code).toBe(0)
    expect(asked.stdout).toStartWith(`Usage: understudy ${outer} ${inner} `)
    expect(asked.stdout).toContain(part)
  })

  test('names the values of a setting, and defaults with their units', async () => {
    const { stdout } = await runCommand(['help', 'serve'], { cwd })
    const words = stdout.replace(/\s+/g, ' ')
    for (const part of [
      'gets: generate (a generated response) or error ',
      'where responses come from: fixture or forward ',
      'real, or virtual, ',
      '(default: 256MiB)',
      '(default: 128MiB)',
      '(default: 32MiB)',
      '(default: 2m)',
    ])
      expect(words).toContain(part)
    expect((await runCommand(['help', 'rehearse'], { cwd })).stdout).toContain('(default: 6)')
  })
})

const onPosix = process.platform === 'win32' ? [] : [true]
const rows: [string, string[], string[]][] = [
  ['a misspelled subcommand', ['help', 'trace', 'nosuch'], ["unknown command 'nosuch'", 'list, show, tail']],
  ['a misspelled scenario', ['rehearse', 'rate-limit-brst'], ["(did you mean 'rate-limit-burst'?)", 'shipped: ']],
  [
    'an invalid address',
    ['rehearse', 'outage', '--against', 'nonsense'],
    ['--against must be an address', 'got "nonsense"'],
  ],
  [
    'an invalid number of calls',
    ['rehearse', 'outage', '--calls', '0'],
    ['--calls must be a number from 1 to 200, got "0"'],
  ],
  ['a missing program', ['exec', '--', 'no-such-program'], ['"no-such-program" cannot be run: no such program']],
  ...onPosix.map((): (typeof rows)[number] => [
    'a file that is not a program',
    ['exec', '--', './not-executable.sh'],
    ['"./not-executable.sh" cannot be run: it is not executable'],
  ]),
]
test.each(rows)('command line: suggests a correction for %s', async (_, args, parts) => {
  const { code, stdout, stderr } = await runCommand(args, { cwd })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  for (const part of parts) expect(stderr).toContain(part)
})
