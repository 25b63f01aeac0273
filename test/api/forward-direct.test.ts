// Direct calls in front of a real provider: the client's own request goes there, and what comes back reaches the client.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { listen } from '../../src/cli/run/listen.ts'
import { readForwarding } from '../../src/config/providers.ts'
import { readConfig } from '../../src/config.ts'
import type { Exchange } from '../../src/contract/core/exchange.ts'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { createUnderstudy } from '../../src/deps.ts'
import { bytesIn } from '../../src/views/wire-text.ts'
import { at, KEY } from '../support/forward.ts'
import { postRaw } from '../support/raw-http.ts'

interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
}
type Answer = (response: ServerResponse, received: Received) => void
let received: Received[] = []
let answer: Answer = (response) => response.end('{}')
let provider: Server
let servers: Awaited<ReturnType<typeof listen>> = []
let base = ''
let close = () => {}

beforeAll(async () => {
  provider = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => void pieces.push(piece))
    request.on('end', () => {
      const one = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(pieces).toString('latin1') }
      received.push(one)
      answer(response, one)
    })
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(provider.address() as { port: number }).port}/v1`
  const section = { value: { openai: at(url), anthropic: at(url) }, locationOf: () => '' }
  const forwarding = readForwarding({ section, backend: 'fixture', environment: {} })
  const config = { ...readConfig({ host: '127.0.0.1' }, {}), db: ':memory:', port: 0, forwarding, max_cost: 100 }
  const understudy = createUnderstudy(config, (error) => {
    throw error
  })
  servers = await listen(config, understudy)
  base = `http://127.0.0.1:${servers[0]?.port}`
  close = () => understudy.sessions.close()
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop(true)))
  close()
  provider.close()
  provider.closeAllConnections()
})

const ask = async (path: string, body: string | FormData, headers: Record<string, string> = {}) => {
  received = []
  const json = typeof body === 'string' && { 'content-type': 'application/json' }
  const sent = { authorization: 'Bearer session:mine', ...json, ...headers }
  const response = await fetch(`${base}${path}`, { method: 'POST', headers: sent, body })
  const text = await response.text()
  const found = async (more = '') => {
    const id = response.headers.get('x-understudy-trace')
    const at = `${base}/s/mine/_understudy/traces/${id}${more}`
    return (await fetch(at, { headers: { authorization: 'Bearer any' } })).json()
  }
  const trace = async () => (await found()) as StoredTrace
  if (response.headers.has('x-understudy-trace')) {
    const exchange = (await found('/exchange')) as Exchange
    expect(exchange).toMatchObject({ request: { address: path }, response: { status: response.status } })
    if (typeof body === 'string') expect(exchange.request?.body).toEqual({ text: body })
    expect(Buffer.concat((exchange.response?.body ?? []).map(bytesIn)).toString()).toBe(text)
  }
  return { status: response.status, headers: response.headers, text, trace, upstream: received[0] }
}
const CHAT = '/v1/chat/completions'
const MESSAGES = '/v1/messages'
const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(value))
  }
const completion = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-4o', new_field: { deep: [1] } },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
}

