// Forwarding through the gateway: beside fixtures, with retry and fallback, and without exposing a secret.
import { afterAll, describe, expect, test } from 'bun:test'
import { readForwarding } from '../../src/config/providers.ts'
import { createTestApp, eventsOf } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { at, HELLO, KEY, type ProviderEntry, startProvider } from '../support/forward.ts'

const CHAT = '/v2/router/chat/completions'
const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})
const provider = (answer: (request: Request) => Response | Promise<Response>) => {
  const started = startProvider(answer)
  stops.push(started.stop)
  return started
}
const appWith = (providers: Record<string, ProviderEntry>, backend: 'fixture' | 'forward' = 'fixture') => {
  const section = { value: providers, locationOf: () => '' }
  const app = createTestApp({ clock: 'real', forwarding: readForwarding({ section, backend, environment: {} }) })
  stops.push(app.close)
  return app
}

const completion = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm-2025' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'From afar.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 },
}
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const stream = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } })

test('forwarding: calls the server of a provider of any name, and fixtures answer all others', async () => {
  const local = provider(() => Response.json(completion))
  const app = appWith({ local: at(local.url), openai: { base_url: local.url } })
  const forwarded = await app.post(CHAT, { ...HELLO, model: 'local/llama' })
  expect(forwarded.json()).toEqual(completion)
  expect(await app.traceOf(forwarded)).toMatchObject({
    outcome: 'succeeded',
    fixture: null,
    generated: false,
    usage: completion.usage,
  })
  const answered = await app.post(CHAT, { ...HELLO, model: 'openai/gpt-4o' })
  expect(answered.headers.get('x-understudy-fixture')).toBe('generated')
  expect(local.seen).toHaveLength(1)
  expect(errorOf((await app.post(CHAT, { ...HELLO, model: 'nobody/m' })).text, 404).message).toContain('local')
})

test('forwarding: is off in fixture mode, even with a provider address', async () => {
  const { url, seen } = provider(() => Response.json(completion))
  const app = appWith({ openai: { base_url: url, api_key: KEY }, mine: { base_url: url, backend: 'fixture' } })
  expect(app.understudy).toMatchObject({ mode: 'fixture', about: 'fixture: cannot reach the network' })
  for (const model of ['openai/gpt-4o', 'mine/m', 'anthropic/claude-sonnet-4']) {
    expect((await app.post(CHAT, { ...HELLO, model })).status).toBe(200)
  }
  expect(seen).toEqual([])
})

test('forwarding: applies to all providers with --backend forward, which requires their keys', async () => {
  const { url } = provider(() => Response.json(completion))
  const app = appWith({ openai: at(url), google: { backend: 'fixture' } }, 'forward')
  const status = async (model: string) => (await app.post(CHAT, { ...HELLO, model })).text
  expect(JSON.parse(await status('openai/gpt-4o'))).toEqual(completion)
  expect(JSON.parse(await status('google/gemini-2.5-flash')).object).toBe('chat.completion')
  expect(errorOf(await status('groq/llama'), 400).message).toContain('set GROQ_API_KEY')
  expect(errorOf(await status('aws/nova'), 400).message).toContain('"aws/nova" are not forwarded')
})

describe('failing forwarded provider', () => {
  const failing = (status: number) => provider(() => Response.json({ error: { message: `no: ${KEY}` } }, { status }))
  const refusing = () => {
    const { url, stop } = startProvider(() => new Response())
    stop()
    return url
  }
  const rows: [string, () => string][] = [
    ['503', () => failing(503).url],
    ['429', () => failing(429).url],
    ['no connection', refusing],
  ]
  test.each(rows)('with %s leads to the fallback, here a fixture', async (_, url) => {
    const app = appWith({ mine: at(url()) })
    const answer = await app.post(CHAT, { ...HELLO, model: 'mine/m', fallbacks: [{ model: 'openai/gpt-4o' }] })
    expect({ status: answer.status, fallback: answer.headers.get('x-understudy-fallback') }).toEqual({
      status: 200,
      fallback: '1',
    })
    expect(JSON.stringify(await app.traceOf(answer))).not.toContain(KEY)
  })

  test('with 401 is reported without the key in the response and in the trace', async () => {
    const app = appWith({ mine: at(failing(401).url) })
    const answer = await app.post(CHAT, { ...HELLO, model: 'mine/m' })
    expect(errorOf(answer.text, 401).message).toBe('no: [key] (mine)')
    expect(JSON.stringify(await app.traceOf(answer))).not.toContain(KEY)
  })
})

