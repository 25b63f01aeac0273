// The exchange of a call that began the turn of an agent's task is stored with the trace of that turn.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Exchange } from '../../src/contract/core/exchange.ts'
import { bytesIn } from '../../src/views/wire-text.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp, send } from '../support/app.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const SESSION = 'wire'
const message = {
  kind: 'message',
  messageId: 'm-1',
  role: 'user',
  parts: [{ kind: 'text', text: 'Grüße: what day is it?' }],
}
const agent = {
  ...{ key: 'clock', role: 'Clock', description: 'Tells the date.', instructions: 'Tell it.', path: 'Default' },
  ...{ model: 'openai/gpt-4o', settings: { tools: [{ type: 'current_date' }] } },
}
const rpc = (method: string, params: object = { message }) => ({ jsonrpc: '2.0', id: 1, method, params })
const modern = { message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'What day is it?' }] } }
const V1 = { 'a2a-version': '1.0' }

beforeAll(async () => {
  expect((await app.post(`/s/${SESSION}/v2/agents`, agent)).status).toBe(201)
})

const at = (path: string) => app.fetch(`/s/${SESSION}${path}`)
/** The traces of the turns of a session, newest first. */
const turnsOf = async (session: string) => {
  const { data } = (await app.fetch(`/s/${session}/_understudy/traces?limit=50`)).json()
  return (data as Json[]).filter(({ operation }) => operation === 'agent.task')
}
/** The newest turn that a client began. */
async function newestTurn(): Promise<{ id: string; exchange: Exchange }> {
  const [newest] = await turnsOf(SESSION)
  const id = String(newest?.id)
  return { id, exchange: (await at(`/_understudy/traces/${id}/exchange`)).json() as unknown as Exchange }
}

const CALLS: [string, string, object, Record<string, string>][] = [
  ['a task', '/v2/agents/clock/task?x=1', { message }, {}],
  ['a task that the call waits for', '/v2/agents/clock/task', { message, configuration: { blocking: true } }, {}],
  ['the stream of a task', '/v2/agents/clock/stream-task', { message }, {}],
  ['a response', '/v2/agents/clock/responses', { message }, {}],
  ['a run', '/v2/agents/run', { ...agent, message }, {}],
  ['a message of A2A 0.3', '/a2a/clock', rpc('message/send'), {}],
  ['a stream of A2A 0.3', '/a2a/clock', rpc('message/stream'), {}],
  ['a message of A2A 1.0', '/a2a/clock', rpc('SendMessage', modern), V1],
  ['a stream of A2A 1.0', '/a2a/clock', rpc('SendStreamingMessage', modern), V1],
]
test.each(CALLS)('exchange of %s: keeps both sides of the connection', async (_, path, body, headers) => {
  const before = await turnsOf(SESSION)
  const text = JSON.stringify(body, null, 2)
  const answer = await app.post(`/s/${SESSION}${path}`, text, headers)
  const { id, exchange } = await newestTurn()
  expect(before.map((one) => one.id)).not.toContain(id)
  expect(exchange.request).toMatchObject({
    ...{ method: 'POST', address: `/s/${SESSION}${path.replace('x=1', 'x=(masked)')}`, body: { text } },
    ...{ bytes: Buffer.byteLength(text), truncated: false, headers: { authorization: 'Bearer (masked)' } },
  })
  const { response, ended } = exchange
  const sent = Buffer.concat((response?.body ?? []).map(bytesIn)).toString()
  expect([answer.status, response?.status, ended]).toEqual([200, 200, 'complete'])
  expect(sent).toBe(answer.text)
  expect([response?.bytes, response?.truncated]).toEqual([Buffer.byteLength(answer.text), false])
  for (const [name, value] of Object.entries(response?.headers ?? {}))
    expect([name, answer.headers.get(name)]).toEqual([name, value])
  expect(Object.keys(response?.headers ?? {})).toContain('x-request-id')
  if (answer.text.startsWith('data: '))
    expect(response?.body?.map(({ text: piece }) => piece).filter((piece) => !piece?.endsWith('\n\n'))).toEqual([])
})

test('exchange: begins no turn when a scenario rejects the call before the agent', async () => {
  const rule = { name: 'down', at: 'workspace', fault: { type: 'http-error', status: 503 } }
  const match = { operation: 'submitAgentTask' }
  await accepted(
    app.post('/_understudy/sessions', { name: 'down', scenario: { name: 'down', rules: [{ ...rule, match }] } }),
  )
  await app.post('/s/down/v2/agents', agent)
  const answer = await app.post('/s/down/v2/agents/clock/task', { message })
  expect([answer.status, await turnsOf('down')]).toEqual([503, []])
})

test('exchange: keeps what was sent when the client leaves a stream', async () => {
  const leaving = new AbortController()
  const init = {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  }
  const url = `http://localhost/s/${SESSION}/v2/agents/clock/stream-task`
  const response = await app.understudy.app.fetch(new Request(url, init))
  const reader = response.body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  const { exchange } = await newestTurn()
  const sent = Buffer.concat((exchange.response?.body ?? []).map(bytesIn)).toString()
  expect(exchange.ended).toBe('left')
  expect(sent.startsWith(Buffer.from(first?.value ?? []).toString())).toBe(true)
})

test('exchange: leaves no turn and an unchanged response when the call is rejected', async () => {
  const answer = await send(app, '/v2/agents/clock/task', { method: 'POST', body: '{' })
  expect(answer.status).toBe(401)
  expect((await app.post(`/s/${SESSION}/v2/agents/nobody/task`, { message })).status).toBe(404)
})
