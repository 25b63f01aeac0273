// Counts the tokens of a message before it is asked for, as the chat completion would count them.
import { z } from 'zod'
import { ChatRequest } from '../contract/chat-request.ts'
import { asRoute, type Route } from '../contract/route.ts'
import { parseRequest } from '../contract/validation.ts'
import { chatCompletions } from '../endpoints/chat-completions.ts'
import { withProviders } from '../endpoints/model-names.ts'
import { AnthropicCountRequest } from './anthropic-asked.ts'
import { countedRequestOf } from './anthropic-request.ts'

/** `POST /v1/messages/count_tokens`. */
export const countTokensRoute: Route = asRoute({
  method: 'post',
  path: '/v1/messages/count_tokens',
  operationId: 'anthropicCountTokens',
  tag: "Anthropic's API",
  summary: 'Count the tokens of a message',
  description: 'What the input of a message would be counted with. Messages themselves are at `/v1/messages`.',
  body: AnthropicCountRequest,
  examples: { greeting: { model: 'claude-sonnet-4', messages: [{ role: 'user', content: 'Hello!' }] } },
  response: z.object({ input_tokens: z.int().describe('Tokens of the input.') }),
  handle({ body }) {
    const { body: asked } = withProviders(countedRequestOf(body), 'anthropic')
    return { input_tokens: chatCompletions.promptTokens(parseRequest(ChatRequest, asked)) }
  },
})