describe('direct request', () => {
  test.each([
    [
      'key order, spaces and unknown fields',
      '{ "messages":[{"role":"user","content":"\\u00e9 é"}],\n "model":"gpt-4o","x_new":1.50 }',
    ],
    [
      'an unknown content part',
      '{"model":"gpt-4o","messages":[{"role":"user","content":[{"type":"hologram","data":1}]}]}',
    ],
    [
      'an unknown value',
      '{"model":"gpt-4o","messages":[{"role":"wizard","content":"x"}],"reasoning_effort":"galactic"}',
    ],
    ['missing messages', '{"model":"gpt-4o"}'],
  ])('arrives unchanged: %s', async (_, body) => {
    answer = json(completion)
    const { status, upstream, trace } = await ask(`${CHAT}?api-version=%207+y%2F`, body)
    expect([status, upstream?.path]).toEqual([200, `${CHAT}?api-version=%207+y%2F`])
    expect(Buffer.from(upstream?.body ?? '', 'latin1').toString()).toBe(body)
    expect(await trace()).toMatchObject({ route: 'direct', outcome: 'succeeded', model: 'openai/gpt-4o' })
  })

  test("has the provider's key, the client's headers, and nothing of Understudy", async () => {
    answer = json(completion)
    const sent = {
      'openai-beta': 'x=1',
      'idempotency-key': 'k',
      'user-agent': 'mine/1',
      'x-understudy-session': 'mine',
    }
    const { upstream } = await ask(CHAT, '{"model":"gpt-4o","messages":[]}', { ...sent, cookie: 'a=b' })
    expect(upstream?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'openai-beta': 'x=1',
      'idempotency-key': 'k',
      'user-agent': 'mine/1',
      'accept-encoding': 'identity',
    })
    const names = Object.keys(upstream?.headers ?? {})
    expect(names.filter((name) => /understudy|cookie|x-api-key/.test(name))).toEqual([])
  })

  test('has the model without its provider prefix and is otherwise unchanged', async () => {
    answer = json(completion)
    const body =
      '{"metadata":{"model":"openai/gpt-4o"}, "model" : "openai/gpt-4o","messages":[{"role":"user","content":"\\"model\\":\\"openai/gpt-4o\\""}]}'
    const { upstream } = await ask(CHAT, body)
    expect(upstream?.body).toBe(body.replace('"model" : "openai/gpt-4o"', '"model" : "gpt-4o"'))
  })

  test('without the name of a model is an error, and is not sent', async () => {
    for (const model of ['openai/', '']) {
      const { status } = await ask(
        '/v1/chat/completions',
        JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
      )
      expect([status, received]).toEqual([400, []])
    }
  })

  test('with a form keeps its boundary and bytes', async () => {
    answer = json({ text: 'Hi' })
    const form = new FormData()
    form.append('model', 'openai/whisper-1')
    form.append('strange', 'é')
    form.append('file', new File([new Uint8Array([0, 255, 128])], 'a.webm', { type: 'audio/webm' }))
    const { upstream, status } = await ask('/v1/audio/translations', form)
    expect(status).toBe(200)
    expect(upstream?.headers['content-type']).toStartWith('multipart/form-data; boundary=')
    expect(upstream?.body).toContain('name="model"\r\n\r\nwhisper-1\r\n')
    expect(upstream?.body).toContain('\x00\xff\x80')
  })

  test('to Anthropic has its key header and version', async () => {
    answer = json({
      type: 'message',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 2, output_tokens: 3 },
    })
    const body =
      '{"model":"claude-new","messages":[{"role":"user","content":[{"type":"dream"}]}],"thread":{"type":"continue"}}'
    const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'b1', 'x-api-key': 'session:mine' }
    for (const path of [MESSAGES, '/messages', '/s/mine/messages']) {
      const { upstream, trace } = await ask(`${path}?beta=true`, body, headers)
      expect([upstream?.path, upstream?.body]).toEqual([`${MESSAGES}?beta=true`, body])
      expect(upstream?.headers).toMatchObject({
        'x-api-key': KEY,
        'anthropic-version': '2023-06-01',
        'anthropic-beta': 'b1',
      })
      expect(upstream?.headers.authorization).toBeUndefined()
      expect(await trace()).toMatchObject({
        model: 'anthropic/claude-new',
        usage: { input_tokens: 2, output_tokens: 3 },
      })
    }
    answer = json({ input_tokens: 42 })
    const counted = await ask('/messages/count_tokens', body, headers)
    expect([counted.text, counted.upstream?.path, counted.upstream?.body]).toEqual([
      '{"input_tokens":42}',
      `${MESSAGES}/count_tokens`,
      body,
    ])
  })

  test.each([
    [
      'a gateway option of the wrong type',
      '{"model":"gpt-4o","messages":[{"role":"user","content":"x"}],"retry":"often"}',
      'retry',
    ],
    ['a missing model', '{"messages":[{"role":"user","content":"x"}]}', 'model'],
    ['not an object', '[1]', 'body'],
    ['not JSON', '{"model":', 'JSON'],
  ])('is rejected with 400 only for what the provider cannot see: %s', async (_, body, word) => {
    const { status, text, upstream } = await ask(CHAT, body)
    expect([status, upstream]).toEqual([400, undefined])
    expect((JSON.parse(text) as { error: { message: string } }).error.message).toContain(word)
  })

  test('with a gateway option is sent by the gateway', async () => {
    answer = json(completion)
    const body =
      '{"model":"gpt-4o","x_new":1,"messages":[{"role":"user","content":"x"}],"retry":{"count":1},"contact":{"id":"c1"}}'
    const { upstream, trace } = await ask(CHAT, body)
    expect(JSON.parse(upstream?.body ?? '')).toEqual({
      stream: false,
      model: 'gpt-4o',
      x_new: 1,
      messages: [{ role: 'user', content: 'x' }],
    })
    expect((await trace()).route).toBe('gateway')
  })
})

