// Every call is an OpenTelemetry trace: a server span, one for each attempt, and what happened around them, with the names of the
// conventions and joined to the trace of the caller.
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import * as stable from '@opentelemetry/semantic-conventions'
import * as incubating from '@opentelemetry/semantic-conventions/incubating'
import { accepted } from '../support/accepted.ts'
import { agentSession, taskBody } from '../support/agents.ts'
import { type CollectedSpan, type Collector, exportingApp, startCollector, valuesOf } from '../support/collector.ts'
import { emptyFolder } from '../support/server.ts'

let collector: Collector
beforeAll(async () => {
  collector = await startCollector()
})
afterAll(() => collector.close())
const apps: { close(): void }[] = []
afterEach(() => {
  for (const app of apps.splice(0)) app.close()
  collector.requests.length = 0
})
const appWith: typeof exportingApp = (...given) => {
  const app = exportingApp(...given)
  apps.push(app)
  return app
}

const CHAT = '/v2/router/chat/completions'
const SECRET = 'Xylophone-4711'
const GUARD = 'svc_pii_detection'
const body = (more: object = {}) => ({
  model: 'openai/gpt-4o-mini',
  messages: [{ role: 'user', content: `Tell me about ${SECRET}` }],
  ...more,
})
const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const traceparent = `00-${CALLER.traceId}-${CALLER.spanId}-01`

const named = (spans: readonly CollectedSpan[], name: string) => spans.filter((span) => span.name === name)
const only = (spans: readonly CollectedSpan[], name: string): CollectedSpan => {
  const [span, ...others] = named(spans, name)
  if (!span || others.length > 0) throw new Error(`not one ${name} but: ${spans.map((one) => one.name).join(', ')}`)
  return span
}
const attributesOf = (span: CollectedSpan) => valuesOf(span.attributes)
const eventsOf = (span: CollectedSpan) =>
  (span.events ?? []).map(({ name, attributes }): Record<string, unknown> => ({ name, ...valuesOf(attributes) }))

const startOf = (span: CollectedSpan | undefined) => BigInt(span?.startTimeUnixNano ?? -1)
const endOf = (span: CollectedSpan | undefined) => BigInt(span?.endTimeUnixNano ?? -1)

/** All names that the package of the conventions knows, those that have left it for a repository of their own included. */
const KNOWN = new Set<string>(
  Object.values({ ...stable, ...incubating }).filter((name): name is never => typeof name === 'string'),
)
/** Names that are newer than the package. */
const NEWER = [
  'gen_ai.usage.cache_write.input_tokens',
  'gen_ai.request.reasoning.level',
  'gen_ai.request.previous_response.id',
]
interface ProtoType {
  fields: Record<string, unknown>
}
const { getProtoRoot } = createRequire(import.meta.url)('@elastic/mockotlpserver/lib/proto.js') as {
  getProtoRoot(): { lookupType(name: string): ProtoType }
}
const fieldsOf = (type: string) => Object.keys(getProtoRoot().lookupType(`opentelemetry.proto.trace.v1.${type}`).fields)

/** Holds spans to the protocol and to the conventions. */
function expectValid(spans: readonly CollectedSpan[]): void {
  const [ofSpan, ofEvent, ofStatus] = [fieldsOf('Span'), fieldsOf('Span.Event'), fieldsOf('Status')]
  for (const span of spans) {
    expect(ofSpan).toEqual(expect.arrayContaining(Object.keys(span)))
    expect(span.traceId).toMatch(/^(?!0+$)[\da-f]{32}$/)
    expect(span.spanId).toMatch(/^(?!0+$)[\da-f]{16}$/)
    if (span.parentSpanId !== undefined) expect(span.parentSpanId).toMatch(/^(?!0+$)[\da-f]{16}$/)
    expect(span.startTimeUnixNano).toMatch(/^\d{19}$/)
    expect(span.endTimeUnixNano).toMatch(/^\d{19}$/)
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano))
    expect([1, 2, 3]).toContain(span.kind)
    expect(ofStatus).toEqual(expect.arrayContaining(Object.keys(span.status)))
    expect([undefined, 2]).toContain(span.status.code)
    for (const event of span.events ?? []) {
      expect(ofEvent).toEqual(expect.arrayContaining(Object.keys(event)))
      expect(event.timeUnixNano).toMatch(/^\d{19}$/)
    }
    const names = [span, ...(span.events ?? [])].flatMap(({ attributes }) => attributes.map(({ key }) => key))
    const unknown = names.filter((name) => !name.startsWith('understudy.') && !KNOWN.has(name) && !NEWER.includes(name))
    expect(unknown).toEqual([])
  }
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
}

