// Spans contain what was sent: statuses, paths, the caller's trace state, and content that is whole JSON.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { listen } from '../../src/cli/run/listen.ts'
import { readForwarding } from '../../src/config/providers.ts'
import { readConfig } from '../../src/config.ts'
import { createUnderstudy } from '../../src/deps.ts'
import { limitedJson } from '../../src/telemetry/content.ts'
import { accepted } from '../support/accepted.ts'
import { agentSession, taskBody } from '../support/agents.ts'
import { type CollectedSpan, type Collector, exportingApp, startCollector, valuesOf } from '../support/collector.ts'
import { at, HELLO, startProvider } from '../support/forward.ts'

let collector: Collector
const ends: (() => unknown)[] = []
beforeAll(async () => {
  collector = await startCollector()
})
afterAll(() => collector.close())
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  collector.requests.length = 0
})
const appWith: typeof exportingApp = (...given) => {
  const app = exportingApp(...given)
  // Stopped, so that it exports nothing into the collector of a later test.
  ends.push(async () => {
    await app.stop()
    app.close()
  })
  return app
}
const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
const DIRECT = '/v1/chat/completions'
const ROUTER = '/v2/router/chat/completions'
const body = (more: object = {}) => ({ ...HELLO, model: 'openai/gpt-4o', ...more })
const attributesOf = (span: CollectedSpan | undefined) => valuesOf(span?.attributes ?? [])
const [SERVER, CLIENT] = [2, 3]
const ofKind = (kind: number) => collector.spans().filter((span) => span.kind === kind)
const STATUS = 'http.response.status_code'

/** The program behind a socket, as clients have it. */
async function serving() {
  const config = { ...readConfig({ otlp: collector.url, port: 0, db: ':memory:' }, {}), skip_latency: true }
  const understudy = createUnderstudy(config, (error) => {
    throw error
  })
  const servers = await listen(config, understudy)
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop(true)))
    understudy.sessions.close()
  }
  ends.push(stop)
  return { url: `http://127.0.0.1:${servers[0]?.port}`, exported: () => understudy.telemetry?.stop(10_000) }
}

describe('span status', () => {
  const fault = (type: string, place: string, more: object = {}) => ({ at: place, fault: { type, ...more } })
  type Row = [name: string, path: string, rule: object, stream: boolean, server: unknown, attempt: unknown]
  const rows: Row[] = [
    ['a reset of a direct call', DIRECT, fault('reset', 'provider'), false, undefined, undefined],
    ['a reset between gateway and provider', ROUTER, fault('reset', 'provider'), false, 502, undefined],
    ['a reset behind the gateway', ROUTER, fault('reset', 'gateway'), true, undefined, 'none'],
    ['an unknown provider host', ROUTER, fault('dns-failure', 'provider'), true, 502, undefined],
    ['an error in a stream', DIRECT, fault('stream-error', 'provider'), true, 200, 200],
    ['an error in a stream, through the gateway', ROUTER, fault('stream-error', 'provider'), true, 502, 200],
    ['a truncated stream', DIRECT, fault('cut-stream', 'provider'), true, 200, 200],
    ['an unreadable response', ROUTER, fault('malformed-json', 'provider'), false, 502, 200],
    ['an http-error fault', DIRECT, fault('http-error', 'provider', { status: 503 }), false, 503, 503],
    ['an HTTP error', ROUTER, fault('http-error', 'provider', { status: 503 }), false, 503, 503],
    ['a client that leaves a silent call', DIRECT, fault('hang', 'provider'), false, undefined, undefined],
    ['a client that leaves the gateway', ROUTER, fault('hang', 'provider'), true, undefined, undefined],
  ]
  test.each(rows)('is the sent status, or absent: %s', async (_, path, rule, stream, server, attempt) => {
    const { url, exported } = await serving()
    const scenario = { name: 'bad', rules: [{ name: 'rule', ...rule }] }
    await accepted(fetch(`${url}/_understudy/scenario`, { method: 'PUT', headers, body: JSON.stringify(scenario) }))
    const client = new AbortController()
    const call = fetch(`${url}${path}`, {
      ...{ method: 'POST', headers, signal: client.signal, body: JSON.stringify(body({ stream })) },
    }).then(
      (response) => response.text(),
      () => '',
    )
    const traces = async () => {
      const { data } = (await (await fetch(`${url}/_understudy/traces`, { headers })).json()) as { data: unknown[] }
      return data.length
    }
    if (JSON.stringify(rule).includes('hang')) {
      const begun = async () =>
        ((await (await fetch(`${url}/_understudy/scenario`, { headers })).json()) as { rules: { applied: number }[] })
          .rules[0]?.applied
      while (!(await begun())) await Bun.sleep(5)
      client.abort()
    }
    await call.catch(() => '')
    while ((await traces()) === 0) await Bun.sleep(5)
    await exported()
    const [span] = ofKind(SERVER ?? 0)
    expect(span).toBeDefined()
    expect(attributesOf(span)[STATUS]).toEqual(server)
    const [tried] = ofKind(CLIENT ?? 0)
    if (attempt === 'none') expect(tried).toBeUndefined()
    else expect([tried !== undefined, attributesOf(tried)[STATUS]]).toEqual([true, attempt])
  })
})

