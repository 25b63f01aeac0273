// Forwarding to a mock of the providers' formats that this project did not write: one call, three providers, the same response.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { LLMock } from '@copilotkit/aimock'
import { readForwarding } from '../../src/config/providers.ts'
import { createTestApp, eventsOf, type TestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { at, attempt, backendOf, KEY, operationOf, startProvider, valueIn } from '../support/forward.ts'

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
  const section = { value: providers, locationOf: () => '' }
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
  const { choices } = (stream ? trace.response : answer.json()) as { choices: Choice[] }
  if (stream) expect(eventsOf(answer.text).at(-1)).toBe('[DONE]')
  return { choice: choices[0] as Choice, answer, trace }
}

const weather = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

describe.each(both(models))('forwarded call to %s, streamed: %p', (model, stream) => {
  test('returns text and records the usage', async () => {
    const { choice, answer, trace } = await choiceOf(model, stream, 'Hello!')
    expect(choice).toMatchObject({
      finish_reason: 'stop',
      message: { role: 'assistant', content: 'Hi there, friend!' },
    })
    expect(trace.usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 })
    expect(trace).toMatchObject({ outcome: 'succeeded', status: 200, fixture: null, generated: false })
    expect(JSON.stringify(trace)).not.toContain(KEY)
    if (stream) expect(eventsOf(answer.text).filter((event) => (event as { usage?: object }).usage)).toEqual([])
  })

  test('sends the usage to a client that requests it', async () => {
    if (!stream) return expect((await choiceOf(model, false, 'Hello!')).answer.json().usage).toBeObject()
    const { answer } = await choiceOf(model, true, 'Hello!', { stream_options: { include_usage: true } })
    expect(eventsOf(answer.text).at(-2)).toMatchObject({ choices: [], usage: { total_tokens: 18 } })
  })

  test('calls several tools at once', async () => {
    const { choice } = await choiceOf(model, stream, 'What is the weather?', { tools: [weather] })
    expect(choice.finish_reason).toBe('tool_calls')
    const calls = choice.message.tool_calls ?? []
    expect(calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)])).toEqual([
      ['get_weather', { city: 'Paris' }],
      ['get_weather', { city: 'Rome' }],
    ])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  })

  test('reports that the response was cut', async () => {
    const { choice } = await choiceOf(model, stream, 'A tale too long to tell', { max_tokens: 2 })
    expect(choice).toMatchObject({ finish_reason: 'length', message: { content: 'Once upon' } })
  })

  test('returns JSON that follows a schema', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const response_format = { type: 'json_schema', json_schema: { name: 'city', strict: true, schema } }
    const { choice } = await choiceOf(model, stream, 'Paris as JSON', { response_format })
    expect(JSON.parse(choice.message.content ?? '')).toEqual({ city: 'Paris' })
  })

  test('passes on an error with status, message and retry time', async () => {
    const answer = await app.post(CHAT, { model, messages: [{ role: 'user', content: 'too fast' }], stream })
    expect(errorOf(answer.text, 429).message).toContain('slow down')
    expect(answer.headers.get('retry-after')).toBe('7')
  })
})

test.each(both(translated))('forwarded call to %s, streamed: %p: returns the thinking', async (model, stream) => {
  const { choice } = await choiceOf(model, stream, 'think about it', { reasoning_effort: 'low' })
  expect(choice.message).toMatchObject({ content: 'Done.', reasoning: 'Step by step.' })
  if (model.startsWith('anthropic/')) expect(choice.message.reasoning_signature).toBe('c2lnbmVk')
})

test.each(translated)('forwarded call to %s: continues after a tool result', async (model) => {
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

describe('Google embeddings', () => {
  const vectorsFor = async (url: string, body: object) => {
    const call = attempt('google/gemini-embedding-001', body, { operation: operationOf('embeddings') })
    const reply = await backendOf({ google: at(url) }).answer(call)
    return valueIn<{ data: { index: number; embedding: unknown }[]; usage: object }>(reply)
  }

  test('are returned in both encodings', async () => {
    const { data, usage } = await vectorsFor(`${mock.url}/v1beta`, { input: 'a' })
    expect(data).toMatchObject([{ index: 0, embedding: [0.5, -0.25, 1] }])
    expect(usage).toEqual({ prompt_tokens: expect.any(Number), total_tokens: expect.any(Number) })
    const encoded = await vectorsFor(`${mock.url}/v1beta`, { input: 'a', encoding_format: 'base64' })
    const bytes = Uint8Array.fromBase64(encoded.data[0]?.embedding as string)
    expect([...new Float32Array(bytes.buffer)]).toEqual([0.5, -0.25, 1])
  })

  test('are split into as many calls as necessary', async () => {
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

  test('are rejected for token input', async () => {
    expect(await vectorsFor(mock.url, { input: [[1, 2]] }).catch((error) => error)).toMatchObject({
      status: 400,
      param: 'input',
    })
  })
})
