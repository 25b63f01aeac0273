// Anthropic's own package against /v1/messages: messages, streams, tools, thinking, errors, retries and timeouts.
import { afterAll, describe, expect, test } from 'bun:test'
import Anthropic, {
  APIConnectionTimeoutError,
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { AnthropicEvent, AnthropicMessage } from '../../src/compat/anthropic/response-schema.ts'
import { testApps } from '../support/app.ts'
import { fetchInto } from '../support/clients.ts'
import { folderWith } from '../support/fixtures.ts'
import { playing } from '../support/scenario.ts'

const folder = folderWith({
  'chat.completions/sdk.yaml': `
- match: { user: think }
  reply: { reasoning: Let me see., content: Done. }
- match: { user: refuse }
  reply: { refusal: I will not. }
- match: { user: count }
  reply: { content: one two three STOP four }
- match: { user: both, tool_result: false }
  reply:
    tool_calls:
      - { name: get_weather, arguments: { city: Paris } }
      - { name: get_weather, arguments: { city: Rome } }
- match: { user: { contains: weather }, tool_result: false }
  reply: { content: Let me look., tool_calls: [{ name: get_weather, arguments: { city: Paris } }] }
- match: { tool_result: true }
  reply: { content: "It is {{prompt.tool_result}}." }
- match: { user: hello }
  reply: { content: one two three four five six seven eight }
`,
})
const { appWith, close } = testApps()
const app = appWith({ fixtures: [folder.path] })
afterAll(async () => {
  await close()
  folder.remove()
})
const clientOf = (more: object = {}) =>
  new Anthropic({ baseURL: 'http://localhost', apiKey: 'any', maxRetries: 0, fetch: fetchInto(app), ...more })
const client = clientOf()
const ask = (
  content: Anthropic.MessageParam['content'],
  more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {},
) => ({
  ...{ model: 'claude-sonnet-4', max_tokens: 100, messages: [{ role: 'user' as const, content }] },
  ...more,
})
const weather: Anthropic.Tool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
/** As it was on the wire, but for its ids, which no two answers share. */
const withoutIds = (message: Anthropic.Message) =>
  JSON.parse(JSON.stringify(message).replaceAll(/"id":"[^"]*"/g, '"id":"X"')) as object

describe('message of the Anthropic SDK', () => {
  const calls: [what: string, params: ReturnType<typeof ask>, end: Partial<Anthropic.Message>][] = [
    ['with text', ask('hello'), { stop_reason: 'end_turn' }],
    ['cut at the token limit', ask('hello', { max_tokens: 2 }), { stop_reason: 'max_tokens' }],
    [
      'ended by a stop sequence',
      ask('count', { stop_sequences: ['nothing', 'STOP'] }),
      { stop_reason: 'stop_sequence', stop_sequence: 'STOP' },
    ],
    ['with a refusal', ask('refuse'), { stop_reason: 'refusal' }],
    [
      'with thinking',
      ask('think', { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 }),
      { stop_reason: 'end_turn' },
    ],
    ['with one tool call', ask('the weather?', { tools: [weather] }), { stop_reason: 'tool_use' }],
    ['with two tool calls', ask('both', { tools: [weather] }), { stop_reason: 'tool_use' }],
    ['without a fixture', ask('Anything else?'), { stop_reason: 'end_turn' }],
  ]
  test.each(calls)('%s is the same whole and streamed', async (_, params, end) => {
    const message = await client.messages.create(params)
    expect(AnthropicMessage.strict().safeParse(JSON.parse(JSON.stringify(message))).error).toBeUndefined()
    expect(message).toMatchObject(end)
    const { data, request_id: id, response } = await client.messages.create(params).withResponse()
    expect(id).toBe(response.headers.get('x-request-id'))
    const stream = client.messages.stream(params)
    for await (const event of stream)
      expect(AnthropicEvent.safeParse(JSON.parse(JSON.stringify(event))).error).toBeUndefined()
    expect(withoutIds(await stream.finalMessage())).toMatchObject(withoutIds(data))
  })

  test('calls only one tool when parallel calls are disabled', async () => {
    const choice = { type: 'auto', disable_parallel_tool_use: true } as const
    const { content } = await client.messages.create(ask('both', { tools: [weather], tool_choice: choice }))
    expect(content.map(({ type }) => type)).toEqual(['tool_use'])
    const forced = await client.messages.create(
      ask('anything', { tools: [weather], tool_choice: { type: 'tool', name: 'get_weather' } }),
    )
    expect(forced.content).toMatchObject([{ type: 'tool_use', name: 'get_weather' }])
  })

  test('continues after thinking, tool calls, images and documents', async () => {
    const first = await client.messages.create(ask('the weather?', { tools: [weather] }))
    const [call] = first.content.filter((block) => block.type === 'tool_use')
    const picture = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } as const
    const answer = await client.messages.create({
      ...ask(''),
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      tools: [{ ...weather, cache_control: { type: 'ephemeral' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: picture },
            { type: 'text', text: 'the weather?' },
          ],
        },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 'x' }, ...first.content] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: [{ type: 'text', text: 'sunny' }] }],
        },
      ],
    })
    expect(answer.content).toMatchObject([{ type: 'text', text: 'It is sunny.' }])
  })

  test('follows the requested output format', async () => {
    const schema = { ...weather.input_schema, additionalProperties: false }
    const output_config = { format: { type: 'json_schema' as const, schema } }
    const { content } = await client.messages.create(ask('Name a city.', { output_config }))
    const [block] = content
    expect(JSON.parse(block?.type === 'text' ? block.text : '')).toEqual({ city: expect.any(String) })
  })

  test('is repeated by the tool runner until it ends', async () => {
    const cities: string[] = []
    const tool = betaTool({
      name: 'get_weather',
      description: 'The weather of a city.',
      inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      run: ({ city }) => {
        cities.push(city)
        return 'rainy'
      },
    })
    const final = await client.beta.messages.toolRunner({ ...ask('the weather?'), tools: [tool] } as never)
    expect(cities).toEqual(['Paris'])
    expect((final as { content: unknown }).content).toMatchObject([{ type: 'text', text: 'It is rainy.' }])
  })
})

