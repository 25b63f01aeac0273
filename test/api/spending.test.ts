// Limits for the user's money: forwarded calls are counted, and rejected beyond --max-calls and --max-cost.
import { afterAll, describe, expect, test } from 'bun:test'
import { createSpending } from '../../src/backends/forward/spending.ts'
import { describeForwarding, readForwarding } from '../../src/config/providers.ts'
import { type Config, readConfig } from '../../src/config.ts'
import type { Reply } from '../../src/contract/core/reply.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { at, HELLO, readerOf, startProvider, textIn } from '../support/forward.ts'

const CHAT = '/v2/router/chat/completions'
const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})

const USAGE = { prompt_tokens: 1_000_000, completion_tokens: 100_000, total_tokens: 1_100_000 }
/** What USAGE costs with openai/gpt-4o. */
const COST = 3.5
const completion = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'From afar.' }, finish_reason: 'stop' }],
  usage: USAGE,
}
const chunk = (more: object) =>
  `data: ${JSON.stringify({ ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }, ...more })}\n\n`
const streamed = [
  chunk({ choices: [{ index: 0, delta: { content: 'From afar.' }, finish_reason: 'stop' }] }),
  chunk({ choices: [], usage: USAGE }),
  'data: [DONE]\n\n',
].join('')
const claude = {
  ...{ type: 'message', id: 'msg_1', role: 'assistant', model: 'claude', stop_reason: 'end_turn', stop_sequence: null },
  content: [{ type: 'text', text: 'From Claude.' }],
  usage: { input_tokens: 1_000_000, output_tokens: 100_000 },
}

/** An application that forwards openai, groq and anthropic to one server, which answers in the form that is asked for. */
function start(limits: Partial<Pick<Config, 'max_calls' | 'max_cost'>>, status = 200) {
  const upstream = startProvider(async (request) => {
    if (request.url.endsWith('/messages')) return Response.json(claude)
    const { stream } = (await request.json()) as { stream?: boolean }
    if (status !== 200) return Response.json({ error: { message: 'busy' } }, { status })
    return stream
      ? new Response(streamed, { headers: { 'content-type': 'text/event-stream' } })
      : Response.json(completion)
  })
  const value = { openai: at(upstream.url), groq: at(upstream.url), anthropic: at(upstream.url) }
  const section = { value, locationOf: () => '' }
  const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
  const app = createTestApp({ clock: 'real', forwarding, ...limits })
  stops.push(upstream.stop, app.close)
  const ask = (model: string, more: object = {}) => app.post(CHAT, { ...HELLO, model, ...more })
  return { app, upstream, ask }
}
const spendingOf = async (app: TestApp) => (await app.fetch('/_understudy/health')).json().spending

describe('--max-calls', () => {
  test('allows that many calls and rejects further ones to any provider', async () => {
    const { app, upstream, ask } = start({ max_calls: 2 })
    expect((await ask('openai/gpt-4o')).status).toBe(200)
    expect((await ask('groq/llama', { stream: true })).status).toBe(200)
    const refused = await ask('openai/gpt-4o', { retry: { count: 3 }, fallbacks: [{ model: 'groq/llama' }] })
    const { message, code } = errorOf(refused.text, 429)
    expect(code).toBe('spending_limit')
    expect(message).toContain('2 of at most 2 calls to real providers were made (--max-calls)')
    expect(refused.headers.get('x-should-retry')).toBe('false')
    const { attempts } = await app.traceOf(refused)
    expect(attempts.map(({ target, reason: why }) => [target, why])).toEqual([
      ['openai/gpt-4o', 'first'],
      ['groq/llama', 'fallback'],
    ])
    expect(upstream.seen).toHaveLength(2)
    expect(await spendingOf(app)).toEqual({ calls: 2, max_calls: 2, cost: null, max_cost: null, unpriced: 0 })
  })

  test('does not stop fixtures, even as a fallback', async () => {
    const { ask, upstream } = start({ max_calls: 0 })
    expect((await ask('mistral/mistral-large')).status).toBe(200)
    const answer = await ask('openai/gpt-4o', { fallbacks: [{ model: 'mistral/mistral-large' }] })
    expect([answer.status, answer.headers.get('x-understudy-fallback')]).toEqual([200, '1'])
    expect(upstream.seen).toEqual([])
  })

  test('counts failed calls and retries, and not calls that were not sent', async () => {
    const { ask, upstream, app } = start({ max_calls: 2 }, 503)
    expect((await ask('openai/gpt-4o', { retry: { count: 1, on_codes: [503] } })).status).toBe(503)
    expect(upstream.seen).toHaveLength(2)
    expect(await spendingOf(app)).toMatchObject({ calls: 2 })
    const other = start({ max_calls: 1 })
    const picture = await other.app.post('/v2/router/images/generations', {
      model: 'anthropic/claude',
      prompt: 'a cat',
    })
    errorOf(picture.text, 400)
    expect(await spendingOf(other.app)).toMatchObject({ calls: 0 })
  })
})

