// The Vercel AI SDK: text, streams, structured output and tools, through its provider for compatible APIs.
import { afterAll, describe, expect, test } from 'bun:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, isStepCount, Output, streamText, tool } from 'ai'
import { z } from 'zod'
import { createTestApp } from '../support/app.ts'
import { FIXTURES, MODEL } from '../support/chat.ts'
import { BASE_URL, fetchInto } from '../support/clients.ts'

const app = createTestApp({ fixtures: [FIXTURES], shipped_fixtures: true })
afterAll(app.close)

const provider = createOpenAICompatible({
  name: 'understudy',
  baseURL: BASE_URL,
  apiKey: 'any',
  fetch: fetchInto(app),
  includeUsage: true,
  supportsStructuredOutputs: true,
})
const model = provider(MODEL)
const COUNT = 'one two three four five six seven eight'
const City = z.object({ city: z.string(), people: z.int().min(1), tags: z.array(z.enum(['big', 'old'])).min(1) })

const get_weather = tool({
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `${city} is sunny`,
})
const question = 'What is the weather in Paris?'
const ANSWER = 'The weather report says: Paris is sunny'

describe('AI SDK text', () => {
  test('is returned by generateText', async () => {
    const { text, finishReason, usage, response } = await generateText({ model, prompt: 'count' })
    expect([text, finishReason]).toEqual([COUNT, 'stop'])
    expect(usage).toMatchObject({ inputTokens: 8, outputTokens: 8, totalTokens: 16 })
    expect(response.modelId).toBe(MODEL)
  })

  test('is returned by streamText', async () => {
    const { textStream, finishReason, usage } = streamText({ model, prompt: 'count' })
    const pieces = await Array.fromAsync(textStream)
    expect(pieces).toHaveLength(8)
    expect(pieces.join('')).toBe(COUNT)
    expect(await finishReason).toBe('stop')
    expect(await usage).toMatchObject({ inputTokens: 8, outputTokens: 8, totalTokens: 16 })
  })

  test('accepts all settings of the SDK', async () => {
    const { text, finishReason } = await generateText({
      model,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'count' }] }],
      maxOutputTokens: 5,
      temperature: 0,
      topP: 1,
      frequencyPenalty: 0,
      presencePenalty: 0,
      seed: 3,
      stopSequences: [' four'],
    })
    expect([text, finishReason]).toEqual(['one two three', 'stop'])
  })

  test('ends at a token limit', async () => {
    expect((await generateText({ model, prompt: 'count', maxOutputTokens: 2 })).finishReason).toBe('length')
  })
})

describe('AI SDK reasoning', () => {
  test('is returned whole', async () => {
    const { reasoningText, text, usage } = await generateText({ model, prompt: 'think' })
    expect([reasoningText, text]).toEqual(['one two three four five', 'Done.'])
    expect(usage.outputTokenDetails.reasoningTokens).toBe(5)
  })

  test('is streamed', async () => {
    const result = streamText({ model, prompt: 'think' })
    expect(await result.reasoningText).toBe('one two three four five')
    expect(await result.text).toBe('Done.')
  })

  test('accepts an effort', async () => {
    const providerOptions = { understudy: { reasoningEffort: 'high' } }
    const { reasoningText } = await generateText({ model, prompt: 'What is up?', providerOptions })
    expect(reasoningText).toContain('"What is up?"')
  })
})

describe('AI SDK structured output', () => {
  const output = Output.object({ schema: City })
  test('is returned by generateText', async () => {
    const { output: value } = await generateText({ model, prompt: 'hello', output })
    expect(City.parse(value)).toEqual(value)
  })

  test('is returned by streamText', async () => {
    const result = streamText({ model, prompt: 'hello', output })
    const partial = await Array.fromAsync(result.partialOutputStream)
    expect(partial.length).toBeGreaterThan(2)
    expect(partial.at(-1)).toEqual(await result.output)
    expect(City.safeParse(await result.output).success).toBe(true)
  })

  test('supports arrays and choices', async () => {
    const list = await generateText({ model, prompt: 'x', output: Output.array({ element: City }) })
    expect(z.array(City).safeParse(list.output).success).toBe(true)
    const choice = await generateText({ model, prompt: 'x', output: Output.choice({ options: ['yes', 'no'] }) })
    expect(['yes', 'no']).toContain(choice.output)
  })

  test('is any JSON object when the provider has no schemas', async () => {
    const plain = createOpenAICompatible({ name: 'plain', baseURL: BASE_URL, apiKey: 'any', fetch: fetchInto(app) })
    const { output: value } = await generateText({ model: plain(MODEL), prompt: 'x', output: Output.json() })
    expect(value).toBeObject()
  })
})

describe('AI SDK tools', () => {
  test('are called by generateText until there is a text', async () => {
    const { text, steps } = await generateText({
      model,
      prompt: question,
      tools: { get_weather },
      stopWhen: isStepCount(5),
    })
    expect(text).toBe(ANSWER)
    expect(steps).toHaveLength(2)
    expect(steps[0]?.finishReason).toBe('tool-calls')
    expect(steps[0]?.toolCalls).toMatchObject([{ toolName: 'get_weather', input: { city: 'Paris' } }])
    expect(steps[0]?.toolResults).toMatchObject([{ output: 'Paris is sunny' }])
  })

  test('are called by streamText until there is a text', async () => {
    const result = streamText({ model, prompt: question, tools: { get_weather }, stopWhen: isStepCount(5) })
    expect((await Array.fromAsync(result.textStream)).join('')).toBe(ANSWER)
    expect((await result.steps).map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
  })

  test('receive input that satisfies the schema when the call is forced', async () => {
    const tools = { add_city: tool({ inputSchema: City }), get_weather }
    for (const toolChoice of ['required', { type: 'tool', toolName: 'add_city' }] as const) {
      const { toolCalls } = await generateText({ model, prompt: 'add a city', tools, toolChoice })
      expect(toolCalls).toHaveLength(1)
      expect(City.safeParse(toolCalls[0]?.input).success).toBe(true)
    }
    const result = streamText({ model, prompt: 'add a city', tools, toolChoice: 'required' })
    expect(City.safeParse((await result.toolCalls)[0]?.input).success).toBe(true)
  })

  test('are not called with toolChoice none', async () => {
    const { toolCalls, text } = await generateText({
      model,
      prompt: question,
      tools: { get_weather },
      toolChoice: 'none',
    })
    expect(toolCalls).toEqual([])
    expect(text).toContain('Paris')
  })
})

test('AI SDK image: is named in the trace', async () => {
  const content = [
    { type: 'text' as const, text: 'count' },
    { type: 'file' as const, data: new Uint8Array([137, 80, 78, 71]), mediaType: 'image/png' },
  ]
  const { text, response } = await generateText({ model, messages: [{ role: 'user', content }] })
  expect(text).toBe(COUNT)
  const answer = { headers: new Headers(response.headers) } as Parameters<typeof app.traceOf>[0]
  expect((await app.traceOf(answer)).attachments).toEqual([{ kind: 'image', name: 'image/png' }])
})

test("AI SDK error: is an APICallError with the server's message", async () => {
  const error = await generateText({ model: provider('nobody/x'), prompt: 'x', maxRetries: 0 }).catch(
    (reason: unknown) => reason,
  )
  expect(APICallError.isInstance(error)).toBe(true)
  expect(error).toMatchObject({ statusCode: 404, message: expect.stringContaining('no known provider') })
})
