// Counting the tokens of a message is a call like any other: it has a trace with its bytes, is subject to faults, and is forwarded.
import { afterAll, describe, expect, test } from 'bun:test'
import type { Exchange } from '../../src/contract/core/exchange.ts'
import { bytesIn } from '../../src/views/wire-text.ts'
import { accepted } from '../support/accepted.ts'
import { type Answer, type TestApp, testApps } from '../support/app.ts'
import { emptyFolder, startServer } from '../support/server.ts'

const { appWith, close } = testApps()
afterAll(close)
const PATH = '/v1/messages/count_tokens'
const hello = { model: 'claude-sonnet-4', messages: [{ role: 'user', content: 'Hello!' }] }
const scenario = (rules: object[]) => ({ name: 'counting', rules })
const exchangeOf = async (app: TestApp, { headers }: Answer, session = 'default') => {
  const path = `/s/${session}/_understudy/traces/${headers.get('x-understudy-trace')}/exchange`
  return (await app.fetch(path)).json() as unknown as Exchange
}

test.each([PATH, '/messages/count_tokens', '/v1/messages/count_tokens?beta=true'])(
  'token count %s: leaves a trace with the bytes of both sides',
  async (path) => {
    const app = appWith()
    const text = JSON.stringify({ ...hello, 'x-own': 1.5 }, null, 3)
    const answer = await app.post(`/s/count${path}`, text, { 'anthropic-version': '2023-06-01' })
    expect([answer.status, answer.json()]).toEqual([200, { input_tokens: 9 }])
    const trace = await app.traceOf(answer)
    expect(trace).toMatchObject({
      operation: 'messages.count_tokens',
      model: 'anthropic/claude-sonnet-4',
      route: 'direct',
      outcome: 'succeeded',
      response: { input_tokens: 9 },
      generated: false,
    })
    const { request, response, ended } = await exchangeOf(app, answer, 'count')
    expect(request).toMatchObject({
      ...{ method: 'POST', address: `/s/count${path}`, body: { text } },
      headers: { 'anthropic-version': '2023-06-01' },
    })
    const sent = Buffer.concat((response?.body ?? []).map(bytesIn)).toString()
    expect([response?.status, sent, ended]).toEqual([200, answer.text, 'complete'])
  },
)

test('token count: reports an error in the shape of the API, with a trace', async () => {
  const app = appWith()
  for (const body of [{ ...hello, messages: 'no' }, { messages: hello.messages }, '{"model":']) {
    const answer = await app.post(PATH, body)
    expect([answer.status, answer.json().type]).toEqual([400, 'error'])
    const sent = Buffer.concat(((await exchangeOf(app, answer)).response?.body ?? []).map(bytesIn)).toString()
    expect(sent).toBe(answer.text)
  }
})

test('token count: needs no fixture and is not an unmatched request', async () => {
  const app = appWith({ on_unmatched: 'error' })
  expect((await app.post(PATH, hello)).status).toBe(200)
  expect((await app.fetch('/_understudy/verify')).json().fixtures).toMatchObject({ unmatched: [] })
})

describe('token count under a scenario', () => {
  test("returns the provider's error", async () => {
    const app = appWith()
    const rule = { name: 'busy', fault: { type: 'http-error', status: 529 } }
    await accepted(app.post('/_understudy/sessions', { name: 'busy', scenario: scenario([rule]) }))
    const answer = await app.post(`/s/busy${PATH}`, hello)
    expect([answer.status, answer.json()]).toMatchObject([529, { type: 'error', error: { type: 'overloaded_error' } }])
    expect(answer.headers.get('x-understudy-faults')).toBe('busy')
  })

  test('is distinguished from messages by its operation, which check knows', async () => {
    const app = appWith()
    const rule = {
      name: 'limit',
      match: { operation: 'messages.count_tokens' },
      fault: { type: 'http-error', status: 429 },
    }
    const made = await app.post('/_understudy/sessions', { name: 'counts', scenario: scenario([rule]) })
    expect([made.status, made.json().warnings ?? []]).toEqual([200, []])
    expect((await app.post(`/s/counts${PATH}`, hello)).status).toBe(429)
    expect((await app.post('/s/counts/v1/messages', { ...hello, max_tokens: 9 })).status).toBe(200)
  })
})

test('token count: works in the executable', async () => {
  const folder = emptyFolder()
  const server = await startServer(['--db', ':memory:'], { cwd: folder.path })
  try {
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
    const answer = await fetch(`${server.url}${PATH}`, { method: 'POST', headers, body: JSON.stringify(hello) })
    expect([answer.status, await answer.json()]).toEqual([200, { input_tokens: 9 }])
  } finally {
    await server.stop()
    folder.remove()
  }
})

test('token count: is not a repeat of a message with the same text', async () => {
  const app = appWith()
  await app.post(PATH, hello)
  await app.post('/v1/messages', { ...hello, max_tokens: 9 })
  expect((await app.fetch('/_understudy/verify')).json()).toMatchObject({ findings: [], calls: 2 })
})
