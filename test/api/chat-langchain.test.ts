// LangChain's ChatOpenAI: invoke, stream, structured output and bound tools.
import { afterAll, describe, expect, test } from 'bun:test'
import { AIMessage, HumanMessage, SystemMessage, type ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { createTestApp } from '../support/app.ts'
import { FIXTURES, MODEL } from '../support/chat.ts'
import { BASE_URL, fetchInto } from '../support/clients.ts'

const app = createTestApp({ fixtures: [FIXTURES], shipped_fixtures: true })
afterAll(app.close)

const chatOf = (more: object = {}) =>
  new ChatOpenAI({
    model: MODEL,
    apiKey: 'any',
    maxRetries: 0,
    useResponsesApi: false,
    configuration: { baseURL: BASE_URL, fetch: fetchInto(app) },
    ...more,
  })
const chat = chatOf()
const COUNT = 'one two three four five six seven eight'
const City = z.object({ city: z.string(), people: z.int().min(1), kind: z.enum(['town', 'village']) })

const weather = tool(({ city }: { city: string }) => `${city} is sunny`, {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: z.object({ city: z.string() }),
})
const QUESTION = 'What is the weather in Paris?'

test('LangChain invoke: returns the message and its usage', async () => {
  const answer = await chat.invoke([new SystemMessage('Be brief.'), new HumanMessage('count')])
  expect(answer.text).toBe(COUNT)
  expect(answer.usage_metadata).toMatchObject({ output_tokens: 8 })
  expect(answer.response_metadata).toMatchObject({ finish_reason: 'stop', model_name: MODEL })
})

test('LangChain stream: returns the chunks and their usage', async () => {
  const chunks = await Array.fromAsync(await chat.stream('count'))
  expect(chunks.map(({ text }) => text).join('')).toBe(COUNT)
  const [first, ...rest] = chunks
  if (!first) throw new Error('there are no chunks')
  const whole = rest.reduce((sum, chunk) => sum.concat(chunk), first)
  expect(whole.usage_metadata).toMatchObject({ output_tokens: 8 })
})

test('LangChain: sends settings that are accepted', async () => {
  const other = chatOf({ temperature: 0, maxTokens: 3, topP: 1, n: 1, stop: ['nine'], logprobs: true, topLogprobs: 2 })
  const answer = await other.invoke('count')
  expect(answer.text).toBe('one two three')
  expect(answer.response_metadata).toMatchObject({ finish_reason: 'length', logprobs: { content: { length: 3 } } })
})

describe('LangChain withStructuredOutput', () => {
  test.each(['jsonSchema', 'functionCalling'] as const)('works by %s', async (method) => {
    const structured = chat.withStructuredOutput(City, { method, name: 'city' })
    for (const question of ['hello', 'Name a city.']) {
      const value = await structured.invoke(question)
      expect(City.parse(value)).toEqual(value)
    }
    const strict = chat.withStructuredOutput(City, { method, name: 'city', strict: true, includeRaw: true })
    const { parsed, raw } = await strict.invoke('Name a city.')
    expect(City.safeParse(parsed).success).toBe(true)
    expect(AIMessage.isInstance(raw)).toBe(true)
  })

  test('works by jsonMode', async () => {
    const structured = chat.withStructuredOutput(z.object({ answer: z.string(), turn: z.int() }), {
      method: 'jsonMode',
    })
    expect(await structured.invoke('Answer as an object')).toMatchObject({ turn: 1 })
  })

  test('works when streamed', async () => {
    const parts = await Array.fromAsync(await chat.withStructuredOutput(City, { name: 'city' }).stream('hello'))
    expect(City.safeParse(parts.at(-1)).success).toBe(true)
  })
})

describe('LangChain bindTools', () => {
  test('completes a round trip', async () => {
    const bound = chat.bindTools([weather])
    const question = new HumanMessage(QUESTION)
    const asked = await bound.invoke([question])
    const [call] = asked.tool_calls ?? []
    expect(call).toMatchObject({ name: 'get_weather', args: { city: 'Paris' } })
    const result: ToolMessage = await weather.invoke({
      name: 'get_weather',
      args: { city: 'Paris' },
      id: call?.id ?? '',
      type: 'tool_call',
    })
    const answer = await bound.invoke([question, asked, result])
    expect([answer.text, answer.tool_calls]).toEqual(['The weather report says: Paris is sunny', []])
  })

  test.each(['any', 'required', 'get_weather', { type: 'function', function: { name: 'get_weather' } }])(
    'forces a call by %p',
    async (tool_choice) => {
      const { tool_calls } = await chat.bindTools([weather], { tool_choice }).invoke('hello')
      expect(tool_calls).toMatchObject([{ name: 'get_weather', args: { city: expect.any(String) } }])
    },
  )

  test('streams calls in chunks that join', async () => {
    const chunks = await Array.fromAsync(await chat.bindTools([weather], { strict: true }).stream(QUESTION))
    const [first, ...rest] = chunks
    if (!first) throw new Error('there are no chunks')
    const whole = rest.reduce((sum, chunk) => sum.concat(chunk), first)
    expect(chunks.filter(({ tool_call_chunks: pieces = [] }) => pieces.length > 0).length).toBeGreaterThan(3)
    expect(whole.tool_calls).toMatchObject([{ name: 'get_weather', args: { city: 'Paris' } }])
  })
})

test('LangChain reasoning models: return their reasoning tokens', async () => {
  const thinking = chatOf({ model: 'openai/o3-mini', reasoning: { effort: 'low' }, maxTokens: 500 })
  const answer = await thinking.invoke('What is up?')
  expect(answer.text).toContain('"What is up?"')
  expect(answer.usage_metadata?.output_token_details?.reasoning).toBeGreaterThan(5)
})

test('LangChain error: keeps its status and message', async () => {
  const error = await chatOf({ model: 'nobody/x' })
    .invoke('x')
    .catch((reason: unknown) => reason)
  expect(error).toMatchObject({ status: 404, message: expect.stringContaining('no known provider') })
})
