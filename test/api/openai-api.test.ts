// OpenAI's own API at /v1: programs written for it work unchanged, and so do models without a provider elsewhere.
import { afterAll, describe, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, streamText } from 'ai'
import OpenAI, { BadRequestError, NotFoundError } from 'openai'
import { readConfig } from '../../src/config.ts'
import { type Answer, eventsOf, testApps } from '../support/app.ts'
import { fetchInto } from '../support/clients.ts'
import { playing } from '../support/scenario.ts'

const { appWith, close } = testApps()
afterAll(close)
const app = appWith()
const MODEL = 'gpt-4o'
const user = { role: 'user' as const, content: 'Hello!' }
const say = { model: MODEL, messages: [user] }
const clientOf = (more: object = {}) =>
  new OpenAI({ baseURL: 'http://localhost/v1', apiKey: 'any', maxRetries: 0, fetch: fetchInto(app), ...more })
const client = clientOf()

describe('OpenAI API under a bare model', () => {
  test('returns a chat completion, whole and streamed', async () => {
    const completion = await client.chat.completions.create(say)
    expect(completion).toMatchObject({ object: 'chat.completion', model: MODEL })
    expect(completion.choices[0]?.message.content).toBeTruthy()
    const models = new Set<string>()
    let text = ''
    for await (const chunk of await client.chat.completions.create({ ...say, stream: true })) {
      models.add(chunk.model)
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect([...models]).toEqual([MODEL])
    expect(text).toBe(completion.choices[0]?.message.content ?? '')
  })

  test('returns a response, whole, streamed and continued', async () => {
    const first = await client.responses.create({ model: MODEL, input: 'Hello!' })
    expect(first).toMatchObject({ object: 'response', model: MODEL })
    expect(first.output_text).toBeTruthy()
    const next = await client.responses.create({ model: MODEL, input: 'Go on', previous_response_id: first.id })
    expect(next.previous_response_id).toBe(first.id)
    const final = await client.responses.stream({ model: MODEL, input: 'Hello!' }).finalResponse()
    expect([final.model, final.output_text]).toEqual([MODEL, first.output_text])
  })

  test('returns a legacy completion', async () => {
    const model = 'gpt-3.5-turbo-instruct'
    const { choices, ...rest } = await client.completions.create({ model, prompt: 'Once' })
    expect([rest.model, choices.length]).toEqual([model, 1])
  })

  test('streams a legacy completion with one finish reason for each choice, in its last chunk', async () => {
    const model = 'gpt-3.5-turbo-instruct'
    const reasons: (string | null)[][] = [[], []]
    for await (const { choices } of await client.completions.create({ model, prompt: ['Once', 'Then'], stream: true }))
      for (const { index, finish_reason } of choices) reasons[index]?.push(finish_reason)
    for (const own of reasons) expect(own).toEqual([...Array<null>(own.length - 1).fill(null), expect.any(String)])
  })

  test('returns embeddings', async () => {
    const model = 'text-embedding-3-small'
    const list = await client.embeddings.create({ model, input: ['a', 'b'], dimensions: 8 })
    expect([list.model, list.data.map(({ embedding }) => embedding.length)]).toEqual([model, [8, 8]])
  })

  test('returns images', async () => {
    const { data } = await client.images.generate({ model: 'dall-e-2', prompt: 'A dot', size: '256x256' })
    const url = data?.[0]?.url ?? ''
    const picture = await app.fetch(new URL(url).pathname)
    expect(picture.status).toBe(200)
  })

  test('returns a translation', async () => {
    const speech = new Uint8Array(await Bun.file(new URL('../support/media/tone.webm', import.meta.url)).arrayBuffer())
    const file = new File([speech], 'tone.webm', { type: 'audio/webm' })
    expect((await client.audio.translations.create({ model: 'whisper-1', file })).text).toBeString()
  })

  test('lists the models and retrieves one', async () => {
    const { data } = await client.models.list()
    const ids = data.map(({ id }) => id)
    expect(ids.slice(0, 1)).toEqual(['gpt-6.1-sol'])
    for (const id of [MODEL, 'anthropic/claude-sonnet-4']) expect(ids).toContain(id)
    const retrieve = (id: string) => client.models.retrieve(id)
    expect(await retrieve('gpt-4o-2024-08-06')).toMatchObject({ id: 'gpt-4o-2024-08-06', owned_by: 'openai' })
    expect(await retrieve('anthropic/claude-sonnet-4')).toMatchObject({ owned_by: 'anthropic' })
    const error = await retrieve('gpt-99').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(NotFoundError)
    expect(error).toMatchObject({ code: 'model_not_found', error: { message: expect.stringContaining('"gpt-99"') } })
  })

  test('works with both OpenAI models of the AI SDK, whole and streamed', async () => {
    const openai = createOpenAI({ baseURL: 'http://localhost/v1', apiKey: 'any', fetch: fetchInto(app) })
    for (const model of [openai.chat(MODEL), openai.responses(MODEL)]) {
      const { text, response } = await generateText({ model, prompt: 'Hello!' })
      expect(response.modelId).toBe(MODEL)
      const streamed = streamText({ model, prompt: 'Hello!' })
      expect(await streamed.text).toBe(text)
    }
  })

  test('works with LangChain, whole and streamed', async () => {
    const configuration = { baseURL: 'http://localhost/v1', fetch: fetchInto(app) }
    const chat = new ChatOpenAI({ model: MODEL, apiKey: 'any', maxRetries: 0, useResponsesApi: false, configuration })
    const answer = await chat.invoke('Hello!')
    expect(answer.response_metadata).toMatchObject({ finish_reason: 'stop', model_name: MODEL })
    const chunks = await Array.fromAsync(await chat.stream('Hello!'))
    expect(chunks.map(({ text }) => text).join('')).toBe(answer.text)
  })
})

test.each([
  ['a stored response', () => client.responses.retrieve('resp_1'), '/v1/responses/resp_1'],
  ['files', () => client.files.list(), '/v1/files'],
  ['batches', () => client.batches.list(), '/v1/batches'],
  ['assistants', () => client.beta.assistants.list(), '/v1/assistants'],
] as const)('OpenAI API: names what is not emulated: %s', async (_, ask, path) => {
  const error = await Promise.resolve(ask()).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(NotFoundError)
  const message: unknown = expect.stringContaining(`${path} of OpenAI's API is not emulated`)
  expect(error).toMatchObject({ code: 'unknown_path', message })
})

/** What is heard of faults between the gateway and the client, in the words of OpenAI alone. */
describe('fault on the OpenAI API', () => {
  const heard = async (fault: object, stream: boolean) => {
    const { post } = await playing(app, [{ at: 'gateway', match: {}, fault }])
    return post('/v1/chat/completions', { ...say, stream })
  }
  test.each([
    [{ type: 'auth-failure' }, 401, 'invalid_api_key'],
    [{ type: 'context-length' }, 400, 'context_length_exceeded'],
    [{ type: 'quota-exceeded' }, 429, 'insufficient_quota'],
    [{ type: 'content-filter', as: 'error' }, 400, 'content_policy_violation'],
    [{ type: 'http-error', status: 503 }, 503, null],
  ])('%p returns an error', async (fault, status, code) => {
    const answer = await heard(fault, false)
    expect([answer.status, Object.keys(answer.json()), (answer.json().error as { code: unknown }).code]).toEqual([
      status,
      ['error'],
      code,
    ])
  })

  test('is an error event in a stream', async () => {
    const last = eventsOf((await heard({ type: 'stream-error', after_chunks: 3, status: 503 }, true)).text).at(-1)
    expect(Object.keys(last as object)).toEqual(['error'])
  })

  test.each([
    ['direct', {}],
    ['through the gateway', { retry: { count: 1 } }],
  ])('leaves a responses stream ending with its last event %s, and with [DONE] on the router', async (_, more) => {
    const ask = { model: 'openai/gpt-4o', input: 'Hi', stream: true, ...more }
    const answer = await app.post('/v1/responses', ask)
    const last = eventsOf(answer.text.replace(/^event: .*\n/gm, '')).at(-1)
    expect(last).toMatchObject({ type: 'response.completed', response: { status: 'completed' } })
    expect(await app.traceOf(answer)).toMatchObject({ outcome: 'succeeded', status: 200 })
    expect((await app.post('/v2/router/responses', ask)).text).toEndWith('\n\ndata: [DONE]\n\n')
  })

  test('of a content filter has its finish reason and the model as called', async () => {
    const answer = await heard({ type: 'content-filter' }, false)
    expect(answer.json()).toMatchObject({ model: MODEL, choices: [{ finish_reason: 'content_filter' }] })
    const streamed = eventsOf((await heard({ type: 'content-filter' }, true)).text)
    expect(streamed.at(-1)).toBe('[DONE]')
    expect(JSON.stringify(streamed)).toContain('"finish_reason":"content_filter"')
  })
})

describe('model on the OpenAI API', () => {
  const answerTo = (path: string, body: object) => app.post(path, { ...say, ...body })
  const CHAT = '/v1/chat/completions'
  const ROUTER = '/v2/router/chat/completions'
  const rows: [what: string, path: string, body: object, shown: string, assumed: Record<string, string> | undefined][] =
    [
      ['without a provider at /v1', CHAT, {}, MODEL, { model: `openai/${MODEL}` }],
      ['with its provider at /v1', CHAT, { model: 'openai/gpt-4o' }, 'openai/gpt-4o', undefined],
      ['of another provider at /v1', CHAT, { model: 'mistral/x' }, 'mistral/x', undefined],
      ['without a provider in the router', ROUTER, {}, 'openai/gpt-4o', { model: `openai/${MODEL}` }],
      ['with its provider in the router', ROUTER, { model: 'openai/gpt-4o' }, 'openai/gpt-4o', undefined],
      [
        'as a fallback',
        ROUTER,
        { model: 'mistral/x', fallbacks: [{ model: 'o3' }] },
        'mistral/x',
        { 'fallbacks[0].model': 'openai/o3' },
      ],
      [
        'in a load balancer',
        CHAT,
        { model: 'mistral/x', load_balancer: { type: 'weight_based', models: [{ model: 'o3', weight: 1 }] } },
        'o3',
        { 'load_balancer.models[0].model': 'openai/o3' },
      ],
      [
        'in the service options',
        ROUTER,
        { svc: { fallbacks: [{ model: 'o3' }] }, model: 'mistral/x' },
        'mistral/x',
        { 'svc.fallbacks[0].model': 'openai/o3' },
      ],
    ]
  test.each(rows)(
    '%s is accepted, and the trace records the assumed provider',
    async (_, path, body, shown, assumed) => {
      const answer = await answerTo(path, body)
      expect([answer.status, answer.json().model]).toEqual([200, shown])
      expect(answer.headers.get('x-understudy-assumed')).toBe(assumed ? Object.values(assumed).join(', ') : null)
      const trace = await app.traceOf(answer)
      expect(trace.assumed).toEqual(assumed as never)
      expect(trace.operation).toBe('chat.completions')
    },
  )

  test('has the configured default provider when it names none', async () => {
    const other = appWith({ default_provider: 'anthropic' })
    const answer = await other.post(CHAT, { ...say, model: 'claude-sonnet-4' })
    expect([answer.json().model, (await other.traceOf(answer)).model]).toEqual([
      'claude-sonnet-4',
      'anthropic/claude-sonnet-4',
    ])
    const { data } = (await other.fetch('/v1/models')).json() as { data: { id: string }[] }
    expect(data.map(({ id }) => id)).toContain('openai/gpt-4o')
  })

  test('cannot have an unknown default provider', () => {
    expect(() => readConfig({ default_provider: 'opnai' }, {})).toThrow(
      /--default-provider must be one of anthropic, .*openai.*, got "opnai"/,
    )
  })
})

describe('OpenAI error shape', () => {
  const shape = (answer: Answer) => ({ status: answer.status, ...answer.json() })
  const error = (code: string) => ({
    message: expect.any(String),
    type: expect.any(String),
    param: expect.anything() as unknown,
    code,
  })
  const rows: [what: string, path: string, init: RequestInit, status: number, code: string][] = [
    ['an invalid field', '/v1/chat/completions', { method: 'POST', body: '{"model":"gpt-4o"}' }, 400, 'invalid_value'],
    [
      'an option of another type',
      '/v1/moderations',
      { method: 'POST', body: '{"input":"a","retry":5}' },
      400,
      'invalid_value',
    ],
    ['invalid JSON', '/v1/responses', { method: 'POST', body: '{' }, 400, 'invalid_json'],
    [
      'a missing token',
      '/v1/embeddings',
      { method: 'POST', body: '{}', headers: { authorization: '' } },
      401,
      'invalid_token',
    ],
    ['another method', '/v1/responses', { method: 'PUT', body: '{}' }, 405, 'method_not_allowed'],
    ['an unknown path', '/s/one/v1/nothing', {}, 404, 'unknown_path'],
  ]
  test.each(rows)('is used for %s', async (_, path, init, status, code) => {
    const answer = await app.fetch(path, { ...init, headers: { 'content-type': 'application/json', ...init.headers } })
    const told = shape(answer)
    expect(Object.keys(told).sort()).toEqual(['error', 'status'])
    expect(told).toMatchObject({
      status,
      error: { ...error(code), param: (told as { error?: { param?: unknown } }).error?.param },
    })
  })

  test('is read by the SDK', async () => {
    const thrown = await client.chat.completions.create({ ...say, temperature: 9 }).catch((refusal: unknown) => refusal)
    expect(thrown).toBeInstanceOf(BadRequestError)
    expect(thrown).toMatchObject({ status: 400, param: 'temperature' })
  })

  test('is used in a stream that has begun', async () => {
    const fault = { type: 'cut-stream', after_chunks: 3, close: 'reset' }
    const { prefix, post } = await playing(app, [{ match: {}, fault }])
    // Through the gateway, which tells of it.
    const told = await post('/v1/chat/completions', { ...say, stream: true, timeout: { call_timeout: 60_000 } })
    const last = eventsOf(told.text).at(-1) as { error: object }
    expect(Object.keys(last)).toEqual(['error'])
    // Straight from the provider, whose connection breaks.
    const cut = clientOf({ baseURL: `http://localhost${prefix}/v1` })
    const stream = await cut.chat.completions.create({ ...say, stream: true })
    const chunks: unknown[] = []
    const reading = async () => {
      for await (const chunk of stream) chunks.push(chunk)
    }
    await expect(reading()).rejects.toThrow('reset')
    expect(chunks).toHaveLength(3)
  })
})

test('OpenAI API quota: is counted down in the headers of every response and exceeded with a 429', async () => {
  const fault = { type: 'rate-limit', requests: 2, per: '1m' }
  const { post } = await playing(app, [{ at: 'gateway', match: {}, fault }])
  const answers = []
  for (const _ of [1, 2, 3]) answers.push(await post('/v1/chat/completions', say))
  const seen = answers.map(({ status, headers }) => [status, headers.get('x-ratelimit-remaining-requests')])
  expect(seen).toEqual([
    [200, '1'],
    [200, '0'],
    [429, '0'],
  ])
  expect(answers.map(({ headers }) => headers.get('x-ratelimit-limit-requests'))).toEqual(['2', '2', '2'])
  expect(Object.keys(answers[2]?.json() ?? {})).toEqual(['error'])
})

test('OpenAI API session: is selected by token, header and path', async () => {
  await clientOf({ apiKey: 'session:a' }).chat.completions.create(say)
  await clientOf({ defaultHeaders: { 'x-understudy-session': 'b' } }).chat.completions.create(say)
  await clientOf({ baseURL: 'http://localhost/s/c/v1' }).chat.completions.create(say)
  for (const session of ['a', 'b', 'c']) {
    const { data } = (await app.fetch(`/s/${session}/_understudy/traces`)).json() as { data: unknown[] }
    expect([session, data.length]).toEqual([session, 1])
  }
})
