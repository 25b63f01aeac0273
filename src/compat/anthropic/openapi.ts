// The operations of Anthropic's API for the OpenAPI document, derived from chat completions.
import type { Operation } from '../../contract/core/operation.ts'
import { AnthropicCountRequest, AnthropicRequest } from './request-schema.ts'
import { AnthropicEvent, AnthropicMessage } from './response-schema.ts'

const weather = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const ask = (content: string, more: object = {}) => ({
  model: 'claude-sonnet-4',
  max_tokens: 1024,
  messages: [{ role: 'user', content }],
  ...more,
})

/** The token count operation with Anthropic's name and request. */
export const shownCount = (operation: Operation): Operation => ({
  ...operation,
  name: 'countTokens',
  request: AnthropicCountRequest,
})

/** The chat operation with the name and the schemas of messages. */
export const shownMessages = (operation: Operation): Operation => ({
  ...operation,
  name: 'messages',
  summary: 'Create a message',
  description:
    'An Anthropic-compatible chat completion with the same fixtures, faults, and traces. It also accepts the fields of the router.',
  examples: {
    greeting: ask('Hello!', { system: 'Be brief.' }),
    stream: ask('Hello!', { stream: true }),
    tools: ask('What is the weather in Paris?', { tools: [weather], tool_choice: { type: 'auto' } }),
    thinking: ask('How many days has a year?', {
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      max_tokens: 2_048,
    }),
  },
  request: AnthropicRequest,
  response: AnthropicMessage,
  chunk: AnthropicEvent,
})
