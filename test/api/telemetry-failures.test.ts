// A collector that fails in any way delays no call: spans that it does not accept are counted, and reported once.
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { AUTHORITY, ELSEWHERE, EXPIRED, HERE, OTHER_AUTHORITY, SERVER_KEY } from '../support/certificates.ts'
import { exportingApp } from '../support/collector.ts'
import { emptyFolder } from '../support/server.ts'

const CHAT = '/v2/router/chat/completions'
const body = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }
/** Spans of a call. */
const SPANS = 2

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** A collector that answers as it is told, and an application that exports to it. */
function collectorThat(answer: (request: Request, number: number) => Response | Promise<Response>, more = {}) {
  const seen: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      seen.push(await request.text())
      return answer(request, seen.length)
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  const app = exportingApp(url, {}, more)
  ends.push(
    () => app.close(),
    () => void server.stop(true),
  )
  const counts = async () => ((await app.fetch('/_understudy/health')).json() as { telemetry: object }).telemetry
  /** Waits until the collector has been asked so many times. */
  const asked = async (times: number) => {
    while (seen.length < times) await Bun.sleep(5)
  }
  return { app, seen, url, counts, asked }
}
const call = async ({ app }: ReturnType<typeof collectorThat>) => expect((await app.post(CHAT, body)).status).toBe(200)

describe('spans that a collector does not accept', () => {
  const hang = () => new Promise<Response>(() => {})
  const elsewhere = () => new Response(null, { status: 307, headers: { location: 'http://127.0.0.1:9/v1/traces' } })
  const rows: [string, () => Response | Promise<Response>, object, string][] = [
    ['500', () => new Response('no', { status: 500 }), {}, 'it returns 500'],
    ['400', () => new Response('no', { status: 400 }), {}, 'it returns 400'],
    ['a redirect', elsewhere, {}, 'it returns 307, a redirect, which is not followed'],
    [
      'an HTML page of a proxy',
      () => new Response('<h1>Log in</h1>', { headers: { 'content-type': 'text/html; charset=utf-8' } }),
      {},
      'it returns 200 with a page (text/html), as no collector does',
    ],
    ['a collector that hangs', hang, { timeout: 20 }, 'no response within 20 ms'],
  ]
  test.each(rows)('are dropped, counted and reported once: %s', async (_, answer, more, problem) => {
    const collector = collectorThat(answer, more)
    await call(collector)
    await call(collector)
    await collector.app.stop()
    expect(await collector.counts()).toEqual({
      url: `${collector.url}/v1/traces`,
      exported: 0,
      dropped: 2 * SPANS,
      waiting: 0,
      problem,
    })
    expect(collector.app.said[0]).toContain(`takes no traces: ${problem}`)
    expect(collector.app.said.filter((line) => line.includes('takes no traces'))).toHaveLength(1)
  })
})

test('collector: may answer anything and close at any time after it accepted a batch', async () => {
  const garbage = [
    '',
    'not JSON',
    '[]',
    'null',
    '{"partialSuccess":null}',
    '{"partialSuccess":{"rejectedSpans":"many"}}',
  ]
  for (const text of garbage) {
    const collector = collectorThat(() => new Response(text))
    await call(collector)
    await collector.app.stop()
    expect([text, collector.app.telemetry.counts()]).toMatchObject([
      text,
      { exported: SPANS, dropped: 0, problem: null },
    ])
  }
})

test('collector: counts as failed when it closes in the middle of its response', async () => {
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"partial') },
  })
  const app = exportingApp(`http://127.0.0.1:${listener.port}`)
  ends.push(
    () => app.close(),
    () => listener.stop(true),
  )
  expect((await app.post(CHAT, body)).status).toBe(200)
  await app.stop()
  const { exported, dropped, problem } = app.telemetry.counts()
  expect([exported, dropped]).toEqual([0, SPANS])
  expect(problem).toContain('the connection failed (')
  expect(app.said.filter((line) => line.includes('takes no traces'))).toHaveLength(1)
})

test('collector: counts as having accepted nothing when it rejects more than it received', async () => {
  const collector = collectorThat(() => Response.json({ partialSuccess: { rejectedSpans: 1e6 } }))
  await call(collector)
  await collector.app.stop()
  expect(await collector.counts()).toMatchObject({ exported: 0, dropped: SPANS })
})

