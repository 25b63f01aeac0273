// Every command of the executable prints and exits as the function that other tests call: the process adds and loses nothing.
import { afterAll, expect, test } from 'bun:test'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'
import { run } from '../support/server.ts'

const folder = folderWith({ 'fixtures/chat.completions/a.yaml': 'match: { user: hi }\nreply: { content: ho }\n' })
afterAll(folder.remove)

/** Where nobody listens. */
const nowhere = ['--url', 'http://127.0.0.1:9']
const rows: [code: number, ...args: string[]][] = [
  [0, '--help'],
  [0, '--version'],
  [2],
  [2, 'serve', '--port', 'x'],
  [2, 'exec', '--scenario', 'outrage', '--', 'true'],
  [2, 'explore', '--depth', '3', '--', 'true'],
  [0, 'rehearse', 'outage', '--calls', '2'],
  [2, 'rehearse', 'outrage'],
  [0, 'check'],
  [2, 'check', 'nowhere'],
  [0, 'scenario', 'list'],
  [0, 'scenario', 'show', 'outage'],
  [0, 'fixture', 'list'],
  [0, 'schema', 'scenario'],
  [1, 'health', ...nowhere],
  [1, 'trace', 'list', ...nowhere],
  [1, 'snapshot', 'diff', 'nowhere.json'],
  [1, 'seed', 'nowhere.yaml'],
  [1, 'reset', ...nowhere],
]
/** What was measured, or depends on the time. */
const withoutTimes = (text: string) =>
  text.replace(/\d+(?:\.\d+)? m?s\b/g, 'TIME').replace(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, 'ID')

test.each(rows)('executable: exits with %d for %s %s %s', async (code, ...args) => {
  const [started, own] = [await run(args, { cwd: folder.path }), await runCommand(args, { cwd: folder.path })]
  expect(started.code).toBe(code)
  expect(withoutTimes(JSON.stringify(started))).toBe(withoutTimes(JSON.stringify(own)))
})

// Nobody can write to /proc, not even root.
test.if(process.platform === 'linux')(
  'executable: reports a folder for temporary files that cannot be written',
  async () => {
    const args = ['serve', '--port', '0', '--db', ':memory:']
    const { code, stderr } = await run(args, { cwd: folder.path, env: { TMPDIR: '/proc' } })
    expect(stderr).toContain('cannot be unpacked into /proc: let TMPDIR name')
    expect(code).not.toBe(0)
  },
)