describe('provider request id', () => {
  const rows: [string, Record<string, string>, string | null][] = [
    ['OpenAI', { 'x-request-id': 'req_1', 'cf-ray': 'ray-1' }, 'req_1'],
    ['Anthropic', { 'request-id': 'req_2' }, 'req_2'],
    ['Amazon', { 'x-amzn-requestid': 'req-3' }, 'req-3'],
    ['Azure', { 'apim-request-id': 'req-4' }, 'req-4'],
    ['a proxy', { 'cf-ray': 'ray-5' }, 'ray-5'],
    ['a provider without one', {}, null],
  ]
  test.each(rows)('of %s is in the error, its headers and the trace', async (_, headers, id) => {
    const { url } = provider(() => Response.json({ error: { message: 'busy' } }, { status: 529, headers }))
    const app = appWith({ mine: at(url), claude: at(url, { kind: 'anthropic' }) })
    for (const name of ['mine', 'claude']) {
      const answer = await app.post(CHAT, { ...HELLO, model: `${name}/m` })
      const who = id === null ? name : `${name}, request ${id}`
      expect(errorOf(answer.text, 529).message).toBe(`busy (${who})`)
      for (const [header, value] of Object.entries(headers)) expect(answer.headers.get(header)).toBe(value)
      expect((await app.traceOf(answer)).attempts).toMatchObject([{ request_id: id, error: `busy (${who})` }])
    }
  })

  test('of a response is in the trace', async () => {
    const { url } = provider(() => Response.json(completion, { headers: { 'x-request-id': 'req_6' } }))
    const app = appWith({ mine: at(url) })
    const answer = await app.post(CHAT, { ...HELLO, model: 'mine/m' })
    expect((await app.traceOf(answer)).attempts).toMatchObject([{ request_id: 'req_6', outcome: 'succeeded' }])
  })

  test('is named in an error inside a stream', async () => {
    const headers = { 'content-type': 'text/event-stream', 'x-request-id': 'req_7' }
    const text = `${chunk({ content: 'From ' })}data: {"error":{"message":"lost it"}}\n\n`
    const app = appWith({ mine: at(provider(() => new Response(text, { headers })).url) })
    const answer = await app.post(CHAT, { ...HELLO, model: 'mine/m', stream: true })
    expect(eventsOf(answer.text)).toMatchObject([{}, { error: { message: 'lost it (mine, request req_7)' } }])
  })

  test('is named in a stream error found by a model package', async () => {
    const headers = { 'content-type': 'text/event-stream', 'request-id': 'req_8' }
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const text = `event: error\ndata: ${JSON.stringify(overloaded)}\n\n`
    const app = appWith({ claude: at(provider(() => new Response(text, { headers })).url, { kind: 'anthropic' }) })
    const answer = await app.post(CHAT, { ...HELLO, model: 'claude/m', stream: true })
    expect(errorOf(answer.text, 529).message).toBe('Overloaded (claude, request req_8)')
    expect(answer.headers.get('request-id')).toBe('req_8')
    expect((await app.traceOf(answer)).attempts).toMatchObject([{ request_id: 'req_8' }])
  })
})

describe('virtual clock while forwarding', () => {
  const virtual = {
    name: 'night',
    clock: 'virtual',
    rules: [{ name: 'slow', fault: { type: 'http-error', status: 503 } }],
  }
  test('is rejected for a new session', async () => {
    const app = appWith({ mine: at('http://127.0.0.1:1') })
    const answer = await app.post('/_understudy/sessions', { name: 'a', clock: 'virtual' })
    const { code, message } = errorOf(answer.text, 400)
    expect(code).toBe('clock_not_possible')
    expect(message).toContain('does not wait for real providers, and calls to mine are forwarded')
    const { data } = (await app.fetch('/_understudy/sessions')).json() as { data: object[] }
    expect(data).toMatchObject([{ name: 'default', clock: { kind: 'real' }, scenario: null }])
  })

  const rows: [string, string, string, object][] = [
    ['is rejected for a new session', 'POST', '/_understudy/sessions', { name: 'a', scenario: virtual }],
    ['in the place of another scenario', 'PUT', '/s/a/_understudy/scenario', virtual],
  ]
  test.each(rows)('becomes a real clock for a scenario that requests one: %s', async (_, method, path, body) => {
    const app = appWith({ mine: at('http://127.0.0.1:1') })
    const headers = { 'content-type': 'application/json' }
    expect((await app.fetch(path, { method, headers, body: JSON.stringify(body) })).status).toBe(200)
    const session = (await app.fetch('/_understudy/sessions/a')).json()
    expect(session).toMatchObject({ clock: { kind: 'real' }, scenario: 'night' })
  })

  test('is allowed where fixtures answer everything', async () => {
    const app = appWith({})
    expect((await app.post('/_understudy/sessions', { name: 'a', clock: 'virtual' })).status).toBe(200)
  })
})

