// Forwarding through the front door to a mock of the providers' formats that this project did not write: one call, three
// providers, the same answer.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { LLMock } from '@copilotkit/aimock'
import { readForwarding } from '../src/config/providers.ts'
import { ConnectionFailure, type EventsBody } from '../src/contract/reply.ts'
import { createTestApp, eventsOf, type TestApp } from './support/app.ts'
import { errorOf } from './support/errors.ts'
import { at, attempt, backendOf, HELLO, KEY, operationOf, startProvider, textIn, valueIn } from './support/forward.ts'

const CHAT = '/v2/router/chat/completions'
const mock = new LLMock({ port: 0, chunkSize: 6 })
mock.onMessage('Hello', {
  content: 'Hi there, friend!',
  usage: {
    ...{ prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 },
    ...{ promptTokenCount: 11, candidatesTokenCount: 7 },
  },
})
mock.onMessage('think', { content: 'Done.', reasoning: 'Step by step.', reasoningSignature: 'c2lnbmVk' })
mock.onToolResult('call_1', { content: 'It is 17 degrees.' })
mock.onMessage('weather', {
  toolCalls: [
    { name: 'get_weather', arguments: '{"city":"Paris"}' },
    { name: 'get_weather', arguments: '{"city":"Rome"}' },
  ],
})
mock.onMessage('too long', { content: 'Once upon', finishReason: 'length' })
mock.onMessage('as JSON', { content: '{"city":"Paris"}' })
mock.onMessage('too fast', { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 7 })
mock.onEmbedding(/./, { embedding: [0.5, -0.25, 1] })

let app: TestApp
beforeAll(async () => {
  await mock.start()
  const providers = { openai: at(`${mock.url}/v1`), anthropic: at(`${mock.url}/v1`), google: at(`${mock.url}/v1beta`) }
  const section = { value: providers, placeOf: () => '' }
  app = createTestApp({ clock: 'real', forwarding: readForwarding({ section, backend: 'fixture', environment: {} }) })
})
afterAll(async () => {
  app.close()
  await mock.stop()
})

const models = ['openai/gpt-4o', 'anthropic/claude-sonnet-4-5', 'google/gemini-2.5-flash'] as const
const translated = models.slice(1)
const both = (some: readonly string[]) => some.flatMap((model) => [[model, false] as const, [model, true] as const])

interface Choice {
  finish_reason: string
  message: {
    content: string | null
    reasoning?: string
    reasoning_signature?: string
    tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[]
  }
}

/** The one choice of an answer, whole or put together from its stream by the trace. */
async function choiceOf(model: string, stream: boolean, user: string, more: object = {}) {
  const body = { model, messages: [{ role: 'user', content: user }], ...(stream ? { stream } : {}), ...more }
  const answer = await app.post(CHAT, body)
  expect({ status: answer.status, text: answer.status === 200 ? '' : answer.text }).toEqual({ status: 200, text: '' })
  const trace = await app.traceOf(answer)
  const { choices } = (stream ? trace.answer : answer.json()) as { choices: Choice[] }
  if (stream) expect(eventsOf(answer.text).at(-1)).toBe('[DONE]')
  return { choice: choices[0] as Choice, answer, trace }
}

const weather = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

