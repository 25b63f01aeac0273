// Forwarding to providers of the OpenAI family: their requests, and their response bytes unchanged.
import { afterAll, describe, expect, test } from 'bun:test'
import { at, attempt, backendOf, HELLO, KEY, operationOf, startProvider, textIn, valueIn } from '../support/forward.ts'

const stops: (() => unknown)[] = []
afterAll(async () => {
  for (const stop of stops) await stop()
})
const provider = (answer: (request: Request) => Response | Promise<Response>) => {
  const started = startProvider(answer)
  stops.push(started.stop)
  return started
}
const json = (text = '{ "odd":\n  "spacing" }') =>
  new Response(text, { headers: { 'content-type': 'application/json' } })

/** A body that every operation takes. */
const ANYTHING = { ...HELLO, input: 'x', prompt: 'x' }

describe('forwarded request', () => {
  const upstream = provider(() => json())
  const azure = { path: '/openai/deployments/m', query: '?api-version=2024-10-21' }
  const rows: [string, string, string, string][] = [
    // provider, base address, operation, path that is called
    ['openai', '/v1', 'chat.completions', '/v1/chat/completions'],
    ['openai', '/v1/', 'responses', '/v1/responses'],
    ['openai', '/v1', 'completions', '/v1/completions'],
    ['openai', '/v1', 'embeddings', '/v1/embeddings'],
    ['openai', '/v1', 'images.generations', '/v1/images/generations'],
    ['mine', '/some/where?tenant=7', 'chat.completions', '/some/where/chat/completions?tenant=7'],
    ['azure', '', 'chat.completions', `${azure.path}/chat/completions${azure.query}`],
    [
      'azure',
      '?api-version=2025-01-01-preview',
      'embeddings',
      `${azure.path}/embeddings?api-version=2025-01-01-preview`,
    ],
    ['azure', '', 'responses', '/openai/v1/responses'],
    ['azure', '/openai/v1', 'chat.completions', '/openai/v1/chat/completions'],
    ...[
      'groq',
      'mistral',
      'deepseek',
      'xai',
      'together',
      'fireworks',
      'openrouter',
      'perplexity',
      'ollama',
      'cohere',
    ].map((name): [string, string, string, string] => [name, '/v1', 'chat.completions', '/v1/chat/completions']),
  ]
  test.each(rows)('%s at %j: calls %s at %s with the key', async (name, base, operation, path) => {
    const backend = backendOf({ [name]: at(upstream.url + base) })
    await backend.answer(attempt(`${name}/m`, ANYTHING, { operation: operationOf(operation) }))
    const { headers, method, path: called } = upstream.last()
    expect({ method, called }).toEqual({ method: 'POST', called: path })
    expect(headers['content-type']).toBe('application/json')
    expect(headers['api-key']).toBe(name === 'azure' ? KEY : undefined)
    expect(headers.authorization).toBe(name === 'azure' ? undefined : `Bearer ${KEY}`)
  })

  test('names the model as the provider does', async () => {
    const backend = backendOf({ openrouter: at(upstream.url) })
    await backend.answer(attempt('openrouter/meta-llama/llama-3.3-70b'))
    expect(upstream.lastJson().model).toBe('meta-llama/llama-3.3-70b')
  })

  test("leaves out Understudy's own fields and sends all others unchanged", async () => {
    const ours = {
      svc: { retry: { count: 1 } },
      name: 'a name',
      fallbacks: [{ model: 'openai/gpt-4o' }],
      retry: { count: 2 },
      cache: { type: 'exact_match' },
      load_balancer: { type: 'weight_based', models: [{ model: 'openai/gpt-4o' }] },
      timeout: { call_timeout: 5 },
      identity: { id: 'somebody' },
      thread: { id: 'a thread' },
      variables: { a: 1 },
      template_engine: 'text',
      guardrails: [{ id: 'svc_pii_detection', execute_on: 'input' }],
      metadata: { a: 'b' },
    }
    const theirs = { ...HELLO, temperature: 0.25, seed: 7, reasoning_effort: 'low', unheard_of: { x: [1, null] } }
    await backendOf({ openai: at(upstream.url) }).answer(attempt('openai/o3', { ...ours, ...theirs }))
    expect(upstream.lastJson()).toEqual({ ...theirs, model: 'o3', stream: false })
  })

  test('keeps the metadata of a response', async () => {
    const metadata = { a: 'b' }
    const call = attempt('openai/m', { input: 'x', metadata }, { operation: operationOf('responses') })
    await backendOf({ openai: at(upstream.url) }).answer(call)
    expect(upstream.lastJson()).toMatchObject({ input: 'x', metadata, model: 'm' })
  })

  test('has no key for a provider without one', async () => {
    const backend = backendOf({ local: { base_url: upstream.url, backend: 'forward' } })
    await backend.answer(attempt('local/llama'))
    expect(upstream.last().headers).not.toHaveProperty('authorization')
  })

  test('has the key of the environment, or of a configured variable', async () => {
    const written = at(upstream.url, { api_key: `\${MY_KEY}` })
    const backend = backendOf(
      { openai: { base_url: upstream.url, backend: 'forward' }, mine: written },
      { OPENAI_API_KEY: 'usual', MY_KEY: ' own\n' },
    )
    await backend.answer(attempt('openai/m'))
    expect(upstream.last().headers.authorization).toBe('Bearer usual')
    await backend.answer(attempt('mine/m'))
    expect(upstream.last().headers.authorization).toBe('Bearer own')
  })

  test("is a form for a form, without Understudy's own fields", async () => {
    const file = new File(['sound'], 'talk.mp3', { type: 'audio/mpeg' })
    const ours = { enable_logging: true, diarize: false, tag_audio_events: true, timestamps_granularity: 'word' }
    const body = { file, prompt: 'names', temperature: 0.5, response_format: 'json', retry: { count: 1 }, ...ours }
    await backendOf({ groq: at(upstream.url) }).answer(
      attempt('groq/whisper-large-v3', body, { operation: operationOf('audio.translations') }),
    )
    const { path, text, headers } = upstream.last()
    expect(path).toBe('/audio/translations')
    const form = await new Response(text, { headers: { 'content-type': headers['content-type'] ?? '' } }).formData()
    const { file: sent, ...fields } = Object.fromEntries(form.entries()) as Record<string, unknown>
    expect(fields).toEqual({ model: 'whisper-large-v3', prompt: 'names', temperature: '0.5', response_format: 'json' })
    expect((sent as File).name).toBe('talk.mp3')
    expect(await (sent as File).text()).toBe('sound')
  })
})

