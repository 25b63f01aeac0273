// What a server prints while it runs: unknown paths once, and a line for each request with --verbose.
import { afterAll, expect, test } from 'bun:test'
import { withRequestLog } from '../../src/cli/print/request-log.ts'
import { testApps } from '../support/app.ts'
import { plainLines } from '../support/cli.ts'

const { appWith, close } = testApps()
afterAll(close)

/** An application with its log, and what it has printed. */
function logged({ verbose = false } = {}) {
  const app = appWith()
  const lines: string[] = []
  const log = { isJson: false, line: () => {}, plain: (line: string) => void lines.push(...plainLines([line])) }
  const { app: watched } = withRequestLog(app.understudy, { log, stderr: { width: undefined } }, verbose)
  const ask = async (path: string, body?: unknown) => {
    const init = {
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    }
    const response = await watched.fetch(new Request(`http://localhost${path}`, init))
    await response.text()
    // The answer is out before its line is printed.
    await new Promise((resolve) => setImmediate(resolve))
    return response
  }
  return { ask, lines }
}
const chat = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] }

test('request log: prints an unknown path once, with the likely one', async () => {
  const { ask, lines } = logged()
  for (const _ of [1, 2, 3]) expect((await ask('/openai/v1/chat/completions', chat)).status).toBe(404)
  await ask('/v1/nothing-like-it')
  // Known paths have nothing to say, whatever they answer.
  await ask('/v2/router/chat/completions', chat)
  await ask('/v2/datasets/none')
  expect(lines).toHaveLength(2)
  expect(lines[0]).toContain('POST /openai/v1/chat/completions: ')
  expect(lines[0]).toContain(': did you mean /v1/chat/completions? The base URL of a client ends with /v1; ')
  expect(lines[1]).toContain('GET /v1/nothing-like-it: ')
})

test('request log: stays short under a scanner', async () => {
  const { ask, lines } = logged()
  for (let index = 0; index < 80; index++) await ask(`/wp-admin/${index}`)
  expect(lines.length).toBeLessThanOrEqual(50)
  const long = logged()
  await long.ask(`/${'x'.repeat(15_000)}`)
  expect(long.lines.join('').length).toBeLessThan(1_000)
})

test('request log: prints a line for each request except control API ones with --verbose', async () => {
  const { ask, lines } = logged({ verbose: true })
  const { headers } = await ask('/v2/router/chat/completions', chat)
  await ask('/v2/contacts')
  await ask('/_understudy/health')
  await ask('/v1/nothing')
  const [call = '', contacts = '', ...rest] = lines
  expect(call).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} {2}200 {2}succeeded +\d+ ms {2}default +openai\/gpt-4o +chat\.completions /,
  )
  expect(call).toEndWith(headers.get('x-understudy-trace') ?? 'none')
  expect(contacts).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}200 {2}GET \/v2\/contacts$/)
  expect(rest.some((line) => line.endsWith('404  GET /v1/nothing'))).toBe(true)
  expect(lines.some((line) => line.includes('health'))).toBe(false)
})