describe.each(both(models))('%s, streamed: %p', (model, stream) => {
  test('answers with text, and the trace has the usage', async () => {
    const { choice, answer, trace } = await choiceOf(model, stream, 'Hello!')
    expect(choice).toMatchObject({
      finish_reason: 'stop',
      message: { role: 'assistant', content: 'Hi there, friend!' },
    })
    expect(trace.usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 })
    expect(trace).toMatchObject({ outcome: 'answered', status: 200, fixture: null, synthesized: false })
    expect(JSON.stringify(trace)).not.toContain(KEY)
    if (stream) expect(eventsOf(answer.text).filter((event) => (event as { usage?: object }).usage)).toEqual([])
  })

  test('sends the usage to a client that asks', async () => {
    if (!stream) return expect((await choiceOf(model, false, 'Hello!')).answer.json().usage).toBeObject()
    const { answer } = await choiceOf(model, true, 'Hello!', { stream_options: { include_usage: true } })
    expect(eventsOf(answer.text).at(-2)).toMatchObject({ choices: [], usage: { total_tokens: 18 } })
  })

  test('calls tools, several at once', async () => {
    const { choice } = await choiceOf(model, stream, 'What is the weather?', { tools: [weather] })
    expect(choice.finish_reason).toBe('tool_calls')
    const calls = choice.message.tool_calls ?? []
    expect(calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)])).toEqual([
      ['get_weather', { city: 'Paris' }],
      ['get_weather', { city: 'Rome' }],
    ])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  })

  test('says that the answer was cut', async () => {
    const { choice } = await choiceOf(model, stream, 'A tale too long to tell', { max_tokens: 2 })
    expect(choice).toMatchObject({ finish_reason: 'length', message: { content: 'Once upon' } })
  })

  test('gives JSON of a schema', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const response_format = { type: 'json_schema', json_schema: { name: 'city', strict: true, schema } }
    const { choice } = await choiceOf(model, stream, 'Paris as JSON', { response_format })
    expect(JSON.parse(choice.message.content ?? '')).toEqual({ city: 'Paris' })
  })

  test('passes an error on: status, message and when to come again', async () => {
    const answer = await app.post(CHAT, { model, messages: [{ role: 'user', content: 'too fast' }], stream })
    expect(errorOf(answer.text, 429).message).toContain('slow down')
    expect(answer.headers.get('retry-after')).toBe('7')
  })
})

test.each(both(translated))('%s, streamed: %p: tells what it thought', async (model, stream) => {
  const { choice } = await choiceOf(model, stream, 'think about it', { reasoning_effort: 'low' })
  expect(choice.message).toMatchObject({ content: 'Done.', reasoning: 'Step by step.' })
  if (model.startsWith('anthropic/')) expect(choice.message.reasoning_signature).toBe('c2lnbmVk')
})

test.each(translated)('%s goes on after the result of a tool', async (model) => {
  const messages = [
    { role: 'user', content: 'What is the weather?' },
    {
      role: 'assistant',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '17' },
  ]
  const answer = await app.post(CHAT, { model, messages, tools: [weather] })
  expect(answer.status).toBe(200)
  expect(mock.getLastRequest()?.path).toMatch(/messages$|generateContent$/)
})

describe('embeddings of google', () => {
  const vectorsFor = async (url: string, body: object) => {
    const call = attempt('google/gemini-embedding-001', body, { operation: operationOf('embeddings') })
    const reply = await backendOf({ google: at(url) }).answer(call)
    return valueIn<{ data: { index: number; embedding: unknown }[]; usage: object }>(reply)
  }

  test('come in both encodings', async () => {
    const { data, usage } = await vectorsFor(`${mock.url}/v1beta`, { input: 'a' })
    expect(data).toMatchObject([{ index: 0, embedding: [0.5, -0.25, 1] }])
    expect(usage).toEqual({ prompt_tokens: expect.any(Number), total_tokens: expect.any(Number) })
    const encoded = await vectorsFor(`${mock.url}/v1beta`, { input: 'a', encoding_format: 'base64' })
    const bytes = Uint8Array.fromBase64(encoded.data[0]?.embedding as string)
    expect([...new Float32Array(bytes.buffer)]).toEqual([0.5, -0.25, 1])
  })

  test('are asked for in as many calls as it takes', async () => {
    const { url, seen, stop } = startProvider(async (request) => {
      const { requests } = (await request.json()) as { requests: { content: { parts: { text: string }[] } }[] }
      return Response.json({
        embeddings: requests.map(({ content }) => ({ values: [Number(content.parts[0]?.text)] })),
      })
    })
    const numbers = Array.from({ length: 250 }, (_, index) => index)
    const { data } = await vectorsFor(url, { input: numbers.map(String), dimensions: 1 })
    expect(data.map(({ index, embedding }) => [index, embedding])).toEqual(numbers.map((number) => [number, [number]]))
    expect(seen.map(({ path }) => path)).toEqual(Array(3).fill('/models/gemini-embedding-001:batchEmbedContents'))
    await stop()
  })

  test('of tokens are refused', async () => {
    expect(await vectorsFor(mock.url, { input: [[1, 2]] }).catch((error) => error)).toMatchObject({
      status: 400,
      param: 'input',
    })
  })
})