describe('--max-cost', () => {
  const rows: [string, string, object][] = [
    ['a whole response', 'openai/gpt-4o', {}],
    ['a stream of a client that requests no usage', 'openai/gpt-4o', { stream: true }],
    [
      'a stream of a client that requests usage',
      'openai/gpt-4o',
      { stream: true, stream_options: { include_usage: true } },
    ],
  ]
  test.each(rows)('counts %s at list price', async (_, model, more) => {
    const { app, ask, upstream } = start({ max_cost: COST + 1 })
    for (const cost of [COST, 2 * COST]) {
      expect((await ask(model, more)).status).toBe(200)
      expect(await spendingOf(app)).toMatchObject({ cost, max_cost: COST + 1, unpriced: 0 })
    }
    const { message } = errorOf((await ask(model, more)).text, 429)
    expect(message).toContain(`cost ${2 * COST} of at most ${COST + 1} USD by list price (--max-cost)`)
    expect(upstream.seen).toHaveLength(2)
  })

  test('counts a stream on a compatible path, which is passed on in one piece', async () => {
    const { app } = start({ max_cost: COST + 1 })
    const streaming = { stream: true, stream_options: { include_usage: true } }
    expect((await app.post('/v1/chat/completions', { ...HELLO, model: 'gpt-4o', ...streaming })).status).toBe(200)
    expect(await spendingOf(app)).toMatchObject({ cost: COST, unpriced: 0 })
  })

  test('counts the usage in the last event of a responses stream', async () => {
    const usage = { input_tokens: 1_000_000, output_tokens: 100_000 }
    const event = `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: { usage } })}\n\n`
    const spending = createSpending({ calls: undefined, cost: 1 })
    const bytes = new Response(event).body ?? new Uint8Array()
    const body = { kind: 'bytes' as const, contentType: 'text/event-stream', bytes }
    const reply: Reply = { status: 200, headers: {}, body, usage: null, fixture: null, generated: false }
    expect(await textIn(await spending.forward({ model: 'openai/gpt-4o' }, async () => reply))).toBe(event)
    expect(spending.spent()).toEqual({ calls: 1, cost: COST, unpriced: 0 })
  })

  test('counts a stream once when it is abandoned during a read', async () => {
    const spending = createSpending({ calls: undefined, cost: 10 * COST })
    const first = new TextEncoder().encode(chunk({ choices: [], usage: USAGE }))
    const endless = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(first) })
    const body = { kind: 'bytes' as const, contentType: 'text/event-stream', bytes: endless }
    const reply: Reply = { status: 200, headers: {}, body, usage: null, fixture: null, generated: false }
    const counted = await spending.forward({ model: 'openai/gpt-4o' }, async () => reply)
    const reader = readerOf(counted)
    await reader.next()
    await new Promise(setImmediate)
    await reader.cancel()
    await new Promise(setImmediate)
    expect(spending.spent()).toEqual({ calls: 1, cost: COST, unpriced: 0 })
  })

  test('counts a response of a model package', async () => {
    const { app, ask } = start({ max_cost: 1 })
    expect((await ask('anthropic/claude-sonnet-4-5')).status).toBe(200)
    expect(await spendingOf(app)).toMatchObject({ cost: 4.5, unpriced: 0 })
    errorOf((await ask('openai/gpt-4o')).text, 429)
  })

  test('counts a model without a known price as 0, which health reports', async () => {
    const { app, ask } = start({ max_cost: 1 })
    for (const _ of [1, 2]) expect((await ask('groq/nobody-knows')).status).toBe(200)
    expect(await spendingOf(app)).toEqual({ calls: 2, max_calls: null, cost: 0, max_cost: 1, unpriced: 2 })
  })
})

test('spending limits: apply only to forwarded calls', async () => {
  const app = createTestApp()
  expect(await spendingOf(app)).toBeNull()
  app.close()
})

test('spending limits: are printed at the start', () => {
  const { understudy } = start({ max_calls: 20, max_cost: 1.5 }).app
  expect(understudy.about).toContain('calls go to openai, groq, anthropic, at most 20 calls and 1.5 USD (')
  expect(describeForwarding(readConfig({}, {}).forwarding, { max_calls: 1 })).toBe('fixture: cannot reach the network')
})

const mistakes: [string, string][] = [
  ['max_calls', '-1'],
  ['max_calls', '1.5'],
  ['max_cost', '$5'],
  ['max_cost', '-1'],
]
test.each(mistakes)('spending limit %s: rejects %j', (key, value) => {
  expect(() => readConfig({ [key]: value }, {})).toThrow(`, got "${value}"`)
})