test("telemetry: exports a server span under the caller's span, with one for the attempt", async () => {
  const app = appWith(collector.url)
  const answer = await app.post(CHAT, body({ temperature: 0.5, max_tokens: 20, seed: 7 }), {
    traceparent,
    tracestate: 'vendor=1',
  })
  await app.stop()
  const spans = collector.spans()
  expectValid(spans)
  const server = only(spans, `POST ${CHAT}`)
  expect(server).toMatchObject({ ...CALLER, spanId: server.spanId, parentSpanId: CALLER.spanId, kind: 2, status: {} })
  expect(server.traceState).toBe('vendor=1')
  expect(attributesOf(server)).toMatchObject({
    'http.request.method': 'POST',
    'http.route': CHAT,
    'http.response.status_code': 200,
    'server.address': 'localhost',
    'understudy.session': 'default',
    'understudy.trace': answer.headers.get('x-understudy-trace'),
    'understudy.call': 1,
    'understudy.outcome': 'succeeded',
  })
  const attempt = only(spans, 'chat gpt-4o-mini')
  expect(attempt).toMatchObject({ traceId: CALLER.traceId, parentSpanId: server.spanId, kind: 3, status: {} })
  const { id, usage } = answer.json() as { id: string; usage: { prompt_tokens: number; completion_tokens: number } }
  expect(attributesOf(attempt)).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o-mini',
    'gen_ai.request.temperature': 0.5,
    'gen_ai.request.max_tokens': 20,
    'gen_ai.request.seed': 7,
    'gen_ai.request.stream': false,
    'gen_ai.response.id': id,
    'gen_ai.response.model': 'gpt-4o-mini',
    'gen_ai.response.finish_reasons': [expect.any(String)],
    'gen_ai.usage.input_tokens': usage.prompt_tokens,
    'gen_ai.usage.output_tokens': usage.completion_tokens,
  })
  expect(attributesOf(attempt)).not.toHaveProperty('http.request.resend_count')
  const [request] = collector.requests
  expect(valuesOf(request?.resourceSpans[0]?.resource.attributes ?? [])).toMatchObject({
    'service.name': 'understudy',
    'service.version': expect.any(String),
  })
})

const scenario = {
  name: 'bad-day',
  rules: [{ name: 'too many', when: { calls: '1-2' }, fault: { type: 'http-error', status: 429, retry_after: '3s' } }],
}

test('telemetry: exports attempts, waits and faults', async () => {
  const app = appWith(collector.url)
  await accepted(app.post('/_understudy/sessions', { name: 'one', scenario }))
  const session = { 'x-understudy-session': 'one' }
  expect((await app.post(CHAT, body({ svc: { retry: { count: 3 } } }), session)).status).toBe(200)
  await app.stop()
  const spans = collector.spans()
  expectValid(spans)
  const attempts = named(spans, 'chat gpt-4o-mini')
  expect(attempts.map((span) => attributesOf(span)['http.request.resend_count'])).toEqual([undefined, 1, 2])
  expect(attempts.map((span) => attributesOf(span)['http.response.status_code'])).toEqual([429, 429, 200])
  expect(attempts.map((span) => attributesOf(span)['error.type'])).toEqual(['429', '429', undefined])
  expect(attempts.map(({ status }) => status.code)).toEqual([2, 2, undefined])
  const [first] = attempts
  expect(first && eventsOf(first)).toEqual([
    { name: 'understudy.fault', 'understudy.fault.rule': 'too many', 'understudy.scenario': 'bad-day' },
  ])
  const server = only(spans, `POST ${CHAT}`)
  const wait = { name: 'understudy.wait', 'understudy.wait_ms': 3000, 'understudy.attempt.reason': 'retry' }
  expect(eventsOf(server)).toMatchObject([wait, wait])
  // Six seconds of the virtual clock took some real milliseconds: everything lies inside of them.
  expect(attributesOf(server)['understudy.duration_ms']).toBeGreaterThanOrEqual(6000)
  for (const { startTimeUnixNano: start, endTimeUnixNano: end } of attempts) {
    expect(BigInt(start)).toBeGreaterThanOrEqual(BigInt(server.startTimeUnixNano))
    expect(BigInt(end)).toBeLessThanOrEqual(BigInt(server.endTimeUnixNano))
  }
})

