// The JSON that commands print has the keys of its schema and no others, so the reference lists all of them.
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { z } from 'zod'
import { ExecJson, ExploreJson, RehearseJson } from '../../src/cli/print/report-schemas.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder, run } from '../support/server.ts'

const APP = join(import.meta.dir, '..', '..', 'examples', 'unchanged-app', 'app.mjs')

/** Objects lose the keys that their schema does not have. */
const sameKeys = (schema: z.ZodType, text: string) => {
  const value: unknown = JSON.parse(text)
  expect(schema.parse(value)).toEqual(value)
}
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1) ?? ''

describe('JSON report', () => {
  test('rehearse: has the keys of its schema', async () => {
    const { stdout } = await runCommand(['rehearse', 'timeout-then-fallback', '--json'])
    sameKeys(RehearseJson, stdout)
  })

  test('exec: has the keys of its schema', async () => {
    const { stdout } = await run(['exec', '--json', '--scenario', 'rate-limit-burst', '--', 'node', APP])
    sameKeys(ExecJson, lastLine(stdout))
  })

  test('explore: has the keys of its schema', async () => {
    const folder = emptyFolder()
    try {
      const modes = ['rate-limit-once', 'auth'].flatMap((name) => ['--failure-mode', name])
      const { stdout } = await run(['explore', '--json', ...modes, '--', 'node', APP], { cwd: folder.path })
      sameKeys(ExploreJson, lastLine(stdout))
      const failed = await run(['explore', '--json', '--', 'node', '-e', 'process.exit(7)'], { cwd: folder.path })
      sameKeys(ExploreJson, lastLine(failed.stdout))
    } finally {
      folder.remove()
    }
  })
})
