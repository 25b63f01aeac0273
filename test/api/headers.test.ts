// The headers of every response: a request id, and texts that any client can read, however long or strange they were.
import { afterAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { accepted } from '../support/accepted.ts'
import { createTestApp, send, type TestApp, testApps } from '../support/app.ts'
import { formOf } from '../support/translations.ts'

const CHAT = '/v2/router/chat/completions'
const body = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'hello' }] }
const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

const MAX_COUNT = 1_024
/** Holds every header to what all clients can take: visible ASCII, of a length that fits. */
function expectSound(headers: Headers): void {
  for (const [name, value] of headers) {
    expect([name, value]).toEqual([name, expect.stringMatching(/^[\x20-\x7e]*$/)])
    expect([name, value.length <= MAX_COUNT]).toEqual([name, true])
  }
}

describe('x-request-id', () => {
  test('is the trace id of a router call, whole, streamed and on errors', async () => {
    for (const sent of [body, { ...body, stream: true }, { ...body, temperature: 9 }, '{']) {
      const { headers } = await app.post(CHAT, sent)
      expect(headers.get('x-request-id')).toBe(headers.get('x-understudy-trace'))
      expect(headers.get('x-request-id')).not.toBeNull()
    }
  })

  const rows: [string, RequestInit][] = [
    ['/_understudy/health', {}],
    ['/v2/datasets', {}],
    ['/v2/datasets/none', {}],
    ['/swagger', {}],
    ['/swagger/json', {}],
    ['/nothing', {}],
    ['/v2/nothing', {}],
    [CHAT, {}],
    [CHAT, { method: 'POST', headers: { origin: 'http://evil.example' } }],
    ['/_understudy/health', { headers: { host: 'evil.example' } }],
    ['/_understudy/health', { method: 'OPTIONS' }],
    ['/_understudy/traces', { headers: { 'x-understudy-session': '../x' } }],
  ]
  test.each(rows)('is sent with the response of %s %j', async (path, init) => {
    const headers = { authorization: 'Bearer any', ...(init.headers as Record<string, string>) }
    const ids = [await send(app, path, { ...init, headers }), await send(app, path, { ...init, headers })]
    const [one, two] = ids.map((answer) => answer.headers.get('x-request-id'))
    expect(one).toMatch(/^[\w-]{20,40}$/)
    expect(two).not.toBe(one as string)
  })

  test('repeats when the same calls are made to a new server', async () => {
    const ids = async (target: TestApp) => {
      const seen: (string | null)[] = []
      for (const path of ['/v2/datasets', '/nothing', '/_understudy/traces'])
        seen.push((await target.fetch(path)).headers.get('x-request-id'))
      return seen
    }
    expect(await ids(appWith())).toEqual(await ids(appWith()))
  })

  test('is the trace id when a fault answers', async () => {
    const mine = appWith()
    const rules = [{ name: 'r', at: 'gateway', fault: { type: 'http-error', status: 429 } }]
    await accepted(
      mine.fetch('/_understudy/scenario', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'mine', rules }),
      }),
    )
    const { status, headers } = await mine.post(CHAT, body)
    expect(status).toBe(429)
    expect(headers.get('x-request-id')).toBe(headers.get('x-understudy-trace'))
  })

  test('is what the OpenAI SDK calls the request id', async () => {
    const client = new OpenAI({
      apiKey: 'any',
      baseURL: 'http://localhost/v2/router',
      fetch: (url, init) => app.understudy.app.fetch(new Request(url as string, init as RequestInit)),
    })
    const answer = await client.chat.completions.create(body as OpenAI.ChatCompletionCreateParamsNonStreaming)
    const found = await app.fetch(`/_understudy/traces/${answer._request_id}`)
    expect(found.status).toBe(200)
  })

  test('can be read by a page of an allowed origin', async () => {
    const origin = 'http://localhost:3000'
    const { headers } = await appWith({ cors: [origin] }).post(CHAT, body, { origin })
    const exposed = (headers.get('access-control-expose-headers') ?? '').split(', ')
    for (const name of ['x-request-id', 'x-understudy-trace', 'x-understudy-model', 'retry-after'])
      expect(exposed).toContain(name)
  })
})

