// understudy check: reports what serve would report of fixture files, for CI.
import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'

const says = (content: string, user?: string) =>
  `match: { ${user ? `user: ${user}` : ''} }\nreply: { content: ${content} }\n`
const folder = folderWith({
  'fixtures/chat.completions/a.yaml': says('a', 'hi'),
  'shadowed/chat.completions/a.yaml': says('a'),
  'shadowed/chat.completions/b.yaml': says('b', 'hi'),
  'wrong/chat.completions/a.yaml': 'reply: { content: 1 }',
  'nothing/notes.txt': 'no fixtures here',
})
const cwd = folder.path
afterAll(folder.remove)
const warning = (first: string) =>
  `understudy: warning: shadowed/chat.completions/b.yaml:1:1: chat.completions/b can never match: chat.completions/a (${first}/chat.completions/a.yaml:1:1) is first\n`

const rows: [string, string[], string, { code: number; stdout: string; stderr: string }][] = [
  ['the default fixtures folder', [], cwd, { code: 0, stdout: '1 fixture, 0 warnings\n', stderr: '' }],
  [
    'a folder without fixtures and scenarios',
    [],
    join(cwd, 'nothing'),
    {
      code: 2,
      stdout: '',
      stderr:
        'understudy: the current folder has no fixtures, scenarios or cassettes folder: name the files or folders to check\n',
    },
  ],
  ['one file', ['fixtures/chat.completions/a.yaml'], cwd, { code: 0, stdout: '1 fixture, 0 warnings\n', stderr: '' }],
  ['a folder without fixtures', ['nothing'], cwd, { code: 0, stdout: '0 fixtures, 0 warnings\n', stderr: '' }],
  [
    'a warning, which is not a failure',
    ['shadowed'],
    cwd,
    { code: 0, stdout: '2 fixtures, 1 warning\n', stderr: warning('shadowed') },
  ],
  [
    'several folders',
    ['fixtures', 'shadowed'],
    cwd,
    { code: 0, stdout: '3 fixtures, 1 warning\n', stderr: warning('fixtures') },
  ],
  [
    'an error',
    ['fixtures', 'wrong'],
    cwd,
    {
      code: 2,
      stdout: '',
      stderr:
        'understudy: wrong/chat.completions/a.yaml:1:10: reply.content must be a string, got 1: in quotes it is a text\n',
    },
  ],
  [
    'a missing folder',
    ['nowhere'],
    cwd,
    { code: 2, stdout: '', stderr: 'understudy: fixtures nowhere: there is no such file or folder\n' },
  ],
]
test.each(rows)('check: prints the right lines and exit code for %s', async (_, args, place, finished) => {
  expect(await runCommand(['check', ...args], { cwd: place })).toEqual(finished)
})

test('check: accepts what ships with the program', async () => {
  const finished = await runCommand(['check'], { cwd: join(import.meta.dir, '..', '..') })
  expect(finished).toMatchObject({ code: 0, stderr: '' })
  expect(finished.stdout).toMatch(/^\d+ fixtures, 1 seed, \d+ scenarios?, 0 warnings\n$/)
})
