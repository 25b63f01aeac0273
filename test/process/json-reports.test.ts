// The JSON that commands print has the keys of its schema and no others, so the reference lists all of them.
import { describe, expect, test } from 'bun:test'
import type { z } from 'zod'
import { ExecJson, ExploreJson, RehearseJson } from '../../src/cli/print/report-schemas.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

/** A program that tries a call twice, and fails if neither is answered: it starts faster than one with a package. */
const PROGRAM = `
const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = process.env
const ask = () => fetch(base + '/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + key, 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
})
process.exit((await ask()).ok || (await ask()).ok ? 0 : 1)
`
const COMMAND = ['--', process.execPath, '-e', PROGRAM]

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
    const { stdout } = await runCommand(['exec', '--json', '--scenario', 'rate-limit-burst', ...COMMAND])
    sameKeys(ExecJson, lastLine(stdout))
  })

  test('explore: has the keys of its schema', async () => {
    const folder = emptyFolder()
    try {
      const modes = ['rate-limit-once', 'auth'].flatMap((name) => ['--failure-mode', name])
      const { stdout } = await runCommand(['explore', '--json', ...modes, ...COMMAND], { cwd: folder.path })
      sameKeys(ExploreJson, lastLine(stdout))
      const failed = await runCommand(['explore', '--json', '--', process.execPath, '-e', 'process.exit(7)'], {
        cwd: folder.path,
      })
      sameKeys(ExploreJson, lastLine(failed.stdout))
    } finally {
      folder.remove()
    }
  })
})
