// `--tools eager`: an offered tool is called until its result is there, so that agent loops of real libraries run without fixtures.
import { afterAll, describe, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { HumanMessage, type ToolMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, isStepCount, Output, streamText, tool } from 'ai'
import { z } from 'zod'
import { readConfig } from '../../src/config.ts'
import { createTestApp } from '../support/app.ts'
import { CHAT, MODEL, user } from '../support/chat.ts'
import { BASE_URL, fetchInto, openaiOf } from '../support/clients.ts'
import { PATH } from '../support/responses.ts'

const app = createTestApp({ tools: 'eager', shipped_fixtures: true })
afterAll(app.close)

const openai = openaiOf(app)
const ai = createOpenAI({ baseURL: BASE_URL, apiKey: 'any', fetch: fetchInto(app) })
const QUESTION = 'What is in stock?'
const City = z.object({ city: z.string() })
const stock = tool({ description: 'What is in stock', inputSchema: City, execute: () => '12 chairs' })
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const offered = { type: 'function' as const, function: { name: 'stock', parameters } }

describe('agent loop with eager tools', () => {
  test('ends in runTools of the OpenAI SDK', async () => {
    const calls: unknown[] = []
    const runner = openai.chat.completions.runTools({
      model: MODEL,
      messages: [{ role: 'user', content: QUESTION }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'stock',
            description: 'What is in stock',
            parameters,
            parse: (text: string) => JSON.parse(text) as object,
            function: (given: object) => {
              calls.push(given)
              return '12 chairs'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toContain('12 chairs')
    expect(calls).toEqual([{ city: expect.any(String) }])
  })

  test.each([
    ['chat', ai.chat(MODEL)],
    ['responses', ai.responses(MODEL)],
  ])('ends in generateText and streamText of the AI SDK over %s', async (_, model) => {
    const asked = { model, prompt: QUESTION, tools: { stock }, stopWhen: isStepCount(5) }
    const { text, steps } = await generateText(asked)
    expect([steps.length, text]).toEqual([2, expect.stringContaining('12 chairs')])
    expect(await streamText(asked).text).toContain('12 chairs')
  })

  test('ends with tools and then structured output', async () => {
    const { output, steps } = await generateText({
      model: ai.chat(MODEL),
      prompt: QUESTION,
      tools: { stock },
      stopWhen: isStepCount(5),
      output: Output.object({ schema: z.object({ chairs: z.int() }) }),
    })
    expect([steps.length, output]).toEqual([2, { chairs: expect.any(Number) }])
  })

  test('ends with bound tools of LangChain', async () => {
    const look = langchainTool(() => '12 chairs', { name: 'stock', description: 'What is in stock', schema: City })
    const chat = new ChatOpenAI({
      model: MODEL,
      apiKey: 'any',
      maxRetries: 0,
      useResponsesApi: false,
      configuration: { baseURL: BASE_URL, fetch: fetchInto(app) },
    }).bindTools([look])
    const question = new HumanMessage(QUESTION)
    const asked = await chat.invoke([question])
    const [call] = asked.tool_calls ?? []
    if (!call) throw new Error('no tool was called')
    const result = (await look.invoke(call)) as ToolMessage
    expect((await chat.invoke([question, asked, result])).text).toContain('12 chairs')
  })
})

describe('eager tools', () => {
  const called = (answer: { json(): Record<string, unknown> }) => {
    const { choices, output } = answer.json() as {
      choices?: { message: { tool_calls?: { function: { name: string } }[] } }[]
      output?: { type: string; name?: string }[]
    }
    if (output) return output.flatMap(({ type, name }) => (type === 'message' ? [] : [name]))
    return (choices?.[0]?.message.tool_calls ?? []).map((call) => call.function.name)
  }
  const flat = { type: 'function', name: 'stock', parameters }
  const done = { role: 'tool', tool_call_id: 'call_1', content: '12 chairs' }
  const asked = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'stock', arguments: '{}' } }],
  }
  const ask = { role: 'user', content: QUESTION }
  const rows: [string, string, object, string[]][] = [
    ['an offered tool', CHAT, { messages: [ask], tools: [offered] }, ['stock']],
    ['auto', CHAT, { messages: [ask], tools: [offered], tool_choice: 'auto' }, ['stock']],
    ['none', CHAT, { messages: [ask], tools: [offered], tool_choice: 'none' }, []],
    ['no tools', CHAT, { messages: [ask] }, []],
    ['a result', CHAT, { messages: [ask, asked, done], tools: [offered] }, []],
    ['a result, and then a new question', CHAT, { messages: [ask, asked, done, ask], tools: [offered] }, ['stock']],
    [
      'a result that is not the last message',
      CHAT,
      { messages: [ask, asked, done, { role: 'system', content: 'Be brief.' }], tools: [offered] },
      [],
    ],
    ['a response', PATH, { input: QUESTION, tools: [flat] }, ['stock']],
    ['a response whose tools all run at the provider', PATH, { input: QUESTION, tools: [{ type: 'web_search' }] }, []],
  ]
  test.each(rows)('are called or not for %s', async (_, path, body, names) => {
    expect(called(await app.post(path, { model: MODEL, ...body }))).toEqual(names)
  })

  test('are not called when a fixture matches', async () => {
    const answer = await app.post(CHAT, { model: MODEL, ...user('Hello!'), tools: [offered] })
    expect(answer.headers.get('x-understudy-fixture')).toBe('chat.completions/greeting')
  })
})

test.each([
  [{}, {}, 'requested'],
  [{ tools: 'eager' }, {}, 'eager'],
  [{}, { UNDERSTUDY_TOOLS: 'eager' }, 'eager'],
] as const)('--tools: flags %j and environment %j mean %s', (flags, environment, tools) => {
  expect(readConfig(flags, environment).tools).toBe(tools)
})

test('--tools: rejects an unknown value', () => {
  expect(() => readConfig({ tools: 'lazy' }, {})).toThrow('--tools must be requested or eager, got "lazy"')
})