describe('what goes wrong at Anthropic and Google', () => {
  const events = (...data: object[]) => data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')
  const began = [
    { type: 'message_start', message: { id: 'm', model: 'm', usage: { input_tokens: 1, output_tokens: 0 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'one' } },
  ]
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  const part = (text: string) => ({ candidates: [{ content: { parts: [{ text }], role: 'model' } }] })
  const CLAUDE = 'anthropic/claude-sonnet-4-5'
  const GEMINI = 'google/gemini-2.5-flash'
  /** What is told of a stream that the provider sends so. */
  const told = async (model: string, text: string) => {
    const { url, stop } = startProvider(() => new Response(text, { headers: { 'content-type': 'text/event-stream' } }))
    const provider = model.slice(0, model.indexOf('/'))
    const texts: unknown[] = []
    let failure: unknown
    try {
      const { body } = await backendOf({ [provider]: at(url) }).answer(attempt(model, { ...HELLO, stream: true }))
      for await (const { data } of (body as EventsBody).events) {
        const { choices } = data as { choices: { delta: { content?: string } }[] }
        if (choices[0]?.delta.content) texts.push(choices[0].delta.content)
      }
    } catch (error) {
      failure = error
    }
    await stop()
    return { texts, failure: failure as Error & { status?: number } }
  }

  const rows: [string, string, string, string[], object][] = [
    ['an error at once', CLAUDE, events(overloaded), [], { status: 529, message: 'Overloaded' }],
    ['an error later', CLAUDE, events(...began, overloaded), ['one'], { status: 529, message: 'Overloaded' }],
    [
      'an error later',
      GEMINI,
      events(part('one'), { error: { code: 503, message: 'busy', status: 'UNAVAILABLE' } }),
      ['one'],
      { status: 503, message: 'busy' },
    ],
    [
      'an end too early',
      CLAUDE,
      events(...began),
      ['one'],
      new ConnectionFailure('anthropic ended the stream before the answer was complete'),
    ],
    [
      'an end too early',
      GEMINI,
      events(part('one')),
      ['one'],
      new ConnectionFailure('google ended the stream before the answer was complete'),
    ],
    ['nothing', GEMINI, '', [], new ConnectionFailure('google ended the stream before the answer was complete')],
    ['a chunk that is no JSON', CLAUDE, `${events(...began)}data: {nope\n\n`, ['one'], { status: 502 }],
  ]
  test.each(rows)('%s in a stream of %s', async (_, model, text, texts, failure) => {
    const result = await told(model, text)
    expect(result.texts).toEqual(texts)
    expect(result.failure).toMatchObject(failure)
    if (failure instanceof ConnectionFailure) expect(result.failure).toBeInstanceOf(ConnectionFailure)
  })

  const wholes: [string, string][] = [
    ['no JSON', 'nope'],
    ['another shape', '{"hello":"there"}'],
    [
      'an answer that was not completed',
      '{"candidates":[{"content":{"parts":[]},"finishReason":"MALFORMED_FUNCTION_CALL"}]}',
    ],
  ]
  test.each(wholes)('%s is told as a bad answer', async (_, text) => {
    const { url, stop } = startProvider(() => new Response(text, { headers: { 'content-type': 'application/json' } }))
    const reply = await backendOf({ google: at(url) }).answer(attempt(GEMINI))
    expect(reply.status).toBe(502)
    expect(JSON.parse(await textIn(reply)).error.message).toStartWith('google')
    await stop()
  })

  test.each([CLAUDE, GEMINI])('%s: a refused connection, and a call that is aborted', async (model) => {
    const arrived = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    const { url, stop } = startProvider((request) => {
      request.signal.addEventListener('abort', () => aborted.resolve())
      arrived.resolve()
      return new Promise(() => {})
    })
    const backend = backendOf({ anthropic: at(url), google: at(url) })
    const controller = new AbortController()
    const gone = new Error('the client has gone')
    const answer = backend.answer(attempt(model, HELLO, controller)).catch((error: unknown) => error)
    await arrived.promise
    controller.abort(gone)
    expect(await answer).toBe(gone)
    await aborted.promise
    await stop()
    const refused = await backend.answer(attempt(model)).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ConnectionFailure)
    expect((refused as Error).message).toContain('it was refused')
  })

  test('a stream that is aborted is stopped at the provider', async () => {
    const stopped = Promise.withResolvers<void>()
    const { url, stop } = startProvider((request) => {
      request.signal.addEventListener('abort', () => stopped.resolve())
      const body = new ReadableStream({ start: (controller) => controller.enqueue(events(...began)) })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    })
    const controller = new AbortController()
    const call = attempt(CLAUDE, { ...HELLO, stream: true }, controller)
    const { body } = await backendOf({ anthropic: at(url) }).answer(call)
    const gone = new Error('the client has gone')
    const reading = Array.fromAsync((body as EventsBody).events as AsyncIterable<unknown>, () => controller.abort(gone))
    expect(await reading.catch((error: unknown) => error)).toBe(gone)
    await stopped.promise
    await stop()
  })
})

