// The launcher of the npm package, which is a process that starts another one.
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { version } from '../../package.json'
import { EXECUTABLE } from '../support/server.ts'

const LAUNCHER = join(import.meta.dir, '..', '..', 'packages', 'cli', 'bin', 'understudy.mjs')
const launched = (executable: string, ...typed: string[]) =>
  Bun.spawnSync(['node', LAUNCHER, ...typed], { env: { ...process.env, UNDERSTUDY_BIN: executable } })

test('launcher: runs the configured executable with its arguments', () => {
  const { exitCode, stdout } = launched(EXECUTABLE, '--version')
  expect([exitCode, String(stdout).trim()]).toEqual([0, version])
})

test('launcher: exits as the executable does', () => {
  const { exitCode, stderr } = launched(EXECUTABLE, 'serve', '--port', 'many')
  expect([exitCode, String(stderr)]).toEqual([2, expect.stringContaining('--port')])
})