describe('collector certificate', () => {
  const folder = emptyFolder()
  afterAll(folder.remove)
  const file = (name: string, text: string) => {
    const path = join(folder.path, name)
    writeFileSync(path, text)
    return path
  }
  const [authority, other] = [file('authority.pem', AUTHORITY), file('other.pem', OTHER_AUTHORITY)]
  const damaged = file('damaged.pem', AUTHORITY.replaceAll('A', 'B'))
  const UNTRUSTED = 'its certificate is not trusted; OTEL_EXPORTER_OTLP_CERTIFICATE names the file of its authority ('
  const rows: [string, { cert: string; trusted?: string }, string | null][] = [
    ['of a configured authority', { cert: HERE, trusted: authority }, null],
    ['of an unknown authority', { cert: HERE }, UNTRUSTED],
    ['of another authority', { cert: HERE, trusted: other }, UNTRUSTED],
    ['expired', { cert: EXPIRED, trusted: authority }, 'its certificate has expired ('],
    ['of another host', { cert: ELSEWHERE, trusted: authority }, 'its certificate is of another host ('],
  ]
  test.each(rows)('is trusted or rejected when it is %s', async (_, { cert, trusted }, problem) => {
    const tls = { cert, key: SERVER_KEY }
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, tls, fetch: () => Response.json({}) })
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `https://127.0.0.1:${server.port}`,
      ...(trusted !== undefined && { OTEL_EXPORTER_OTLP_CERTIFICATE: trusted }),
    }
    const app = exportingApp('http://unused', {}, readConfig({ otlp: 'env' }, environment).telemetry)
    ends.push(
      () => app.close(),
      () => void server.stop(true),
    )
    expect((await app.post(CHAT, body)).status).toBe(200)
    await app.stop()
    const counts = app.telemetry.counts()
    expect([counts.exported, counts.dropped]).toEqual(problem === null ? [SPANS, 0] : [0, SPANS])
    if (problem === null) return expect(app.said).toEqual([])
    expect(counts.problem).toContain(problem)
    expect(app.said.filter((line) => line.includes(problem))).toHaveLength(1)
  })

  test('is rejected at the start when the file contains no valid one', () => {
    const environment = { OTEL_EXPORTER_OTLP_CERTIFICATE: damaged }
    expect(() => readConfig({ otlp: 'env' }, environment)).toThrow(
      `OTEL_EXPORTER_OTLP_CERTIFICATE ${JSON.stringify(damaged)} contains no valid certificate`,
    )
  })
})

test('telemetry: drops and counts spans when nothing listens at the address', async () => {
  const app = exportingApp('http://127.0.0.1:9')
  ends.push(() => app.close())
  expect((await app.post(CHAT, body)).status).toBe(200)
  await app.stop()
  expect(app.telemetry.counts()).toMatchObject({
    exported: 0,
    dropped: SPANS,
    waiting: 0,
    problem: expect.stringContaining('connection refused ('),
  })
})

test('telemetry: repeats a batch after a 429 and its wait, and spans arrive once', async () => {
  const busy = () => new Response('later', { status: 429, headers: { 'retry-after': '0' } })
  const collector = collectorThat((_, number) => (number <= 2 ? busy() : Response.json({})))
  await call(collector)
  await collector.asked(3)
  await collector.app.stop()
  const [first, second, third] = collector.seen
  expect([second, third]).toEqual([first, first])
  expect(collector.app.telemetry.counts()).toMatchObject({ exported: SPANS, dropped: 0, waiting: 0, problem: null })
  expect(collector.app.said.map((line) => /takes (no traces|traces again)/.exec(line)?.[1])).toEqual([
    'no traces',
    'traces again',
  ])
})

test("telemetry: does not wait for a collector's long retry time at the end", async () => {
  const busy = () => new Response('later', { status: 503, headers: { 'retry-after': '86400' } })
  const collector = collectorThat(busy)
  await call(collector)
  while (collector.app.telemetry.counts().problem === null) await Bun.sleep(5)
  await collector.app.stop()
  // It was tried once more, at once.
  expect(collector.seen).toHaveLength(2)
  expect(collector.app.telemetry.counts()).toMatchObject({ exported: 0, dropped: SPANS, waiting: 0 })
})