test('Anthropic SDK: counts tokens', async () => {
  const { model, messages } = ask('hello')
  const { input_tokens } = await client.messages.countTokens({ model, messages, tools: [weather] })
  const { usage } = await client.messages.create(ask('hello', { tools: [weather] }))
  expect(usage.input_tokens).toBe(input_tokens)
})

test('Anthropic SDK: lists models page by page and retrieves one', async () => {
  const ids: string[] = []
  for await (const { id } of client.models.list({ limit: 2 })) ids.push(id)
  expect(ids.length).toBeGreaterThan(10)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids[0]).toBe('claude-fable-5-1')
  expect(ids).toContain('openai/gpt-4o')
  const last = await client.models.list({ limit: 3, before_id: ids[4] ?? '' })
  expect(last.data.map(({ id }) => id)).toEqual(ids.slice(1, 4))
  const model = await client.models.retrieve('claude-sonnet-4')
  expect(model).toMatchObject({ type: 'model', id: 'claude-sonnet-4', max_input_tokens: 200_000, max_tokens: 64_000 })
  const error = await client.models.retrieve('claude-99').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(NotFoundError)
  expect(error).toMatchObject({ type: 'not_found_error', requestID: expect.any(String) })
})

describe('invalid request of the Anthropic SDK', () => {
  const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
  const rows: [what: string, params: object, says: string][] = [
    ['a missing token limit', { max_tokens: undefined }, "'max_tokens' is required"],
    ['a negative token limit', { max_tokens: -1 }, "'max_tokens' must be at least 0"],
    ['missing messages', { messages: [] }, 'messages: at least one message is required'],
    ['an invalid role', { messages: [{ role: 'tool', content: 'x' }] }, "'messages[0].role' must be one of"],
    ['an invalid content block', user([{ type: 'image_url' }]), "'messages[0].content[0].type' must be one of"],
    ['an invalid image', user([{ type: 'image', source: { type: 'base64', data: 'x' } }]), 'source.media_type'],
    ['an invalid temperature', { temperature: 1.5 }, "'temperature' must be at most 1, got 1.5"],
    ['an invalid stop sequence', { stop_sequences: 'x' }, "'stop_sequences' must be an array"],
    ['an invalid schema', { tools: [{ name: 'x', input_schema: { type: 'string' } }] }, 'tools[0].input_schema.type'],
    ['an invalid tool choice', { tools: [weather], tool_choice: 'auto' }, "'tool_choice' must be an object"],
    ['an unknown tool', { tools: [weather], tool_choice: { type: 'tool', name: 'x' } }, 'must name one of the tools'],
    ['invalid thinking', { thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
  ]
  test.each(rows)('is rejected at its field for %s', async (_, params, says) => {
    const error = await client.messages
      .create({ ...ask('hello', { system: 'x' }), ...params } as never)
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BadRequestError)
    expect(error).toMatchObject({ type: 'invalid_request_error', message: expect.stringContaining(says) })
  })

  test('is rejected on a path that is not emulated', async () => {
    const error = await client.messages.batches.list().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(NotFoundError)
    expect((error as Error).message).toContain("/v1/messages/batches of Anthropic's API is not emulated")
  })
})

/** A client in a session in which rules are played. */
async function under(rules: readonly object[], more: object = {}, clock = 'virtual') {
  const { prefix, rule } = await playing(app, rules, { clock })
  return { rule, client: clientOf({ baseURL: `http://localhost${prefix}`, ...more }) }
}

describe('Anthropic SDK under faults', () => {
  const rows: [what: string, fault: object, kind: abstract new (...given: never[]) => unknown, type: string][] = [
    ['too many requests', { type: 'rate-limit', requests: 0 }, RateLimitError, 'rate_limit_error'],
    ['an invalid key', { type: 'auth-failure' }, AuthenticationError, 'authentication_error'],
    ['a prompt that is too long', { type: 'context-length' }, BadRequestError, 'invalid_request_error'],
    ['a model that was removed', { type: 'model-not-found' }, NotFoundError, 'not_found_error'],
    ['an overloaded provider', { type: 'http-error', status: 529 }, InternalServerError, 'overloaded_error'],
  ]
  for (const at of ['provider', 'gateway'])
    test.each(rows)(`throws its own error class for %s at the ${at}`, async (_, fault, kind, type) => {
      const { client } = await under([{ at, match: {}, fault }])
      const error = await client.messages.create(ask('hello')).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(kind)
      expect(error).toMatchObject({ type, requestID: expect.any(String), error: { type: 'error' } })
    })

  test('repeats a rejected call after the requested wait', async () => {
    const fault = { type: 'http-error', status: 429, retry_after: 5, retry_after_form: 'ms' }
    const { client, rule } = await under([{ match: {}, when: { calls: '1-2' }, fault }], { maxRetries: 2 })
    expect((await client.messages.create(ask('hello'))).stop_reason).toBe('end_turn')
    expect(await rule()).toMatchObject({ applied: 2 })
  })

  test('ends a slow call at its timeout', async () => {
    // As a socket ends for who hangs up.
    const fetch = (input: string | URL | Request, init: RequestInit = {}) => {
      const hungUp = new Promise<never>((_, reject) =>
        init.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
      )
      return Promise.race([fetchInto(app)(input, init), hungUp])
    }
    const hang = { at: 'gateway', match: {}, fault: { type: 'hang' } }
    const { client } = await under([hang], { timeout: 50, fetch }, 'real')
    const error = await client.messages.create(ask('hello')).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(APIConnectionTimeoutError)
  })

  test('throws an error for an outage in the middle of a stream', async () => {
    const { client } = await under([{ match: {}, fault: { type: 'stream-error', after_tokens: 3, status: 500 } }])
    const stream = client.messages.stream(ask('hello'))
    let text = ''
    stream.on('text', (piece) => {
      text += piece
    })
    const error = await stream.finalMessage().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(APIError)
    expect(error).toMatchObject({ type: 'api_error' })
    expect(text).toStartWith('one two')
  })

  test('sees a stream without an end when the gateway breaks it off', async () => {
    const fault = { type: 'cut-stream', after_chunks: 4, close: 'clean' }
    const { client } = await under([{ at: 'gateway', match: {}, fault }])
    await expect(client.messages.stream(ask('hello')).finalMessage()).rejects.toThrow()
  })
})