test('telemetry: exports a finding once, as an event of the call that shows it', async () => {
  const app = appWith(collector.url)
  await accepted(app.post('/_understudy/sessions', { name: 'one', scenario }))
  const session = { 'x-understudy-session': 'one' }
  const refused = await app.post(CHAT, body(), { ...session, traceparent })
  const repeated = await app.post(CHAT, body(), session)
  expect([refused.status, repeated.status]).toEqual([429, 429])
  for (let asked = 0; asked < 2; asked++) await app.fetch('/s/one/_understudy/verify')
  await app.stop()
  const spans = collector.spans()
  expectValid(spans)
  const finding = only(spans, 'finding early-retry')
  const trace = refused.headers.get('x-understudy-trace')
  const shown = spans.find((span) => attributesOf(span)['understudy.trace'] === trace)
  expect(finding).toMatchObject({ traceId: CALLER.traceId, parentSpanId: shown?.spanId ?? 'none' })
  expect(eventsOf(finding)).toMatchObject([
    { name: 'understudy.finding', 'understudy.finding.kind': 'early-retry', 'understudy.finding.severity': 'error' },
  ])
})

test('telemetry: exports knowledge, guardrails and the cache as spans inside the call', async () => {
  const folder = emptyFolder()
  const seed = join(folder.path, 'seed.yaml')
  writeFileSync(join(folder.path, 'shop.md'), 'Parcels take three days to arrive in Germany.')
  writeFileSync(seed, 'knowledge: [{ key: help, documents: [{ file: shop.md, display_name: Shop }] }]\n')
  const app = appWith(collector.url, { seed_file: [seed] })
  const svc = {
    knowledge_bases: [{ knowledge_id: 'help' }],
    cache: { type: 'exact_match' },
  }
  const guardrails = ['input', 'output'].map((execute_on) => ({ id: GUARD, execute_on }))
  const messages = [{ role: 'user', content: 'How long do parcels take?' }]
  const ask = () => app.post(CHAT, body({ svc, guardrails, messages }))
  for (const answer of [await ask(), await ask()]) expect(answer.status).toBe(200)
  await app.stop()
  folder.remove()
  const spans = collector.spans()
  expectValid(spans)
  const inside = named(spans, `POST ${CHAT}`).map((server) =>
    spans.filter(({ parentSpanId }) => parentSpanId === server.spanId).map(({ name }) => name),
  )
  const checked = `guardrail ${GUARD}`
  const before = ['retrieval help', checked]
  expect(inside).toEqual([
    ['chat gpt-4o-mini', ...before, 'cache miss', checked],
    [...before, 'cache hit', checked],
  ])
  // They were one after the other, and each took its time.
  const [server] = named(spans, `POST ${CHAT}`)
  const [chat, search, input, cache, output] = spans.filter(({ parentSpanId }) => parentSpanId === server?.spanId)
  const times = [search, input, cache, chat, output].flatMap((span) => [startOf(span), endOf(span)])
  const inOrder = [startOf(server), ...times, endOf(server)]
  expect(inOrder).toEqual(inOrder.toSorted((one, other) => Number(one - other)))
  for (const span of [search, input, chat, output]) expect(endOf(span)).toBeGreaterThan(startOf(span))
  const [guard, retrieval] = [`guardrail ${GUARD}`, 'retrieval help'].map((name) => named(spans, name)[0])
  expect(guard && attributesOf(guard)).toMatchObject({
    'understudy.guardrail.stage': 'input',
    'understudy.guardrail.outcome': 'passed',
  })
  expect(retrieval && attributesOf(retrieval)).toEqual({
    'gen_ai.operation.name': 'retrieval',
    'gen_ai.data_source.id': 'help',
    'understudy.retrieval.chunks': 1,
  })
})

