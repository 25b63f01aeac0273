// Every response of every path has an id for its call, and those of a compatible API have it under its own header too.
import { afterAll, expect, test } from 'bun:test'
import { type Answer, testApps } from '../support/app.ts'
import { playing } from '../support/scenario.ts'

const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

const chat = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] }
const message = { ...chat, model: 'claude-sonnet-4', max_tokens: 20 }
const anthropic = { headers: { 'anthropic-version': '2023-06-01' } }
const unauthorized = { method: 'POST', body: '{}', headers: { authorization: '' } }
const rows: [what: string, ask: () => Promise<Answer>, status: number, header: string | null][] = [
  ['a call', () => app.post('/v2/router/chat/completions', chat), 200, null],
  ['a stream', () => app.post('/v1/chat/completions', { ...chat, stream: true }), 200, null],
  ['a message', () => app.post('/v1/messages', message), 200, 'request-id'],
  ['a streamed message', () => app.post('/v1/messages', { ...message, stream: true }), 200, 'request-id'],
  ['a token count', () => app.post('/v1/messages/count_tokens', message), 200, 'request-id'],
  ['a list of models', () => app.fetch('/v1/models'), 200, null],
  ['a list of models for Anthropic', () => app.fetch('/v1/models', anthropic), 200, 'request-id'],
  ['an invalid body', () => app.post('/v1/embeddings', {}), 400, null],
  ['an invalid message', () => app.post('/v1/messages', {}), 400, 'request-id'],
  ['a call without a token', () => app.fetch('/v2/router/embeddings', unauthorized), 401, null],
  ['a message without a token', () => app.fetch('/v1/messages', unauthorized), 401, 'request-id'],
  ['a path outside every API', () => app.fetch('/nothing'), 404, null],
  ['a path that is not emulated', () => app.fetch('/v1/files'), 404, null],
  ['an Anthropic path that is not emulated', () => app.fetch('/v1/files', anthropic), 404, 'request-id'],
  ['another method', () => app.fetch('/v2/router/embeddings'), 405, null],
  ['a record of the workspace', () => app.post('/v2/contacts', { external_id: 'one' }), 200, null],
  ['a missing record', () => app.fetch('/v2/tools/none/versions/none'), 404, null],
  ['the control API', () => app.fetch('/_understudy/health'), 200, null],
  ['an error of the control API', () => app.fetch('/_understudy/traces/none'), 404, null],
  ['the OpenAPI document', () => app.fetch('/swagger/json'), 200, null],
]
test.each(rows)('x-request-id: is sent with %s', async (_, ask, status, header) => {
  const answer = await ask()
  expect([answer.status, answer.headers.has('x-request-id')]).toEqual([status, true])
  const id = answer.headers.get('x-request-id') as string
  expect(id).not.toBe('')
  expect(answer.headers.get('x-understudy-trace') ?? id).toBe(id)
  expect(answer.headers.get('request-id')).toBe(header ? id : null)
  if (header && status >= 400) expect(answer.json().request_id).toBe(id)
})

test('x-request-id: differs for every request', async () => {
  const ids = [await app.fetch('/nothing'), await app.fetch('/nothing')].map(({ headers }) =>
    headers.get('x-request-id'),
  )
  expect(new Set(ids).size).toBe(2)
})

/** What is left of a quota, as the headers of some calls say it. */
const countdown = (answers: readonly Answer[], names: readonly string[]) =>
  answers.map(({ status, headers }) => [status, ...names.map((name) => headers.get(name))])

test.each(['gateway', 'provider'])('quota of the %s: is counted down in the headers of every response', async (at) => {
  const fault = { type: 'rate-limit', requests: 2, tokens: 100, per: '90s' }
  const { post } = await playing(app, [{ at, match: {}, fault }])
  const answers = []
  for (const _ of [1, 2, 3]) answers.push(await post('/v2/router/chat/completions', { ...chat, max_tokens: 20 }))
  const left = Number(answers[0]?.headers.get('x-ratelimit-remaining-tokens'))
  expect(left).toBeLessThan(80)
  const names = ['limit', 'remaining', 'reset'].flatMap((what) =>
    ['requests', 'tokens'].map((unit) => `x-ratelimit-${what}-${unit}`),
  )
  expect(countdown(answers, names)).toEqual([
    [200, '2', '100', '1', String(left), '1m30s', '1m30s'],
    [200, '2', '100', '0', String(2 * left - 100), '1m30s', '1m30s'],
    [429, '2', '100', '0', String(2 * left - 100), '1m30s', '1m30s'],
  ])
})
