// Forwarding to providers of the OpenAI family: what they are sent, and their bytes coming back as they are.
import { afterAll, describe, expect, test } from 'bun:test'
import { ConnectionFailure } from '../src/contract/reply.ts'
import {
  at,
  attempt,
  backendOf,
  HELLO,
  KEY,
  operationOf,
  readerOf,
  startBreaking,
  startProvider,
  textIn,
  valueIn,
} from './support/forward.ts'

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

describe('the request', () => {
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
  test.each(rows)('%s at %j: %s calls %s with the key', async (name, base, operation, path) => {
    const backend = backendOf({ [name]: at(upstream.url + base) })
    const body = operation === 'chat.completions' ? HELLO : { input: 'x' }
    await backend.answer(attempt(`${name}/m`, body, { operation: operationOf(operation) }))
    const { headers, method, path: called } = upstream.last()
    expect({ method, called }).toEqual({ method: 'POST', called: path })
    expect(headers['content-type']).toBe('application/json')
    expect(headers['api-key']).toBe(name === 'azure' ? KEY : undefined)
    expect(headers.authorization).toBe(name === 'azure' ? undefined : `Bearer ${KEY}`)
  })

  test('the model is named as the provider names it', async () => {
    const backend = backendOf({ openrouter: at(upstream.url) })
    await backend.answer(attempt('openrouter/meta-llama/llama-3.3-70b'))
    expect(upstream.lastJson().model).toBe('meta-llama/llama-3.3-70b')
  })

  test('our own fields stay here, all others are sent as they are', async () => {
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

  test('metadata of a response is kept with it', async () => {
    const metadata = { a: 'b' }
    const call = attempt('openai/m', { input: 'x', metadata }, { operation: operationOf('responses') })
    await backendOf({ openai: at(upstream.url) }).answer(call)
    expect(upstream.lastJson()).toEqual({ input: 'x', metadata, model: 'm' })
  })

  test('a provider without a key gets none', async () => {
    const backend = backendOf({ local: { base_url: upstream.url, backend: 'forward' } })
    await backend.answer(attempt('local/llama'))
    expect(upstream.last().headers).not.toHaveProperty('authorization')
  })

  test('the key is that of the environment when none is written, or the variable that is', async () => {
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

  test('a form is sent as a form, less our own fields', async () => {
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

describe('the answer', () => {
  test('is the bytes that came, with the headers that say something', async () => {
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
    expect(reply).toMatchObject({ status: 200, fixture: null, synthesized: false, usage: null })
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
  test.each(errors)('an error %d keeps its status, headers and body', async (status, headers, text) => {
    const { url } = provider(() => new Response(text || null, { status, headers }))
    const reply = await backendOf({ openai: at(url) }).answer(attempt('openai/m', { ...HELLO, stream: true }))
    expect({ status: reply.status, headers: reply.headers, text: await textIn(reply) }).toEqual({
      status,
      headers,
      text,
    })
  })

  test('an error that repeats the key is shown without it', async () => {
    const { url } = provider(() => Response.json({ error: { message: `wrong key: ${KEY}` } }, { status: 401 }))
    const reply = await backendOf({ openai: at(url) }).answer(attempt('openai/m'))
    expect(await textIn(reply)).toBe('{"error":{"message":"wrong key: [key]"}}')
  })

  test('a redirect is not followed: the key would go with it', async () => {
    const other = provider(() => json())
    const { url } = provider(() => Response.redirect(`${other.url}/v1`, 307))
    const reply = await backendOf({ openai: at(url) }).answer(attempt('openai/m'))
    expect(reply.status).toBe(502)
    expect(await textIn(reply)).toContain(other.url)
    expect(other.seen).toEqual([])
  })

  test('subtitles and plain text come as one JSON string', async () => {
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

describe('a stream', () => {
  const streaming = { ...HELLO, stream: true }
  const headers = { 'content-type': 'text/event-stream' }
  const event = (content: string) => `data: {"choices":[{"index":0,"delta":{"content":"${content}"}}],"usage":null}\n\n`
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
  const counts = `data: ${JSON.stringify({ choices: [], usage })}\n\n`
  const DONE = 'data: [DONE]\n\n'

  test('passes each event on when it comes', async () => {
    // The provider sends an event only once the one before it has been read.
    const texts = ['one', 'two', 'three']
    const gates = texts.map(() => Promise.withResolvers<void>())
    const { url } = provider(() => {
      async function* body() {
        for (const [index, text] of texts.entries()) {
          await gates[index]?.promise
          yield event(text)
        }
      }
      return new Response(body() as unknown as BodyInit, { headers })
    })
    const answer = backendOf({ openai: at(url) }).answer(attempt('openai/m', streaming))
    gates[0]?.resolve()
    const reply = await answer
    expect(reply.headers['content-type']).toStartWith('text/event-stream')
    const reader = readerOf(reply)
    for (const [index, text] of texts.entries()) {
      expect(await reader.next()).toBe(event(text))
      gates[index + 1]?.resolve()
    }
    expect(await reader.next()).toBeUndefined()
  })

  /** The pieces in which the provider sends a stream. */
  const cuts: [string, (text: string) => string[]][] = [
    ['in one piece', (text) => [text]],
    ['event by event', (text) => text.split(/(?<=\n\n)/)],
    ['in pieces of 7 characters', (text) => text.match(/[\s\S]{1,7}/g) ?? []],
    ['with line ends of Windows', (text) => text.replaceAll('\n', '\r\n').match(/[\s\S]{1,11}/g) ?? []],
  ]
  const streamOf = (pieces: string[]) => {
    async function* body() {
      for (const piece of pieces) yield piece
    }
    return new Response(body() as unknown as BodyInit, { headers })
  }
  describe.each(cuts)('that comes %s', (_, cut) => {
    const whole = event('Grüße') + event('zwei') + counts + DONE
    const upstream = provider(() => streamOf(cut(whole)))
    const backend = backendOf({ openai: at(upstream.url), mistral: at(upstream.url) })
    const unix = (text: string) => text.replaceAll('\r\n', '\n')

    test('is asked for its usage, which a client that did not ask does not see', async () => {
      const reply = await backend.answer(attempt('openai/m', streaming))
      expect(upstream.lastJson().stream_options).toEqual({ include_usage: true })
      expect(unix(await textIn(reply))).toBe(event('Grüße') + event('zwei') + DONE)
      expect(reply.usage).toEqual(usage)
    })

    test('is passed on whole to a client that asked', async () => {
      const reply = await backend.answer(attempt('openai/m', { ...streaming, stream_options: { include_usage: true } }))
      expect(await textIn(reply)).toBe(cut(whole).join(''))
    })

    test('is not asked by an option that the provider refuses', async () => {
      const reply = await backend.answer(attempt('mistral/m', streaming))
      expect(upstream.lastJson()).not.toHaveProperty('stream_options')
      expect(await textIn(reply)).toBe(cut(whole).join(''))
    })
  })

  test('keeps the usage that a last chunk with a choice carries, and takes note of it', async () => {
    const last = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage })}\n\n`
    const { url } = provider(() => streamOf([event('one'), last, DONE]))
    const reply = await backendOf({ groq: at(url) }).answer(attempt('groq/m', streaming))
    expect(await textIn(reply)).toBe(event('one') + last + DONE)
    expect(reply.usage).toEqual(usage)
  })
})

describe('a broken connection', () => {
  const whole = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 99\r\n\r\n'
  const breaking = (bytes: string) => {
    const { url, stop } = startBreaking(bytes)
    stops.push(stop)
    return url
  }
  const refusing = () => {
    const { url, stop } = startProvider(() => json())
    stop()
    return url
  }
  const rows: [string, () => string, RegExp][] = [
    ['refused', refusing, /openai at http:\/\/127\.0\.0\.1:\d+: it was refused/],
    ['closed before an answer', () => breaking(''), /closed/],
    ['closed within the headers', () => breaking('HTTP/1.1 200 OK\r\ncontent-'), /closed/],
    ['not TLS', () => `https${provider(() => json()).url.slice(4)}`, /TLS/],
    ['closed within an error body', () => breaking(whole.replace('200', '500')), /closed/],
  ]
  test.each(rows)('%s: rejects, saying so', async (_, url, message) => {
    const rejected = await backendOf({ openai: at(url()) })
      .answer(attempt('openai/m'))
      .catch((error: unknown) => error)
    expect(rejected).toBeInstanceOf(ConnectionFailure)
    expect((rejected as Error).message).toMatch(message)
    expect((rejected as Error).message).not.toContain(KEY)
  })

  test('closed within a stream: what came is read, then reading fails', async () => {
    const event = 'data: {"a":1}\n\n'
    const url = breaking(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\n${event}`)
    const reader = readerOf(
      await backendOf({ openai: at(url) }).answer(attempt('openai/m', { ...HELLO, stream: true })),
    )
    const first = await reader.next().catch((error: Error) => error)
    if (typeof first === 'string') {
      expect(first).toBe(event)
      expect(await reader.next().catch((error: Error) => error)).toBeInstanceOf(Error)
    } else expect(first).toBeInstanceOf(Error)
  })
})

describe('a call that is aborted', () => {
  const gone = new Error('the client has gone')
  const silent = () => {
    const aborted = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    const upstream = provider((request) => {
      request.signal.addEventListener('abort', () => aborted.resolve())
      arrived.resolve()
      return new Promise(() => {})
    })
    return { ...upstream, aborted: aborted.promise, arrived: arrived.promise }
  }

  test('before it began never reaches the provider', async () => {
    const { url, seen } = silent()
    const signal = AbortSignal.abort(gone)
    const answer = backendOf({ openai: at(url) }).answer(attempt('openai/m', HELLO, { signal }))
    expect(await answer.catch((error: unknown) => error)).toBe(gone)
    expect(seen).toEqual([])
  })

  test('before the answer rejects with the reason, and the provider sees it', async () => {
    const { url, aborted, arrived } = silent()
    const controller = new AbortController()
    const answer = backendOf({ openai: at(url) }).answer(attempt('openai/m', HELLO, controller))
    await arrived
    controller.abort(gone)
    expect(await answer.catch((error: unknown) => error)).toBe(gone)
    await aborted
  })

  test.each([
    ['aborting', true],
    ['cancelling the body', false],
  ])('within a stream, by %s: the provider sees it', async (_, aborting) => {
    const stopped = Promise.withResolvers<void>()
    const { url } = provider((request) => {
      request.signal.addEventListener('abort', () => stopped.resolve())
      const body = new ReadableStream({ start: (controller) => controller.enqueue('data: {"a":1}\n\n') })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    })
    const controller = new AbortController()
    const streaming = { ...HELLO, stream: true }
    const reader = readerOf(await backendOf({ openai: at(url) }).answer(attempt('openai/m', streaming, controller)))
    await reader.next()
    if (aborting) {
      const next = reader.next().catch((error: unknown) => error)
      controller.abort(gone)
      expect(await next).toBe(gone)
    } else await reader.cancel()
    await stopped.promise
  })
})

describe('what cannot be forwarded', () => {
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
      'an operation that the provider has not',
      { perplexity: { api_key: KEY, backend: 'forward' }, mine: at(url), groq: { backend: 'forward' } },
      'perplexity/m',
      'embeddings',
      /perplexity does not answer embeddings; of those forwarded to, mine can/,
    ],
    ['an operation that nobody has', { anthropic: at(url) }, 'anthropic/m', 'images.generations', /none of those/],
    ['a provider that is not forwarded to', { mine: at(url) }, 'aws/m', 'chat.completions', /none of mine/],
  ]
  test.each(rows)('%s is refused with 400', async (_, providers, model, operation, message) => {
    const refused = await backendOf(providers)
      .answer(attempt(model, operation === 'chat.completions' ? HELLO : {}, { operation: operationOf(operation) }))
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ status: 400, message: expect.stringMatching(message) })
    expect(seen).toEqual([])
  })
})