describe('forwarded gateway stream', () => {
  test('is passed on to its end, with the usage only in the trace', async () => {
    const usage = `data: ${JSON.stringify({ choices: [], usage: completion.usage })}\n\n`
    const text = `${chunk({ content: 'From ' })}${chunk({ content: 'afar.' }, 'stop')}${usage}data: [DONE]\n\n`
    const app = appWith({ mine: at(provider(() => stream(text)).url) })
    const answer = await app.post(CHAT, { ...HELLO, model: 'mine/m', stream: true })
    expect(eventsOf(answer.text)).toHaveLength(3)
    expect(answer.text).not.toContain('"usage":{')
    expect(await app.traceOf(answer)).toMatchObject({ outcome: 'succeeded', usage: completion.usage })
  })

  test('passes through a fault without the usage that was requested only for the trace', async () => {
    const usage = `data: ${JSON.stringify({ choices: [], usage: completion.usage })}\n\n`
    const text = `${chunk({ content: 'From ' })}${chunk({ content: 'afar.' }, 'stop')}${usage}data: [DONE]\n\n`
    const app = appWith({ mine: at(provider(() => stream(text)).url) })
    const rules = [{ name: 'split', fault: { type: 'split-bytes' } }]
    const scenario = JSON.stringify({ name: 'pieces', rules })
    expect((await app.fetch('/_understudy/scenario', { method: 'PUT', body: scenario })).status).toBe(200)
    const answer = await app.post(CHAT, { ...HELLO, model: 'mine/m', stream: true })
    expect(eventsOf(answer.text)).toHaveLength(3)
    expect(answer.text).not.toContain('"usage":{')
    expect(await app.traceOf(answer)).toMatchObject({ attempts: [{ faults: ['split'] }], usage: completion.usage })
  })

  test('is never reported as complete when it ends early', async () => {
    const app = appWith({ mine: at(provider(() => stream(chunk({ content: 'From ' }))).url) })
    const answer = await app.post(CHAT, { ...HELLO, model: 'mine/m', stream: true })
    expect(eventsOf(answer.text)).toMatchObject([{ choices: [{}] }, { error: { message: expect.any(String) } }])
    expect((await app.traceOf(answer)).outcome).toBe('disconnected')
  })
})

test('forwarded call: is canceled when the client disconnects', async () => {
  const arrived = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const { url } = provider((request) => {
    request.signal.addEventListener('abort', () => stopped.resolve())
    arrived.resolve()
    return new Promise(() => {})
  })
  const app = appWith({ mine: at(url) })
  const client = new AbortController()
  const body = JSON.stringify({ ...HELLO, model: 'mine/m', retry: { count: 5 } })
  const headers = { 'content-type': 'application/json' }
  const answer = app.fetch(CHAT, { method: 'POST', headers, body, signal: client.signal })
  await arrived.promise
  client.abort()
  await stopped.promise
  expect((await app.traceOf(await answer)).outcome).toBe('canceled')
})

test('forwarded audio call: sends the file', async () => {
  const sound = await Bun.file(`${import.meta.dir}/../support/media/silence.m4a`).bytes()
  const { url, last } = provider(() => Response.json({ text: 'Hello.' }))
  const app = appWith({ groq: at(url) })
  const form = new FormData()
  form.append('file', new File([sound], 'silence.m4a', { type: 'audio/mp4' }))
  form.append('model', 'groq/whisper-large-v3')
  const answer = await app.fetch('/v2/router/audio/translations', { method: 'POST', body: form })
  expect(answer.json()).toEqual({ text: 'Hello.' })
  expect(last().path).toBe('/audio/translations')
  const sent = await new Response(last().bytes, {
    headers: { 'content-type': last().headers['content-type'] ?? '' },
  }).formData()
  expect(await (sent.get('file') as File).bytes()).toEqual(sound)
})
