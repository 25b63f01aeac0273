// Anthropic's Messages API at /v1/messages: its requests are chat completions, and its responses and errors have its shapes.
import { afterAll, describe, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { generateText, jsonSchema, streamText, tool } from 'ai'
import { accepted } from '../support/accepted.ts'
import { createTestApp, testApps } from '../support/app.ts'
import { fetchInto } from '../support/clients.ts'
import { folderWith } from '../support/fixtures.ts'
import { playing } from '../support/scenario.ts'

const MODEL = 'claude-sonnet-4'
const folder = folderWith({
  'chat.completions/anthropic.yaml': `
- match: { user: think }
  reply: { reasoning: Let me see., content: Done. }
- match: { user: { contains: weather }, tool_result: false }
  reply: { tool_calls: [{ name: get_weather, arguments: { city: Paris } }] }
- match: { user: { contains: weather }, tool_result: true }
  reply: { content: It is sunny. }
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
const PATH = '/v1/messages'
const say = (content: unknown, more: object = {}) => ({
  ...{ model: MODEL, max_tokens: 100, messages: [{ role: 'user', content }] },
  ...more,
})
const weather = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

interface MessageEvent {
  type: string
  delta?: { type?: string; text?: string; stop_reason?: string }
  error?: { type: string; message: string }
}
/** The events of a stream, whose names are those of their data. */
function messageEvents(text: string): MessageEvent[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [, name, data = ''] = /^event: (\S+)\ndata: (.*)$/.exec(block) ?? []
      const event = JSON.parse(data) as MessageEvent
      expect(event.type).toBe(name ?? '')
      return event
    })
}

describe('Anthropic message', () => {
  test('contains the text of a fixture, with its model, stop reason and token counts', async () => {
    const answer = await app.post(PATH, say('hello'))
    expect(answer.json()).toEqual({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: MODEL,
      content: [{ type: 'text', text: 'one two three four five six seven eight' }],
      diagnostics: null,
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: {
        input_tokens: 8,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: expect.any(Number),
        output_tokens_details: null,
        server_tool_use: null,
        inference_geo: null,
        service_tier: 'standard',
        speed: null,
      },
    })
    const trace = await app.traceOf(answer)
    expect(trace).toMatchObject({
      operation: 'chat.completions',
      model: `anthropic/${MODEL}`,
      assumed: { model: `anthropic/${MODEL}` },
    })
  })

  test('ends at its token limit', async () => {
    expect((await app.post(PATH, say('hello', { max_tokens: 2 }))).json().stop_reason).toBe('max_tokens')
  })

  test.each([false, true])('is empty when the token limit is 0 (stream: %p)', async (stream) => {
    const offer = { tools: [weather], tool_choice: { type: 'any' } }
    const { status, text } = await app.post(PATH, say('hello', { ...offer, max_tokens: 0, stream }))
    expect(status).toBe(200)
    expect(text).toContain('"stop_reason":"max_tokens"')
    expect(text).toContain('"output_tokens":0')
    expect(text).not.toContain('tool_use","id"')
    expect(text).not.toContain('content_block')
  })

  test('has the same content when streamed, from start to stop', async () => {
    const events = messageEvents((await app.post(PATH, say('hello', { stream: true }))).text)
    const kinds = events.map(({ type }) => type)
    expect([...new Set(kinds)]).toEqual([
      ...['message_start', 'content_block_start', 'content_block_delta'],
      ...['content_block_stop', 'message_delta', 'message_stop'],
    ])
    const text = events.map(({ delta }) => delta?.text ?? '').join('')
    expect(text).toBe('one two three four five six seven eight')
    expect(events.at(-2)?.delta?.stop_reason).toBe('end_turn')
  })

  test('may begin with thinking, whole and streamed', async () => {
    const asked = say('think', { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 })
    const { content } = (await app.post(PATH, asked)).json() as { content: { type: string }[] }
    expect(content.map(({ type }) => type)).toEqual(['thinking', 'text'])
    const events = messageEvents((await app.post(PATH, { ...asked, stream: true })).text)
    const deltas = new Set(events.map(({ delta }) => delta?.type))
    expect(deltas).toContain('thinking_delta')
    expect(deltas).toContain('text_delta')
  })

  test('answers a conversation with blocks of provider tools, of which nothing else is read', async () => {
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } }
    const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
    const paused = [...say('hello').messages, { role: 'assistant', content: [search] }]
    const going = [...paused, { role: 'assistant', content: [found, { type: 'text', text: 'Nothing.' }] }]
    for (const messages of [paused, [...going, ...say('hello').messages]]) {
      const answer = await app.post(PATH, { ...say('hello'), messages })
      expect(answer.json().content).toEqual([{ type: 'text', text: 'one two three four five six seven eight' }])
    }
    const { error } = (
      await app.post(PATH, { ...say('hello'), messages: [{ role: 'assistant', content: [{ type: 'tool_hint' }] }] })
    ).json() as { error: { message: string } }
    expect(error.message).toContain("'messages[0].content[0].type' must be one of")
  })

  test('answers a conversation with system messages of no text', async () => {
    const [asked] = say('hello').messages
    const effort = { output_config: { effort: 'low' } }
    const change = { type: 'tool_removal', tool: { type: 'tool_reference', tool_name: 'get_weather' } }
    for (const message of [{ content: [], ...effort }, effort, { content: [change] }]) {
      const messages = [asked, { role: 'system', ...message }]
      const answer = await app.post(PATH, {
        ...say('hello', { tools: [weather], system: [] }),
        model: 'claude-opus-4-8',
        messages,
      })
      expect(answer.json().content).toEqual([{ type: 'text', text: 'one two three four five six seven eight' }])
    }
  })

  test('reads the texts of search results and documents of blocks, and files by id', async () => {
    const content = [
      { type: 'search_result', source: 'https://example.com/', title: 'T', content: [{ type: 'text', text: 'hel' }] },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'lo' }] } },
      { type: 'image', source: { type: 'file', file_id: 'file_1' } },
      { type: 'document', source: { type: 'file', file_id: 'file_2' } },
      { type: 'container_upload', file_id: 'file_3' },
    ]
    const { request } = (await app.traceOf(await app.post(PATH, say(content)))) as unknown as { request: object }
    expect(request).toMatchObject({ messages: [{ role: 'user', content }] })
    const matched = await app.post(
      PATH,
      say([{ ...content[0], title: 'the', content: [{ type: 'text', text: 'weather' }] }]),
    )
    expect(matched.json().content).toMatchObject([{ type: 'tool_use', name: 'get_weather' }])
  })

  test.each([{ type: 'any' }, { type: 'tool', name: 'bash' }])(
    'is a text when only tools of the provider may be called (%j)',
    async (tool_choice) => {
      const tools = [
        { type: 'bash_20250124', name: 'bash' },
        { type: 'mcp_toolset', mcp_server_name: 'x' },
      ]
      expect((await app.post(PATH, say('hello', { tools, tool_choice }))).json().content).toMatchObject([
        { type: 'text' },
      ])
    },
  )

  test('reads system texts, images, documents and tool results', async () => {
    const answer = await app.post(PATH, {
      ...say(''),
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      tools: [weather, { type: 'web_search_20250305', name: 'web_search' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'The weather here?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'A map.' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 'x' },
            { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Paris' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'sunny' }] },
      ],
    })
    expect([answer.status, answer.json().content]).toEqual([200, [{ type: 'text', text: 'It is sunny.' }]])
  })
})

test('AI SDK on the Anthropic API: generates text and calls tools, whole and streamed', async () => {
  const anthropic = createAnthropic({ baseURL: 'http://localhost/v1', apiKey: 'session:ai', fetch: fetchInto(app) })
  const model = anthropic(MODEL)
  expect((await generateText({ model, prompt: 'hello' })).text).toBe('one two three four five six seven eight')
  const stream = streamText({ model, prompt: 'hello' })
  expect(await stream.text).toBe('one two three four five six seven eight')
  expect((await stream.usage).inputTokens).toBe(8)
  const tools = { get_weather: tool({ inputSchema: jsonSchema<{ city: string }>(weather.input_schema as never) }) }
  const asked = { model, tools, prompt: 'the weather?' }
  const called = [{ toolName: 'get_weather', input: { city: 'Paris' } }]
  expect((await generateText(asked)).toolCalls).toMatchObject(called)
  expect(await streamText(asked).toolCalls).toMatchObject(called)
  const { data } = (await app.fetch('/s/ai/_understudy/traces')).json() as { data: unknown[] }
  expect(data).toHaveLength(4)
})

describe('Anthropic error shape', () => {
  const rows: [what: string, body: object, headers: Record<string, string>, status: number, type: string][] = [
    ['without a token limit', { ...say('hello'), max_tokens: undefined }, {}, 400, 'invalid_request_error'],
    ['without a message', { ...say('hello'), messages: [] }, {}, 400, 'invalid_request_error'],
    ['without a token', say('hello'), { authorization: '' }, 401, 'authentication_error'],
    ['of an unknown provider', { ...say('hello'), model: 'nobody/x' }, {}, 404, 'not_found_error'],
  ]
  test.each(rows)('is used for a call %s', async (_, body, headers, status, type) => {
    const answer = await app.post(PATH, body, headers)
    const id = answer.headers.get('x-request-id')
    const told = { type: 'error', error: { type, message: expect.any(String) }, request_id: id }
    expect([answer.status, answer.json()]).toEqual([status, told as never])
    expect(answer.headers.get('request-id')).toBe(id)
  })

  const refusing = (at: string) => ({ at, match: {}, fault: { type: 'http-error', status: 529 } })
  test.each(['provider', 'gateway'])('is used for a fault at the %s', async (at) => {
    const { post } = await playing(app, [refusing(at)])
    const answer = await post(PATH, say('hello'))
    expect([answer.status, answer.json()]).toEqual([
      529,
      {
        type: 'error',
        error: { type: 'overloaded_error', message: expect.any(String) },
        request_id: answer.headers.get('request-id'),
      } as never,
    ])
  })

  test('is used in a stream that has begun, which then has no regular end', async () => {
    const { post } = await playing(app, [{ match: {}, fault: { type: 'cut-stream', after_tokens: 3, close: 'reset' } }])
    const body = say('hello', { stream: true, timeout: { call_timeout: 60_000 } })
    const events = messageEvents((await post(PATH, body)).text)
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { message: expect.stringContaining('connection') } })
    expect(events.map(({ type }) => type)).not.toContain('message_stop')
  })

  test('allows a cut between gateway and client to cut its events', async () => {
    const { post } = await playing(app, [
      { at: 'gateway', match: {}, fault: { type: 'cut-stream', after_chunks: 3, close: 'clean' } },
    ])
    const events = messageEvents((await post(PATH, say('hello', { stream: true }))).text)
    expect(events.map(({ type }) => type)).toEqual(['message_start', 'content_block_start', 'content_block_delta'])
  })
})

test('Anthropic trace: has the message as received and as understood, and a generated fixture returns an equal one', async () => {
  const answer = await app.post(PATH, say('hello', { system: 'Be brief.' }))
  const trace = await app.traceOf(answer)
  expect(trace.request).toMatchObject({ model: MODEL, system: 'Be brief.' })
  const understood = {
    model: `anthropic/${MODEL}`,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hello' },
    ],
  }
  expect(trace.rendered).toMatchObject(understood)
  const made = (await app.fetch(`/_understudy/traces/${trace.id}/reproduction`)).json() as unknown as {
    fixture: { value: { match: object } }
    test: { text: string }
  }
  expect(made.fixture.value.match).toMatchObject({ user: 'hello', model: `anthropic/${MODEL}` })
  expect(made.test.text).toContain('"role": "system"')
})

test('Anthropic token count: equals the usage of the response', async () => {
  const { max_tokens: _, ...asked } = say('hello', { system: 'Be brief.' })
  const counted = await app.post(`${PATH}/count_tokens`, asked)
  const { usage } = (await app.post(PATH, { ...asked, max_tokens: 9 })).json() as { usage: { input_tokens: number } }
  expect([counted.status, counted.json()]).toEqual([200, { input_tokens: usage.input_tokens }])
  const refused = await app.post(`${PATH}/count_tokens`, { model: MODEL })
  expect([refused.status, refused.json().type]).toEqual([400, 'error'])
})

test('x-api-key: is read as the token and selects the session', async () => {
  const headers = { 'x-api-key': 'session:keyed', 'content-type': 'application/json' }
  const request = new Request(`http://localhost${PATH}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(say('hello')),
  })
  const answer = await app.understudy.app.fetch(request)
  expect([answer.status, answer.headers.get('x-understudy-session')]).toEqual([200, 'keyed'])
})

