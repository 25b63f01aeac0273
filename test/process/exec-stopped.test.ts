// Ctrl-C of exec when the command ignores it: exec says what to do, and then the report is printed.
import { afterAll, expect, test } from 'bun:test'
import { folderWith } from '../support/fixtures.ts'
import { EXECUTABLE, environment } from '../support/server.ts'

const folder = folderWith({
  // Ignores every Ctrl-C, as does what it starts.
  'deaf.sh': "trap '' INT TERM\n(sleep 600 & sleep 600) &\necho begun\nsleep 600\n",
})
afterAll(folder.remove)

test.skipIf(process.platform === 'win32')('exec: ends with its report after a second Ctrl-C', async () => {
  const child = Bun.spawn([EXECUTABLE, 'exec', '--', 'sh', 'deaf.sh'], {
    cwd: folder.path,
    env: environment(),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let printed = ''
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) {
      printed += decoder.decode(bytes, { stream: true })
      if (printed === 'begun\n') child.kill('SIGINT')
    }
  })()
  let said = ''
  const decoder = new TextDecoder()
  for await (const bytes of child.stderr) {
    const before = said
    said += decoder.decode(bytes, { stream: true })
    if (said.includes('Ctrl-C again') && !before.includes('Ctrl-C again')) child.kill('SIGINT')
  }
  await reading
  expect(await child.exited).toBe(137)
  expect(said).toBe('understudy: the command is still running; press Ctrl-C again to kill it\n')
  expect(printed).toContain('no scenario: FAIL: the command failed with exit code 137, with 1 warning (stopped early)')
  expect(printed).toContain('calls         none')
})
