// Anthropic's API in front of real providers: a mock of their formats that this project did not write, and Anthropic's package as the
// client.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic, { RateLimitError } from '@anthropic-ai/sdk'
import { LLMock } from '@copilotkit/aimock'
import { AnthropicMessage } from '../../src/compat/anthropic/response-schema.ts'
import { readForwarding } from '../../src/config/providers.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { fetchInto } from '../support/clients.ts'
import { at } from '../support/forward.ts'

const mock = new LLMock({ port: 0, chunkSize: 6 })
mock.onMessage('Hello', {
  content: 'Hi there, friend!',
  usage: { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 },
})
mock.onMessage('think', { content: 'Done.', reasoning: 'Step by step.', reasoningSignature: 'c2lnbmVk' })
mock.onMessage('weather', { toolCalls: [{ name: 'get_weather', arguments: '{"city":"Paris"}' }] })
mock.onMessage('too fast', { error: { message: 'slow down', type: 'rate_limit_error' }, status: 429, retryAfter: 7 })

let app: TestApp
let client: Anthropic
beforeAll(async () => {
  await mock.start()
  const providers = { openai: at(`${mock.url}/v1`), anthropic: at(`${mock.url}/v1`) }
  const section = { value: providers, locationOf: () => '' }
  app = createTestApp({ clock: 'real', forwarding: readForwarding({ section, backend: 'fixture', environment: {} }) })
  client = new Anthropic({ baseURL: 'http://localhost', apiKey: 'any', maxRetries: 0, fetch: fetchInto(app) })
})
afterAll(async () => {
  await app.close()
  await mock.stop()
})
const tools: Anthropic.Tool[] = [{ name: 'get_weather', input_schema: { type: 'object', properties: {} } }]
const ask = (model: string, content: string, more: object = {}) => ({
  ...{ model, max_tokens: 2000, messages: [{ role: 'user' as const, content }] },
  ...more,
})
const both = async (params: ReturnType<typeof ask>) => {
  const message = await client.messages.create(params)
  // A message of Anthropic itself is passed on as it came.
  if (!params.model.startsWith('claude'))
    expect(AnthropicMessage.safeParse(JSON.parse(JSON.stringify(message))).error).toBeUndefined()
  return [message, await client.messages.stream(params).finalMessage()]
}

describe.each(['claude-sonnet-4-5', 'openai/gpt-4o'])('forwarded Anthropic call to %s', (model) => {
  test('returns text and token counts', async () => {
    for (const { content, usage, stop_reason } of await both(ask(model, 'Hello'))) {
      expect(content).toMatchObject([{ type: 'text', text: 'Hi there, friend!' }])
      expect([stop_reason, usage.input_tokens, usage.output_tokens]).toEqual(['end_turn', 11, 7])
    }
  })

  test('calls a tool', async () => {
    for (const { content, stop_reason } of await both(ask(model, 'weather', { tools }))) {
      expect(content).toMatchObject([{ type: 'tool_use', name: 'get_weather', input: { city: 'Paris' } }])
      expect(stop_reason).toBe('tool_use')
    }
  })

  test("returns errors in Anthropic's shape, with the retry time", async () => {
    const error = await client.messages.create(ask(model, 'too fast')).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ type: 'rate_limit_error', message: expect.stringContaining('slow down') })
    expect((error as RateLimitError).headers?.get('retry-after')).toBe('7')
  })
})

test("forwarded Anthropic call: keeps the provider's signature of the thinking", async () => {
  const thinking = { type: 'enabled', budget_tokens: 1024 }
  for (const { content } of await both(ask('claude-sonnet-4-5', 'think', { thinking })))
    expect(content).toMatchObject([
      { type: 'thinking', thinking: 'Step by step.', signature: 'c2lnbmVk' },
      { type: 'text', text: 'Done.' },
    ])
})