describe('span paths', () => {
  test('have the session in url.path and not in http.route', async () => {
    const app = appWith(collector.url)
    await app.post(`/s/mine${ROUTER}/`, body())
    await app.post(`/s/mine${DIRECT}`, body())
    await app.stop()
    const spans = ofKind(SERVER ?? 0).map((span) => {
      const { 'http.route': route, 'url.path': path } = attributesOf(span)
      return [span.name, route, path]
    })
    expect(spans).toEqual([
      [`POST ${ROUTER}`, ROUTER, `/s/mine${ROUTER}/`],
      [`POST ${DIRECT}`, DIRECT, `/s/mine${DIRECT}`],
    ])
  })

  test('have parameters and no client keys in http.route', async () => {
    const app = appWith(collector.url)
    const one = agentSession(app)
    await one.begin(['Done.', 'Done.'])
    await one.agent({ key: 'acme-secret-agent' })
    await app.post('/v2/agents/acme-secret-agent/task', taskBody('Go.'), one.headers)
    await app.post('/v2/agents/acme-secret-agent/responses', taskBody('Go.'), one.headers)
    await app.stop()
    const spans = ofKind(SERVER ?? 0).map(attributesOf)
    expect(spans.map((span) => span['http.route'])).toEqual(['/v2/agents/{key}/task', '/v2/agents/{key}/responses'])
    expect(spans.map((span) => span['url.path'])).toEqual([
      '/v2/agents/acme-secret-agent/task',
      '/v2/agents/acme-secret-agent/responses',
    ])
  })
})

