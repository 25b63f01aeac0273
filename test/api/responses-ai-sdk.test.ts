// Model responses as the Vercel AI SDK requests and reads them.
import { afterAll, describe, expect, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { breakingFetch, responsesApp } from '../support/responses.ts'

const app = responsesApp()
afterAll(app.close)
const options = { baseURL: 'http://localhost/v2/router', apiKey: 'any' }
const provider = createOpenAI({ ...options, fetch: app.clientFetch })
const model = provider.responses('openai/gpt-4o')
const get_weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `17 degrees in ${city}`,
})
const Person = z.object({ name: z.string(), age: z.int() })

describe('AI SDK generateText on the responses API', () => {
  test('returns a text with its usage', async () => {
    const { text, finishReason, usage, warnings } = await generateText({ model, prompt: 'Say hi' })
    expect([text, finishReason, warnings]).toEqual(['Hi there', 'stop', []])
    expect(usage).toMatchObject({ inputTokens: 9, outputTokens: 2, totalTokens: 11 })
  })

  test('accepts instructions and an image', async () => {
    const content = [
      { type: 'text' as const, text: 'x' },
      { type: 'file' as const, data: new Uint8Array([137, 80, 78, 71]), mediaType: 'image/png' },
    ]
    const { text } = await generateText({ model, instructions: 'Be brief.', messages: [{ role: 'user', content }] })
    expect(text).toBe('Brief.')
  })

  test.each([true, false])('calls a tool and sends its result (store: %p)', async (store) => {
    const { steps, text } = await generateText({
      model,
      prompt: 'How is the weather?',
      tools: { get_weather },
      stopWhen: stepCountIs(5),
      providerOptions: { openai: { store } },
    })
    expect(steps.map((step) => step.finishReason)).toEqual(['tool-calls', 'stop'])
    expect(steps[0]?.toolResults.map((result) => result.output)).toEqual(['17 degrees in Utrecht'])
    expect(text).toBe('It is 17 degrees in Utrecht.')
  })

  test('forces a tool without a fixture', async () => {
    const { toolCalls } = await generateText({
      model,
      prompt: 'x',
      tools: { get_weather },
      toolChoice: { type: 'tool', toolName: 'get_weather' },
    })
    expect(toolCalls).toMatchObject([{ toolName: 'get_weather', input: { city: expect.any(String) } }])
    expect(toolCalls[0]?.invalid).toBeUndefined()
  })

  test.each([
    ['of a fixture', 'Who is Ada?', { name: 'Ada', age: 36 }],
    ['without a fixture', 'Who is it?', { name: expect.any(String), age: expect.any(Number) }],
  ])('returns structured output %s', async (_, prompt, expected) => {
    const { output } = await generateText({ model, prompt, output: Output.object({ schema: Person }) })
    expect(output).toEqual(expected)
  })

  test('returns reasoning and its end', async () => {
    const result = await generateText({
      model: provider.responses('openai/o3'),
      prompt: 'Think',
      providerOptions: { openai: { forceReasoning: true, reasoningSummary: 'auto', reasoningEffort: 'low' } },
    })
    expect([result.reasoningText, result.text]).toEqual(['Two and two make four.', 'Four.'])
    expect(result.usage.outputTokenDetails.reasoningTokens).toBe(6)
    const cut = await generateText({ model, prompt: 'Say hi', maxOutputTokens: 1 })
    expect([cut.text, cut.finishReason]).toEqual(['Hi', 'length'])
  })

  test('returns log probabilities', async () => {
    const providerOptions = { openai: { logprobs: 2 } }
    const { finalStep } = await generateText({ model, prompt: 'Say hi', providerOptions })
    const logprobs = finalStep.providerMetadata?.openai?.logprobs as { token: string; top_logprobs: object[] }[][]
    expect(logprobs.flat().map((one) => [one.token, one.top_logprobs.length])).toEqual([
      ['Hi', 2],
      [' there', 2],
    ])
  })
})

describe('AI SDK streamText on the responses API', () => {
  test('streams a text in chunks', async () => {
    const result = streamText({ model, prompt: 'Say hi' })
    expect(await Array.fromAsync(result.textStream)).toEqual(['Hi', ' there'])
    expect(await result.finishReason).toBe('stop')
    expect((await result.usage).totalTokens).toBe(11)
  })

  test('calls a tool and sends its result', async () => {
    const result = streamText({
      model,
      prompt: 'How is the weather?',
      tools: { get_weather },
      stopWhen: stepCountIs(5),
    })
    await result.consumeStream()
    expect((await result.steps).map((step) => step.finishReason)).toEqual(['tool-calls', 'stop'])
    expect(await result.text).toBe('It is 17 degrees in Utrecht.')
  })

  test('streams growing structured output', async () => {
    const result = streamText({ model, prompt: 'Who is Ada?', output: Output.object({ schema: Person }) })
    const partial = await Array.fromAsync(result.partialOutputStream)
    expect(partial.length).toBeGreaterThan(1)
    expect(await result.output).toEqual({ name: 'Ada', age: 36 })
  })

  test('streams reasoning before the text', async () => {
    const result = streamText({
      model: provider.responses('openai/o3'),
      prompt: 'Think',
      providerOptions: { openai: { forceReasoning: true, reasoningSummary: 'auto' } },
    })
    await result.consumeStream()
    expect([await result.reasoningText, await result.text]).toEqual(['Two and two make four.', 'Four.'])
  })

  test('reports an error for a truncated stream and keeps the text so far', async () => {
    const broken = createOpenAI({ ...options, fetch: breakingFetch(app, 7) }).responses('openai/gpt-4o')
    const errors: unknown[] = []
    const result = streamText({
      model: broken,
      prompt: 'x',
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    })
    expect((await Array.fromAsync(result.textStream)).join('')).toBe('This is a')
    expect(errors).toMatchObject([{ message: expect.stringContaining('the provider is overloaded') }])
    expect(await result.finishReason).toBe('error')
  })
})