test('telemetry: waits at the end for a collector that hangs, no longer than configured', async () => {
  const collector = collectorThat(() => new Promise<Response>(() => {}))
  await call(collector)
  await collector.app.stop(30)
  expect(collector.app.telemetry.counts()).toMatchObject({ exported: 0, dropped: SPANS, waiting: 0 })
  expect(collector.app.said.at(-1)).toContain(`has not taken the last ${SPANS} spans`)
})

test('telemetry: counts spans that a collector rejects as dropped', async () => {
  const collector = collectorThat(() =>
    Response.json({ partialSuccess: { rejectedSpans: '1', errorMessage: 'too old' } }),
  )
  await call(collector)
  await collector.app.stop()
  expect(collector.app.telemetry.counts()).toMatchObject({
    exported: SPANS - 1,
    dropped: 1,
    problem: 'it rejected 1 spans: too old',
  })
})

test('telemetry: bounds its queue, drops what does not fit, and calls continue', async () => {
  const collector = collectorThat(() => new Promise<Response>(() => {}))
  const { telemetry, understudy } = collector.app
  const trace = await collector.app.traceOf(await collector.app.post(CHAT, body))
  const CALLS = 20_000
  for (let seq = 2; seq < CALLS + 2; seq++)
    understudy.observers.notify({ type: 'trace-saved', session: 'default', seq, trace })
  await collector.asked(1)
  const { waiting, dropped } = telemetry.counts()
  expect(waiting).toBeLessThan(40_000)
  expect(waiting + dropped).toBe(SPANS * (CALLS + 1))
  await call(collector)
  await collector.app.stop(0)
  expect(telemetry.counts()).toMatchObject({ exported: 0, waiting: 0, dropped: SPANS * (CALLS + 2) })
})

/** Reports calls to the observers at once, each with a trace of its own. */
async function burst({ app }: ReturnType<typeof collectorThat>, calls: number) {
  const { observers } = app.understudy
  const first = await app.traceOf(await app.post(CHAT, body))
  for (let seq = 2; seq < calls + 2; seq++) {
    const trace = { ...first, id: `01M8224V95NXTE6P2C${String(seq).padStart(8, '0')}` }
    const { session, operation } = trace
    observers.notify({ type: 'call-begun', session, trace: trace.id, operation, parent: null })
    observers.notify({ type: 'trace-saved', session, seq, trace })
  }
}

test('telemetry: exports every call of a burst', async () => {
  const collector = collectorThat(() => Response.json({}))
  const CALLS = 2_000
  await burst(collector, CALLS)
  await collector.app.stop()
  expect(collector.app.telemetry.counts()).toMatchObject({ exported: SPANS * (CALLS + 1), dropped: 0, waiting: 0 })
})

test('telemetry: drops whole calls that do not fit in the queue, counts them and exports the others', async () => {
  const collector = collectorThat(() => Response.json({}))
  const { telemetry } = collector.app
  const CALLS = 20_000
  await burst(collector, CALLS)
  const { dropped } = telemetry.counts()
  expect(dropped).toBeGreaterThan(0)
  expect(telemetry.counts().waiting).toBeLessThanOrEqual(32_768)
  // A busy machine takes longer than the usual ten seconds, after which the rest would be dropped.
  await collector.app.stop(60_000)
  const counts = telemetry.counts()
  expect(counts.dropped).toBe(dropped)
  expect(counts).toMatchObject({ exported: SPANS * (CALLS + 1) - dropped, waiting: 0, problem: null })
  const spans = collector.seen.flatMap((text) => text.match(/"parentSpanId"|"understudy.trace"/g) ?? [])
  expect(spans).toHaveLength(counts.exported)
})

test('telemetry: never counts fewer dropped spans than before', async () => {
  const collector = collectorThat(() => new Response('no', { status: 500 }))
  await burst(collector, 20_000)
  let { dropped } = collector.app.telemetry.counts()
  const stopped = collector.app.stop().then(() => true)
  while (!(await Promise.race([stopped, Bun.sleep(1)]))) {
    const now = collector.app.telemetry.counts()
    expect(now.dropped).toBeGreaterThanOrEqual(dropped)
    dropped = now.dropped
  }
  expect(collector.app.telemetry.counts()).toMatchObject({ exported: 0, dropped: SPANS * 20_001, waiting: 0 })
})