describe('forwarded response', () => {
  test('has the received bytes and the meaningful headers', async () => {
    const headers = {
      'content-type': 'application/json',
      'x-ratelimit-remaining-requests': '59',
      'x-request-id': 'req_1',
      'openai-organization': 'acme',
      'set-cookie': 'a=b',
    }
    const { url } = provider(() => new Response('{ "odd":\n  "spacing" }', { headers }))
    const reply = await backendOf({ openai: at(url) }).answer(attempt('openai/m'))
    expect(await textIn(reply)).toBe('{ "odd":\n  "spacing" }')
    expect(reply).toMatchObject({ status: 200, fixture: null, generated: false, usage: null })
    expect(reply.headers).toEqual({
      'content-type': 'application/json',
      'x-ratelimit-remaining-requests': '59',
      'x-request-id': 'req_1',
    })
  })

  const errors: [number, Record<string, string>, string][] = [
    [400, { 'content-type': 'application/json' }, '{"error":{"message":"no such parameter"}}'],
    [401, { 'content-type': 'application/json', 'x-request-id': 'r' }, '{"error":{"message":"no"}}'],
    [429, { 'content-type': 'application/json', 'retry-after': '3', 'retry-after-ms': '2500' }, '{"error":{}}'],
    [503, { 'content-type': 'text/html' }, '<h1>down</h1>'],
    [500, {}, ''],
  ]
  test.each(errors)('of an error %d keeps its status, headers and body', async (status, headers, text) => {
    const { url } = provider(() => new Response(text || null, { status, headers }))
    const reply = await backendOf({ openai: at(url) }).answer(attempt('openai/m', { ...HELLO, stream: true }))
    expect({ status: reply.status, headers: reply.headers, text: await textIn(reply) }).toEqual({
      status,
      headers,
      text,
    })
  })

  test('of an error masks a repeated key', async () => {
    const { url } = provider(() => Response.json({ error: { message: `wrong key: ${KEY}` } }, { status: 401 }))
    const reply = await backendOf({ openai: at(url) }).answer(attempt('openai/m'))
    expect(await textIn(reply)).toBe('{"error":{"message":"wrong key: [key]"}}')
  })

  test('does not follow a redirect, which would get the key', async () => {
    const other = provider(() => json())
    const { url } = provider(() => Response.redirect(`${other.url}/v1`, 307))
    const reply = await backendOf({ openai: at(url) }).answer(attempt('openai/m'))
    expect(reply.status).toBe(502)
    expect(await textIn(reply)).toContain(other.url)
    expect(other.seen).toEqual([])
  })

  test('of subtitles and plain text is one JSON string', async () => {
    const { url } = provider(
      () => new Response('1\n00:00 --> 00:01\nhello\n', { headers: { 'content-type': 'text/plain' } }),
    )
    const body = { file: new File(['x'], 'a.mp3'), response_format: 'srt' }
    const call = attempt('openai/whisper-1', body, { operation: operationOf('audio.translations') })
    const reply = await backendOf({ openai: at(url) }).answer(call)
    expect(valueIn<string>(reply)).toBe('1\n00:00 --> 00:01\nhello\n')
    expect(reply.headers).toEqual({})
  })
})

describe('forwarding', () => {
  const { url, seen } = provider(() => json())
  const rows: [string, Parameters<typeof backendOf>[0], string, string, RegExp][] = [
    // what, providers, model, operation, message
    [
      'a missing key',
      { openai: { backend: 'forward' } },
      'openai/m',
      'chat.completions',
      /needs a key: set OPENAI_API_KEY/,
    ],
    ['a missing variable', { mine: at(url, { api_key: `\${NO_SUCH}` }) }, 'mine/m', 'chat.completions', /set NO_SUCH/],
    [
      'an operation that the provider lacks',
      { perplexity: { api_key: KEY, backend: 'forward' }, mine: at(url), groq: { backend: 'forward' } },
      'perplexity/m',
      'embeddings',
      /perplexity does not support embeddings; of those forwarded to, mine can/,
    ],
    ['an operation that no provider has', { anthropic: at(url) }, 'anthropic/m', 'images.generations', /none of those/],
    ['a provider that is not forwarded to', { mine: at(url) }, 'aws/m', 'chat.completions', /not one of mine/],
  ]
  test.each(rows)('rejects %s with 400', async (_, providers, model, operation, message) => {
    const refused = await backendOf(providers)
      .answer(attempt(model, ANYTHING, { operation: operationOf(operation) }))
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ status: 400, message: expect.stringMatching(message) })
    expect(seen).toEqual([])
  })
})