test('telemetry: exports an agent turn as one tree of iterations, model calls and tools', async () => {
  const app = appWith(collector.url)
  const one = agentSession(app)
  await one.begin([[{ name: 'current_date' }], 'Done.'])
  await one.agent({ settings: { tools: [{ type: 'current_date' }] } })
  await app.post('/v2/agents/helper/task', taskBody('Go.'), { ...one.headers, traceparent })
  await app.stop()
  const spans = collector.spans()
  expectValid(spans)
  const turn = only(spans, 'invoke_agent helper')
  expect(turn).toMatchObject({ traceId: CALLER.traceId, parentSpanId: CALLER.spanId, kind: 2 })
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([CALLER.traceId]))
  expect(attributesOf(turn)).toMatchObject({ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'helper' })
  const tree = (parent: CollectedSpan): unknown =>
    Object.fromEntries(
      spans.filter((span) => span.parentSpanId === parent.spanId).map((span) => [span.name, tree(span)]),
    )
  const model = { 'chat.completions': { 'chat gpt-4o': {} } }
  expect(tree(turn)).toEqual({
    'iteration 1': { ...model, 'execute_tool current_date': {} },
    'iteration 2': model,
  })
  // Each lies inside of what is around it, and a tool runs when its model has asked for it.
  const [first, second] = [only(spans, 'iteration 1'), only(spans, 'iteration 2')]
  const tool = only(spans, 'execute_tool current_date')
  const asked = spans.find(({ name, parentSpanId }) => name === 'chat.completions' && parentSpanId === first.spanId)
  const inOrder = [turn, first, asked].map(startOf).concat([endOf(asked), startOf(tool), endOf(tool)])
  inOrder.push(endOf(first), startOf(second), endOf(second), endOf(turn))
  expect(inOrder).toEqual(inOrder.toSorted((one, other) => Number(one - other)))
  expect(endOf(tool)).toBeGreaterThan(startOf(tool))
})

test('telemetry: exports no content unless requested', async () => {
  const call = async (content: boolean) => {
    collector.requests.length = 0
    const app = appWith(collector.url, {}, { content })
    await app.post(CHAT, body({ messages: [{ role: 'system', content: 'Be kind.' }, ...body().messages] }))
    await app.post(CHAT, body({ stream: true }))
    await app.post('/v2/router/responses', { model: 'openai/gpt-4o', input: `About ${SECRET}` })
    await app.post('/v2/router/completions', { model: 'openai/gpt-4o', prompt: `About ${SECRET}` })
    await app.post('/v2/router/embeddings', { model: 'openai/text-embedding-3-small', input: [`About ${SECRET}`] })
    await app.post(CHAT, body({ temperature: SECRET }))
    await app.stop()
    expectValid(collector.spans())
    return collector.spans()
  }
  expect(JSON.stringify(await call(false))).not.toContain(SECRET)
  const [first, ...others] = (await call(true)).map(attributesOf).filter((one) => 'gen_ai.input.messages' in one)
  const text = (content: string) => ({ type: 'text', content })
  expect(JSON.parse(String(first?.['gen_ai.input.messages']))).toEqual([
    { role: 'system', parts: [text('Be kind.')] },
    { role: 'user', parts: [text(`Tell me about ${SECRET}`)] },
  ])
  expect(JSON.parse(String(first?.['gen_ai.output.messages']))).toMatchObject([
    { role: 'assistant', parts: [{ type: 'text' }], finish_reason: 'stop' },
  ])
  expect(others.map((one) => String(one['gen_ai.input.messages']).includes(SECRET))).toEqual([true, true, true, true])
})

test('telemetry: derives ids from the seed on a virtual clock', async () => {
  const run = async (seed: number) => {
    collector.requests.length = 0
    const app = appWith(collector.url, { seed })
    await app.post(CHAT, body())
    await app.post(CHAT, body({ stream: true }))
    await app.stop()
    return collector.spans().map(({ traceId, spanId, parentSpanId, name }) => ({ traceId, spanId, parentSpanId, name }))
  }
  const first = await run(1)
  expect(first).toHaveLength(4)
  expect(await run(1)).toEqual(first)
  expect((await run(2))[0]?.traceId).not.toBe(first[0]?.traceId)
})

test('telemetry: does not join an unsampled or invalid trace of a caller', async () => {
  const app = appWith(collector.url)
  await app.post(CHAT, body(), { traceparent: traceparent.replace(/01$/, '00') })
  await app.post(CHAT, body(), { traceparent: `00-${'0'.repeat(32)}-${CALLER.spanId}-01` })
  await app.post(CHAT, body(), { traceparent: 'nonsense' })
  await app.stop()
  const spans = collector.spans()
  expectValid(spans)
  const servers = named(spans, `POST ${CHAT}`)
  expect(servers.map(({ parentSpanId }) => parentSpanId)).toEqual([undefined, undefined])
  expect(servers.map(({ traceId }) => traceId)).not.toContain(CALLER.traceId)
})