describe('text echoed in a header', () => {
  const TEXTS: [string, string][] = [
    ['of 70,000 characters', 'x'.repeat(70_000)],
    ['in Japanese', '日本語'],
    ['with Latin-1 characters', 'é'.repeat(2_000)],
    ['with line breaks', 'a\r\nx-injected: 1'],
    ['with control characters', 'a\u0000b\u007f\u001b[31m'],
    ['with emoji', '😀'.repeat(800)],
  ]
  const rows = TEXTS.map(([name, text]) => [name, text] as const)

  test.each(rows)('is bounded ASCII for a model %s', async (_, text) => {
    for (const path of [CHAT, '/v2/router/embeddings', '/v2/router/responses']) {
      const sent = path === CHAT ? body : { input: 'hello' }
      const answer = await app.post(path, { ...sent, model: `openai/${text}` })
      expect([200, 400]).toContain(answer.status)
      expectSound(answer.headers)
      if (answer.status === 200) expect((await app.traceOf(answer)).model).toBe(`openai/${text}`)
    }
  })

  test.each(rows)('is bounded ASCII for a trace id %s', async (_, text) => {
    const feedback = { property: 'rating', value: ['good'], trace_id: text, product: 'router' }
    const answer = await app.post('/v2/feedback', feedback)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-understudy-warning')).toContain('there is no trace')
    expectSound(answer.headers)
  })

  test.each(rows)('is bounded ASCII for a rule name %s', async (_, text) => {
    const mine = appWith()
    for (const at of ['provider', 'gateway', 'workspace']) {
      const rules = [{ name: `rule ${text}`, at, fault: { type: 'http-error', status: 429, message: text } }]
      const put = await mine.fetch('/_understudy/scenario', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'mine', rules }),
      })
      expect([200, 400]).toContain(put.status)
      const answer = at === 'workspace' ? await mine.fetch('/v2/tools') : await mine.post(CHAT, body)
      if (put.status === 200) expect(answer.status).toBe(429)
      expectSound(answer.headers)
    }
  })

  test.each(rows)('is bounded ASCII for a fixture name %s', async (_, text) => {
    const mine = appWith()
    const fixtures = [{ name: `f ${text}`, match: { operation: 'chat.completions' }, reply: { content: 'fixed' } }]
    const made = await mine.post('/_understudy/sessions', { name: 'named', fixtures })
    expect([200, 400]).toContain(made.status)
    const answer = await mine.post(CHAT, body, { 'x-understudy-session': 'named' })
    expect(answer.status).toBe(200)
    expectSound(answer.headers)
  })

  test.each(rows)('is bounded ASCII for a file type %s', async (_, text) => {
    const mine = appWith()
    const file = new File(['abc'], 'a.bin', { type: 'application/octet-stream' })
    const uploaded = await mine.fetch('/v2/files', { method: 'POST', body: formOf({ file, purpose: 'retrieval' }) })
    expect(uploaded.status).toBe(200)
    const snapshot = (await mine.fetch('/_understudy/snapshot')).json() as {
      tables: { records: Record<string, unknown>[] }
    }
    for (const { kind, body: record } of snapshot.tables.records)
      if (kind === 'file') Object.assign(record as object, { content_type: text })
    expect((await mine.post('/_understudy/snapshot', snapshot)).status).toBe(200)
    const content = await mine.fetch(`/v2/files/${uploaded.json()._id}/content`)
    expect([content.status, content.text]).toEqual([200, 'abc'])
    expectSound(content.headers)
  })

  test('is bounded ASCII for the requested headers and the origin of a page', async () => {
    const open = appWith({ cors: ['*'] })
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x'.repeat(9_000) }
    for (const origin of ['http://localhost:3000', `http://${'x'.repeat(9_000)}.example`]) {
      const { headers } = await send(open, CHAT, { method: 'OPTIONS', headers: { origin, ...asked } })
      expectSound(headers)
    }
  })
})

test('error headers: are kept whatever the name of the model', async () => {
  const mine = createTestApp({ on_unmatched: 'error' })
  const answer = await mine.post(CHAT, {
    messages: [{ role: 'user', content: 'nobody has a fixture for it' }],
    model: 'openai/日本語',
  })
  expect(answer.status).toBe(404)
  expectSound(answer.headers)
  mine.close()
})