// What AI SDK 5 and 6 (@ai-sdk/anthropic 2 and 3) and Anthropic's own SDK take for null; anywhere else it ends the call there.
const NULLABLE = new Set([
  ...['stop_reason', 'stop_sequence', 'stop_details', 'container', 'diagnostics'],
  ...['category', 'explanation', 'output_tokens_details', 'server_tool_use', 'inference_geo', 'speed'],
])
/** Names of all fields that are null. */
const nullsIn = (value: unknown): string[] =>
  Object.entries((value ?? {}) as object).flatMap(([name, one]) =>
    one === null ? [name] : typeof one === 'object' ? nullsIn(one) : [],
  )
const REPLIES: [string, object][] = [
  ['a text', { content: 'Hello.' }],
  ['a refusal', { refusal: 'I will not.' }],
  ['thinking', { reasoning: 'Hm.', content: 'Yes.' }],
  ['tool calls', { content: 'Let me look.', tool_calls: [{ name: 'look_up', arguments: { city: 'Paris' } }] }],
]
test.each(REPLIES)(
  'Anthropic response with %s: has null only where every client accepts it, whole and streamed',
  async (_, reply) => {
    const own = createTestApp()
    await accepted(
      own.fetch('/_understudy/fixtures', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([{ match: { operation: 'chat.completions' }, reply }]),
      }),
    )
    const body = { model: 'claude-sonnet-4', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }
    const whole = await own.post('/v1/messages', body)
    const streamed = await own.post('/v1/messages', { ...body, stream: true })
    own.close()
    const events = streamed.text
      .split('\n')
      .flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
    expect([whole.status, streamed.status, events.length > 3]).toEqual([200, 200, true])
    expect(nullsIn([whole.json(), events]).filter((name) => !NULLABLE.has(name))).toEqual([])
  },
)