describe('what Anthropic and Google are sent', () => {
  const upstream = startProvider(() => Response.json({ error: { message: 'no' } }, { status: 400 }))
  afterAll(upstream.stop)
  const backend = backendOf({ anthropic: at(upstream.url), google: at(upstream.url) })
  const sent = async (model: string, body: object) => {
    await backend.answer(attempt(model, body))
    return upstream.lastJson()
  }
  const CLAUDE = 'anthropic/claude-sonnet-4-5'
  const GEMINI = 'google/gemini-2.5-flash'
  const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
  const image = (url: string) => user({ type: 'image_url', image_url: { url } })
  const tools = [weather]

  test('the key in the header of the provider, and nowhere else', async () => {
    await sent(CLAUDE, HELLO)
    expect(upstream.last()).toMatchObject({ path: '/messages', headers: { 'x-api-key': KEY } })
    await sent(GEMINI, { ...HELLO, stream: true })
    const { path, headers } = upstream.last()
    expect(path).toBe('/models/gemini-2.5-flash:streamGenerateContent?alt=sse')
    expect(headers['x-goog-api-key']).toBe(KEY)
  })

  const rows: [string, string, object, object][] = [
    [
      'settings',
      CLAUDE,
      { ...HELLO, max_tokens: 9, temperature: 0.5, stop: 'x' },
      { model: 'claude-sonnet-4-5', max_tokens: 9, temperature: 0.5, stop_sequences: ['x'] },
    ],
    [
      'settings',
      GEMINI,
      { ...HELLO, max_completion_tokens: 9, top_p: 0.5, stop: ['x', 'y'], seed: 3 },
      { generationConfig: { maxOutputTokens: 9, topP: 0.5, stopSequences: ['x', 'y'], seed: 3 } },
    ],
    [
      'system messages, and where the cache ends',
      CLAUDE,
      {
        messages: [
          { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
          ...HELLO.messages,
        ],
      },
      { system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '5m' } }] },
    ],
    [
      'system messages',
      GEMINI,
      { messages: [{ role: 'developer', content: 'Be brief.' }, ...HELLO.messages] },
      { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
    ],
    [
      'a picture',
      CLAUDE,
      image('data:image/png;base64,aGk='),
      {
        messages: [{ content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }] }],
      },
    ],
    [
      'the address of a picture',
      CLAUDE,
      image('https://example.com/a.png'),
      { messages: [{ content: [{ source: { type: 'url', url: 'https://example.com/a.png' } }] }] },
    ],
    [
      'a picture',
      GEMINI,
      image('data:image/png;base64,aGk='),
      { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }] }] },
    ],
    [
      'the address of a picture',
      GEMINI,
      image('https://example.com/a.webp?x=1'),
      { contents: [{ parts: [{ fileData: { mimeType: 'image/webp', fileUri: 'https://example.com/a.webp?x=1' } }] }] },
    ],
    [
      'a sound',
      GEMINI,
      user({ type: 'input_audio', input_audio: { data: 'aGk=', format: 'mp3' } }),
      { contents: [{ parts: [{ inlineData: { mimeType: 'audio/mpeg', data: 'aGk=' } }] }] },
    ],
    [
      'a file',
      CLAUDE,
      user({ type: 'file', file: { file_data: 'data:application/pdf;base64,aGk=', filename: 'a.pdf' } }),
      { messages: [{ content: [{ type: 'document', title: 'a.pdf' }] }] },
    ],
    [
      'a tool that must be called',
      CLAUDE,
      { ...HELLO, tools, tool_choice: 'required' },
      { tool_choice: { type: 'any' } },
    ],
    [
      'the tool that must be called',
      CLAUDE,
      { ...HELLO, tools, tool_choice: weather, parallel_tool_calls: false },
      { tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true } },
    ],
    [
      'the tool that must be called',
      GEMINI,
      { ...HELLO, tools, tool_choice: weather },
      { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['get_weather'] } } },
    ],
    [
      'how long to think',
      CLAUDE,
      { ...HELLO, max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 2048 } },
      { thinking: { type: 'enabled', budget_tokens: 2048 } },
    ],
    [
      'how long to think',
      GEMINI,
      { ...HELLO, thinking: { type: 'enabled', budget_tokens: 2048 } },
      { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } } },
    ],
    [
      'not to think',
      GEMINI,
      { ...HELLO, reasoning_effort: 'none' },
      { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    ],
    [
      'an earlier turn with its thoughts and calls',
      CLAUDE,
      {
        tools,
        messages: [
          ...HELLO.messages,
          {
            role: 'assistant',
            reasoning: 'Hm.',
            reasoning_signature: 'sig',
            content: 'Wait.',
            tool_calls: [{ id: 'c1', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: '17' },
        ],
      },
      {
        messages: [
          { role: 'user' },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
              { type: 'text', text: 'Wait.' },
              { type: 'tool_use', id: 'c1', name: 'get_weather', input: { city: 'Paris' } },
            ],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '17' }] },
        ],
      },
    ],
    [
      'results of several calls in one turn',
      GEMINI,
      {
        tools,
        messages: [
          ...HELLO.messages,
          {
            role: 'assistant',
            tool_calls: ['c1', 'c2'].map((id) => ({
              id,
              thought_signature: `sig-${id}`,
              function: { name: 'get_weather', arguments: '{}' },
            })),
          },
          { role: 'tool', tool_call_id: 'c1', content: '17' },
          { role: 'tool', tool_call_id: 'c2', content: '18' },
        ],
      },
      {
        contents: [
          { role: 'user' },
          { role: 'model', parts: [{ thoughtSignature: 'sig-c1' }, { thoughtSignature: 'sig-c2' }] },
          { role: 'user', parts: [{ functionResponse: { name: 'get_weather' } }, { functionResponse: {} }] },
        ],
      },
    ],
  ]
  test.each(rows)('%s: %s', async (_, model, body, expected) => {
    expect(await sent(model, body)).toMatchObject(expected)
  })

  const refusals: [string, object, string | null][] = [
    [CLAUDE, { ...HELLO, n: 2 }, 'n'],
    [GEMINI, { ...HELLO, logprobs: true }, 'logprobs'],
    [
      CLAUDE,
      {
        messages: [
          { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{' } }] },
          ...HELLO.messages,
        ],
      },
      'messages[0].tool_calls[0].function.arguments',
    ],
    [GEMINI, { messages: [...HELLO.messages, { role: 'system', content: 'Late.' }] }, null],
  ]
  test.each(refusals)('%s: what cannot be sent is refused: %j', async (model, body, param) => {
    const before = upstream.seen.length
    expect(await backend.answer(attempt(model, body)).catch((error) => error)).toMatchObject({ status: 400, param })
    expect(upstream.seen.length).toBe(before)
  })
})