test('telemetry: sends name and password of an address as a header and shows them nowhere', async () => {
  let authorization: string | null = null
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      authorization = request.headers.get('authorization')
      return new Response('no', { status: 401 })
    },
  })
  const app = exportingApp(`http://public:s3cret@127.0.0.1:${server.port}/api/otel`)
  ends.push(
    () => app.close(),
    () => void server.stop(true),
  )
  await app.post(CHAT, body)
  await app.stop()
  expect(authorization as unknown).toBe(`Basic ${btoa('public:s3cret')}`)
  const shown = JSON.stringify([app.said, app.telemetry.counts()])
  expect(shown).toContain(`http://127.0.0.1:${server.port}/api/otel/v1/traces`)
  expect(shown).not.toContain('s3cret')
})

describe('OTEL environment variables', () => {
  const folder = emptyFolder()
  afterAll(folder.remove)
  const read = (environment: Record<string, string>) => readConfig({ otlp: 'env' }, environment).telemetry

  test('apply only when requested', () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example:4318' }
    expect(readConfig({}, environment).telemetry).toBeUndefined()
    expect(readConfig({ otlp: 'http://localhost:1' }, environment).telemetry?.url).toBe('http://localhost:1/v1/traces')
    expect(read(environment)?.url).toBe('http://collector.example:4318/v1/traces')
  })

  test('set address, headers and content', () => {
    expect(read({})).toMatchObject({ url: 'http://localhost:4318/v1/traces', timeout: 10_000, content: false })
    expect(
      read({
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector.example/own/path',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-team=a%20b, x-key=1',
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-key=2',
        OTEL_EXPORTER_OTLP_TIMEOUT: '500',
        OTEL_SERVICE_NAME: 'stand-in',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=ci',
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.25',
      }),
    ).toEqual({
      url: 'https://collector.example/own/path',
      shown: 'https://collector.example/own/path',
      headers: { 'x-team': 'a b', 'x-key': '2' },
      timeout: 500,
      tls: undefined,
      resource: { 'deployment.environment.name': 'ci', 'service.name': 'stand-in' },
      content: true,
      sampling: { ratio: 0.25, ofAll: false },
    })
    expect(read({ OTEL_SDK_DISABLED: 'true' })).toBeUndefined()
    expect(read({ OTEL_TRACES_EXPORTER: 'none' })).toBeUndefined()
  })

  const text = join(folder.path, 'text.pem')
  writeFileSync(text, 'no certificate')
  const mistakes: [Record<string, string>, string][] = [
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
      'OTEL_EXPORTER_OTLP_ENDPOINT must be an address such as http://localhost:4318, got "collector:4318"',
    ],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL must be http/json'],
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER must be otlp or none, got "zipkin"'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, 'OTEL_EXPORTER_OTLP_HEADERS must be pairs'],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '10s' }, 'OTEL_EXPORTER_OTLP_TIMEOUT must be milliseconds such as 10000, got "10s"'],
    [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, ', got "jaeger_remote"'],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' }, ', got "2"'],
    [{ OTEL_EXPORTER_OTLP_CERTIFICATE: join(folder.path, 'none.pem') }, 'none.pem" cannot be read'],
    [{ OTEL_EXPORTER_OTLP_CERTIFICATE: text }, 'text.pem" contains no PEM certificate or key'],
  ]
  test.each(mistakes.map(([environment, message]) => [message, environment] as const))(
    'are rejected when invalid: %s',
    (message, environment) => {
      expect(() => read(environment)).toThrow(message)
    },
  )

  test('do not excuse an invalid address, which is rejected at the start', () => {
    const valid = 'must be an address such as http://localhost:4318, or env'
    expect(() => readConfig({ otlp: 'localhost:4318' }, {})).toThrow(`--otlp ${valid}, got "localhost:4318"`)
    expect(() => readConfig({}, { UNDERSTUDY_OTLP: 'grpc://x' })).toThrow(`UNDERSTUDY_OTLP ${valid}, got "grpc://x"`)
  })
})