describe('direct response', () => {
  const body = '{"model":"gpt-4o","messages":[{"role":"user","content":"x"}]}'
  const streamed = '{"model":"gpt-4o","messages":[{"role":"user","content":"x"}],"stream":true}'

  test.each([
    ['whole', CHAT],
    ['of a streamed request', CHAT],
    ["of Anthropic's API", MESSAGES],
  ])("has exactly the provider's headers and x-understudy-* ones: %s", async (form, path) => {
    const long = 'x'.repeat(3_000)
    const text = '{"error":{"message":"no"}}'
    answer = (response) => {
      response.sendDate = false
      response.writeHead(418, [
        ...['content-type', 'application/json', 'set-cookie', 'a=1; Path=/', 'set-cookie', 'b=2'],
        ...['x-long', long, 'vary', 'Origin', 'content-length', String(text.length)],
      ])
      response.end(text)
    }
    const model = path === MESSAGES ? 'claude-sonnet-4' : 'gpt-4o'
    const got = await ask(path, JSON.stringify({ model, messages: [], stream: form !== 'whole' }))
    expect([got.status, got.text]).toEqual([418, text])
    expect([...got.headers].filter(([name]) => !name.startsWith('x-understudy-') && name !== 'date')).toEqual([
      ['content-length', String(text.length)],
      ['content-type', 'application/json'],
      ['vary', 'Origin'],
      ['x-long', long],
      ['set-cookie', 'a=1; Path=/'],
      ['set-cookie', 'b=2'],
    ])
  })

  test("has the provider's status, headers and body", async () => {
    const headers = {
      'x-request-id': 'req_1',
      'x-ratelimit-remaining-requests': '9',
      'openai-processing-ms': '5',
      'x-new': 'y',
    }
    answer = json(completion, 200, headers)
    const got = await ask(CHAT, body)
    expect(JSON.parse(got.text)).toEqual(completion)
    for (const [name, value] of Object.entries(headers)) expect(got.headers.get(name)).toBe(value)
    expect(await got.trace()).toMatchObject({ usage: completion.usage, attempts: [{ request_id: 'req_1' }] })
    const message = await ask(MESSAGES, '{"model":"claude-new","messages":[]}', { 'anthropic-version': '2023-06-01' })
    expect([message.headers.get('x-request-id'), message.headers.has('request-id')]).toEqual(['req_1', false])
  })

  test.each([
    ['418 text', 418, 'text/plain', 'I am a teapot'],
    ['an HTML page', 503, 'text/html', '<html><body>Bad gateway</body></html>'],
    ['an HTML page with status 200', 200, 'text/html', '<html>login</html>'],
    ['an error in an unusual shape', 400, 'application/json', '{"oops":{"why":1}}'],
    ['an empty body', 500, '', ''],
  ])('is passed on unchanged: %s', async (_, status, type, text) => {
    answer = (response) => {
      response.writeHead(status, { ...(type && { 'content-type': type }), 'retry-after': '7' })
      response.end(text)
    }
    const got = await ask(CHAT, body)
    expect([got.status, got.text, got.headers.get('content-type') ?? '']).toEqual([status, text, type])
    expect(got.headers.get('retry-after')).toBe('7')
    const { outcome, status: traced } = await got.trace()
    expect([outcome, traced]).toEqual([status === 200 ? 'invalid_response' : 'http_error', status])
  })

  const EVENTS = [
    ': a comment\n\n',
    'id: 7\nretry: 10\nevent: odd\ndata: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-4o","new":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"Grü"}}]}\n\n',
    'data: {"choices":[{"index":0,"delta":{"content":"ße"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}\r\n\r\n',
    'data: [DONE]\n\n',
    ': after the end\n\n',
  ]
  const sse: Answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of EVENTS) response.write(event)
    response.end()
  }

  test('keeps every byte of a stream, with comments, ids and line ends', async () => {
    answer = sse
    const got = await ask(CHAT, streamed)
    expect(got.text).toBe(EVENTS.join(''))
    const trace = await got.trace()
    expect(trace).toMatchObject({ outcome: 'succeeded', usage: { prompt_tokens: 3, completion_tokens: 2 } })
    expect(trace.response).toMatchObject({ choices: [{ message: { content: 'Grüße' } }] })
  })

  test('is passed on event by event as it arrives', async () => {
    const gate = Promise.withResolvers<void>()
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(EVENTS[1])
      void gate.promise.then(() => response.end(EVENTS.slice(2).join('')))
    }
    const init = {
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      body: streamed,
    }
    const response = await fetch(`${base}${CHAT}`, init)
    const reader = response.body?.getReader()
    const first = await reader?.read()
    expect(new TextDecoder().decode(first?.value)).toBe(EVENTS[1] ?? '')
    gate.resolve()
    while (!(await reader?.read())?.done);
  })

  test('is broken off for the client when it breaks off, after everything received', async () => {
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(EVENTS[1])
      setTimeout(() => response.destroy(), 20)
    }
    const got = await postRaw(`${base}/s/cut${CHAT}`, JSON.parse(streamed) as object)
    expect([got.status, got.body, got.broken]).toEqual([200, EVENTS[1] ?? '', true])
    const traces = await fetch(`${base}/s/cut/_understudy/traces`, { headers: { authorization: 'Bearer any' } })
    const { data } = (await traces.json()) as { data: StoredTrace[] }
    expect(data[0]).toMatchObject({ route: 'direct', status: 200, outcome: 'disconnected' })
  })

  test('without a byte is a connection without a byte', async () => {
    answer = (response) => void response.destroy()
    const got = await postRaw(`${base}/s/none${CHAT}`, JSON.parse(body) as object)
    expect([got.status, got.broken]).toEqual([0, true])
  })

  test('masks the key wherever it is split', async () => {
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: {"key":"${KEY.slice(0, 5)}`)
      setTimeout(() => response.end(`${KEY.slice(5)}"}\n\n`), 20)
    }
    const got = await ask(CHAT, streamed)
    expect(got.text).toBe('data: {"key":"[key]"}\n\n')
  })

  test('does not follow redirects', async () => {
    answer = (response) => {
      response.writeHead(302, { location: 'http://127.0.0.1:1/' })
      response.end()
    }
    const { status, text } = await ask(CHAT, body)
    expect(status).toBe(502)
    expect(text).toContain('not followed')
  })

  const scenario = '/s/mine/_understudy/scenario'
  const put = (fault: object) =>
    fetch(`${base}${scenario}`, {
      method: 'PUT',
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'faulty', rules: [{ name: 'r', fault }] }),
    })
  const stop = () => fetch(`${base}${scenario}`, { method: 'DELETE', headers: { authorization: 'Bearer any' } })

  test.each<[string, object, number?]>([
    ['slow-stream', { tokens_per_second: 1_000_000 }],
    ['stall-stream', { for: 1 }],
    ['reorder-chunks', { chunk: 100 }],
    ['malformed-chunk', { after_chunks: 100 }],
    ['cut-stream', { after_chunks: 2, close: 'clean' }, 2],
  ])('keeps invalid UTF-8 under the fault %s', async (type, options, kept = 3) => {
    const events = [
      '\xef\xbb\xbfdata: {"choices":[{"index":0,"delta":{"content":"\xff\xc3("}}]}\n\n',
      'event: \xfe\r\ndata: {"choices":[{"index":0,"delta":{"content":"Gr\xc3\xbc\xc3"}}]}\r\n\r\n',
      'data: [DONE]\n\n',
    ]
    const bytes = Buffer.from(events.join(''), 'latin1')
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(bytes.subarray(0, 60))
      response.end(bytes.subarray(60))
    }
    await put({ type, ...options })
    const headers = { authorization: 'Bearer session:mine', 'content-type': 'application/json' }
    const response = await fetch(`${base}${CHAT}`, { method: 'POST', headers, body: streamed })
    expect(Buffer.from(await response.arrayBuffer()).toString('latin1')).toBe(events.slice(0, kept).join(''))
    await stop()
  })

  test('passes through the faults of a scenario, and a fault with its own response calls no provider', async () => {
    answer = sse
    await put({ type: 'cut-stream', after_chunks: 1, close: 'clean' })
    const cut = await ask(CHAT, streamed)
    expect(cut.text).toBe(EVENTS.slice(0, 2).join(''))
    const commented = [...EVENTS.slice(0, 3), ': before the end\n\n', 'data: [DONE]']
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`${commented.join('')}\n\n`)
    }
    await put({ type: 'last-event-without-blank-line' })
    expect((await ask(CHAT, streamed)).text).toBe(commented.join(''))
    await put({ type: 'http-error', status: 503 })
    const refused = await ask(CHAT, streamed)
    expect([refused.status, refused.upstream]).toEqual([503, undefined])
    await stop()
  })
})

test('direct call: is read by the SDKs', async () => {
  answer = json(completion)
  const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'any', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'x' }]
  expect(await openai.chat.completions.create({ model: 'gpt-4o', messages })).toMatchObject({
    new_field: { deep: [1] },
  })
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const events = [
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 2, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
      { type: 'message_stop' },
    ]
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    response.end()
  }
  const anthropic = new Anthropic({ baseURL: base, apiKey: 'session:sdk', maxRetries: 0 })
  const message = await anthropic.messages.stream({ model: 'claude-sonnet-4', max_tokens: 9, messages }).finalMessage()
  expect(message.content).toMatchObject([{ type: 'text', text: 'Hi' }])
  const traces = await fetch(`${base}/s/sdk/_understudy/traces`, { headers: { authorization: 'Bearer any' } })
  const { data } = (await traces.json()) as { data: StoredTrace[] }
  expect(data[0]).toMatchObject({ outcome: 'succeeded', usage: { input_tokens: 2, output_tokens: 4 } })
})
