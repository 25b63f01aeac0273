// The shipped fixtures, each used for its purpose by the real OpenAI SDK.
import { afterAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources'
import { createTestApp } from '../support/app.ts'
import { runCommand } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'

const app = createTestApp({ on_unmatched: 'error', shipped_fixtures: true })
afterAll(app.close)
const client = new OpenAI({
  baseURL: 'http://localhost/v2/router',
  apiKey: 'any',
  maxRetries: 0,
  fetch: (url, init) => app.understudy.app.fetch(new Request(url as string, init as RequestInit)),
})
const model = 'anthropic/claude-sonnet-4-5'
const user = (content: string): ChatCompletionMessageParam => ({ role: 'user', content })
async function ask(content: string, more: object = {}) {
  const { data, response } = await client.chat.completions
    .create({ model, messages: [user(content)], ...more, stream: false })
    .withResponse()
  return { choice: data.choices[0], usage: data.usage, by: response.headers.get('x-understudy-fixture') }
}
const missed = (content: string, more: object = {}) =>
  expect(ask(content, more)).rejects.toMatchObject({ status: 404, code: 'fixture_not_found' })

describe('shipped greeting fixture', () => {
  test.each(['Hello!', 'hi', 'Hey there', 'HELLO, Understudy.'])('answers %s', async (content) => {
    const { choice, by } = await ask(content)
    expect(by).toBe('chat.completions/greeting')
    expect(choice?.message.content).toBe(
      `Hello! I am Understudy, standing in for ${model}. What are we rehearsing today?`,
    )
    expect(choice?.finish_reason).toBe('stop')
  })
  test.each(['Hello, what is the capital of France?', 'Highlight the sentence', 'Say hello'])(
    'does not answer %s',
    (content) => missed(content),
  )
})

describe('shipped weather fixture', () => {
  const tool = (parameters: Record<string, unknown>): ChatCompletionTool => ({
    type: 'function',
    function: { name: 'get_weather', parameters: { type: 'object', ...parameters } },
  })
  const text = { type: 'string' }
  const byCity = tool({ properties: { city: text }, required: ['city'] })
  const byLocation = tool({ properties: { location: text, unit: text }, required: ['location'] })
  const rows: [string, ChatCompletionTool, object][] = [
    ['What is the weather in Paris?', byCity, { city: 'Paris' }],
    ["What's the weather like in New York today?", byCity, { city: 'New York' }],
    ['Tell me the weather for São Paulo, please', byCity, { city: 'São Paulo' }],
    ['What is the weather in Paris?', byLocation, { location: 'Paris' }],
  ]
  test.each(rows)('calls the tool for %s and answers with its result', async (question, offered, args) => {
    const messages = [user(question)]
    const asked = await client.chat.completions.create({ model, messages, tools: [offered] })
    const [choice] = asked.choices
    expect(choice?.finish_reason).toBe('tool_calls')
    const [call] = choice?.message.tool_calls ?? []
    if (call?.type !== 'function' || !choice) throw new Error('there is no function call')
    expect(call.function.name).toBe('get_weather')
    expect(JSON.parse(call.function.arguments)).toEqual(args)
    const result = { role: 'tool' as const, tool_call_id: call.id, content: '21 °C and sunny' }
    const answered = await client.chat.completions.create({
      model,
      messages: [...messages, choice.message, result],
      tools: [offered],
    })
    expect(answered.choices[0]?.message.content).toBe('The weather report says: 21 °C and sunny')
    expect(answered.choices[0]?.finish_reason).toBe('stop')
  })
  test('works with the tool runner of the SDK, streamed', async () => {
    const asked: unknown[] = []
    const runner = client.chat.completions.runTools({
      model,
      stream: true,
      messages: [user('How is the weather in Oslo?')],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'The weather of a city.',
            parameters: { type: 'object', properties: { city: text }, required: ['city'] },
            parse: JSON.parse,
            function: (args: unknown) => {
              asked.push(args)
              return 'snow'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toBe('The weather report says: snow')
    expect(asked).toEqual([{ city: 'Oslo' }])
  })
  test('does not answer without the tool', () => missed('What is the weather in Paris?'))
})

describe('shipped long-text fixture', () => {
  test.each(['Tell me a long story', 'Write a LONG text about theatre'])(
    'streams its text with timing for %s',
    async (content) => {
      const stream = client.chat.completions.stream({
        model,
        messages: [user(content)],
        stream_options: { include_usage: true },
      })
      let pieces = 0
      stream.on('content', () => pieces++)
      const { choices, usage } = await stream.finalChatCompletion()
      expect(choices[0]?.finish_reason).toBe('stop')
      expect(choices[0]?.message.content).toStartWith('On the evening of the dress rehearsal')
      expect(choices[0]?.message.content?.trimEnd()).toEndWith('"That is what she is for."')
      expect(pieces).toBeGreaterThan(300)
      const tokens = usage?.completion_tokens ?? 0
      const { data } = (await app.fetch('/_understudy/traces?limit=1')).json() as unknown as {
        data: [{ duration_ms: number; attempts: [{ first_content_ms: number }] }]
      }
      expect(data[0].attempts[0].first_content_ms).toBe(200)
      expect(data[0].duration_ms).toBeCloseTo(200 + ((tokens - 1) / 120) * 1000, -1)
    },
  )
  test('does not answer a question of how long', () => missed('How long is a rehearsal?'))
})

test('shipped refusal fixture: answers with a refusal', async () => {
  const { choice, by } = await ask('Now please refuse to help.')
  expect(by).toBe('chat.completions/refusal')
  expect(choice?.message).toMatchObject({ content: null, refusal: 'I am sorry, but I cannot help with that.' })
  const stream = client.chat.completions.stream({ model, messages: [user('please refuse')] })
  expect((await stream.finalChatCompletion()).choices[0]?.message.refusal).toBe(
    'I am sorry, but I cannot help with that.',
  )
})

test('shipped reasoning fixture: answers with reasoning', async () => {
  const { choice, usage, by } = await ask('When does the train arrive? Think step by step.')
  expect(by).toBe('chat.completions/reasoning')
  expect(choice?.message.content).toBe('It arrives at 15:45.')
  expect(choice?.message).toHaveProperty('reasoning', expect.stringMatching(/^The train leaves at 14:10/))
  expect(usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(30)
})

test('shipped json fixture: answers a call for JSON', async () => {
  const { choice, by } = await ask('Describe yourself as JSON', { response_format: { type: 'json_object' } })
  expect(by).toBe('chat.completions/json')
  expect(JSON.parse(choice?.message.content ?? '')).toMatchObject({
    name: 'Understudy',
    tags: ['offline', 'deterministic'],
  })
  await missed('Describe yourself as JSON')
})

test('fixture list: prints shipped fixtures after those of files', async () => {
  const folder = folderWith({ 'fixtures/chat.completions/mine.yaml': 'match: { user: Hi }\nreply: { content: Mine. }' })
  const listed = await runCommand(['fixture', 'list'], { cwd: folder.path })
  expect(listed.code).toBe(0)
  const lines = listed.stdout.split('\n')
  expect(lines.slice(0, 3)).toEqual([
    'Fixtures in fixtures:',
    '  chat.completions/mine  {"user":"Hi"}  fixtures/chat.completions/mine.yaml:1:1',
    'Shipped fixtures (used only with --shipped-fixtures):',
  ])
  expect(listed.stdout).toContain('chat.completions/greeting')
  const json = (await runCommand(['fixture', 'list', '--json'], { cwd: folder.path })).stdout.trim().split('\n')
  expect(json.map((line) => JSON.parse(line)).slice(0, 2)).toMatchObject([
    { name: 'chat.completions/mine', from: 'files' },
    { from: 'shipped' },
  ])
  folder.remove()
})

test('shipped fixtures: answer only with --shipped-fixtures, whatever --on-unmatched is', async () => {
  const off = createTestApp({ on_unmatched: 'error' })
  const made = createTestApp()
  for (const content of ['Hello!', 'Tell me a long story', 'please refuse', 'Think step by step.']) {
    const body = { model, messages: [user(content)] }
    expect([content, (await off.post('/v2/router/chat/completions', body)).status]).toEqual([content, 404])
    const answer = await made.post('/v2/router/chat/completions', body)
    expect([content, answer.status, answer.headers.get('x-understudy-fixture')]).toEqual([content, 200, 'generated'])
  }
  for (const app of [off, made]) {
    expect((await app.fetch('/_understudy/fixtures')).json()).toMatchObject({ data: [] })
    app.close()
  }
})