describe('tracestate of a caller', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const long = (key: string, length: number) => `${key}=${'x'.repeat(length - key.length - 1)}`
  const many = Array.from({ length: 40 }, (_, index) => `k${index}=1`).join(',')
  const rows: [name: string, given: string, kept: string | undefined][] = [
    ['is in every span', 'vendor=1', 'vendor=1'],
    [
      'has all of its members',
      'rojo=00f067aa0ba902b7 , congo@t61=ucfJifl5GOE',
      'rojo=00f067aa0ba902b7,congo@t61=ucfJifl5GOE',
    ],
    [
      'loses long members first',
      `a=1,${long('b', 240)},${long('c', 128)},${long('d', 200)}`,
      `a=1,${long('b', 240)},${long('c', 128)}`,
    ],
    [
      'loses its last members next',
      Array.from({ length: 6 }, (_, index) => long(`k${index}`, 100)).join(','),
      Array.from({ length: 5 }, (_, index) => long(`k${index}`, 100)).join(','),
    ],
    ['is dropped when a member is invalid', 'a=1,Bad Key=2', undefined],
    ['is dropped when a key occurs twice', 'a=1,a=2', undefined],
    ['is dropped with too many members', many, undefined],
  ]
  test.each(rows)('is the sent status, or absent: %s', async (_, tracestate, kept) => {
    const app = appWith(collector.url)
    await app.post(ROUTER, body({ cache: { type: 'exact_match' } }), { traceparent, tracestate })
    await app.stop()
    const spans = collector.spans()
    expect(spans.length).toBeGreaterThan(2)
    expect(spans.map((span) => span.traceState || undefined)).toEqual(spans.map(() => kept))
  })

  test('is in the spans of an agent turn and its model calls', async () => {
    const app = appWith(collector.url)
    const one = agentSession(app)
    await one.begin(['Done.'])
    await one.agent({})
    await app.post('/v2/agents/helper/task', taskBody('Go.'), { ...one.headers, traceparent, tracestate: 'vendor=1' })
    await app.stop()
    const spans = collector.spans().filter((span) => span.traceId === traceparent.split('-')[1])
    expect(spans.length).toBeGreaterThan(3)
    expect([...new Set(spans.map((span) => span.traceState))]).toEqual(['vendor=1'])
  })

  test('is sent to providers, through the gateway and directly', async () => {
    const message = { role: 'assistant', content: 'Hi.' }
    const answer = {
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    }
    const provider = startProvider(() => Response.json(answer))
    ends.push(() => provider.stop())
    const section = { value: { openai: at(provider.url) }, locationOf: () => 'understudy.yaml:1' }
    const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
    const app = appWith(collector.url, { forwarding, clock: 'real' })
    const context = { traceparent, tracestate: 'vendor=1,other=2' }
    await app.post(ROUTER, body(), context)
    await app.post(DIRECT, body({ model: 'gpt-4o' }), context)
    await app.post(ROUTER, body(), { traceparent: 'nonsense', tracestate: 'vendor=1' })
    const sent = provider.seen.map(({ headers: { traceparent: parent, tracestate } }) => ({
      traceparent: parent,
      tracestate,
    }))
    expect(sent).toEqual([context, context, { traceparent: undefined, tracestate: undefined }])
  })
})

describe('span content', () => {
  const longest = 64_000
  const exportedFor = async (messages: object[]) => {
    const app = appWith(collector.url, {}, { content: true })
    await app.post(ROUTER, body({ messages }))
    await app.stop()
    expect(app.telemetry.counts()).toMatchObject({ dropped: 0, waiting: 0, problem: null })
    return attributesOf(ofKind(CLIENT ?? 0)[0])
  }

  test('is valid JSON with its original length when it is too long', async () => {
    const text = `${'a'.repeat(15_999)}${'😀'.repeat(40_000)}`
    const messages = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: text },
    ]
    const given = await exportedFor(messages)
    const json = String(given['gen_ai.input.messages'])
    expect(json.length).toBeLessThanOrEqual(longest)
    expect(json.isWellFormed()).toBe(true)
    const [system, user] = JSON.parse(json)
    expect(system).toEqual({ role: 'system', parts: [{ type: 'text', content: 'Be kind.' }] })
    expect(user.parts[0].content).toBe(`${'a'.repeat(15_999)}... (80000 more characters)`)
    expect(given['understudy.input.messages.length']).toBeGreaterThan(95_000)
  })

  test('keeps the first and the last of very many messages', async () => {
    const messages = Array.from({ length: 3_000 }, (_, index) => ({ role: 'user', content: `message ${index}` }))
    const kept = JSON.parse(String((await exportedFor(messages))['gen_ai.input.messages']))
    const texts = kept.map(({ parts }: { parts: { content: string }[] }) => parts[0]?.content)
    expect(texts[0]).toBe('message 0')
    expect(texts.at(-1)).toBe('message 2999')
    expect(texts.length).toBeLessThan(3_000)
  })

  test('is unchanged when it fits', async () => {
    const given = await exportedFor([{ role: 'user', content: 'Hi.' }])
    expect(JSON.parse(String(given['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'Hi.' }] },
    ])
    expect(given).not.toHaveProperty('understudy.input.messages.length')
  })

  test.each([0, 1, 2, 50, 199, 200, 500])('is valid JSON of at most %d characters', (limit) => {
    const values = [{ a: ['x'.repeat(300), { b: '😀'.repeat(300) }] }, ...Array.from({ length: 30 }, (_, c) => ({ c }))]
    const { json, whole } = limitedJson(values, limit)
    expect(json.length).toBeLessThanOrEqual(Math.max(2, limit))
    expect(Array.isArray(JSON.parse(json))).toBe(true)
    expect(whole).toBe(JSON.stringify(values).length)
  })
})
