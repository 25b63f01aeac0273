// POST /v1/messages/count_tokens: the number of input tokens of a message. Only Anthropic's API has it.
import { z } from 'zod'
import type { Operation } from '../contract/core/operation.ts'
import { COUNT_TOKENS, COUNT_TOKENS_PATH } from '../contract/core/token-count.ts'
import type { ChatRequest } from '../contract/router/chat-request.ts'
import { asObject } from '../lib/values.ts'
import { chatCompletions } from './chat-completions.ts'
import { wholeAnswer, wholeOperation } from './common.ts'

const { prompt, opening, promptTokens, attachments, fillTexts } = chatCompletions

/** Its request is that of a chat completion. */
export const tokenCount: Operation<ChatRequest, object> = {
  ...wholeOperation,
  name: COUNT_TOKENS,
  path: COUNT_TOKENS_PATH,
  answerName: 'token count',
  extension: true,
  isComputed: true,
  summary: 'Count the tokens of a message',
  description: 'Counts the input tokens of a message without creating it. To create messages, use `/v1/messages`.',
  examples: { greeting: { model: 'claude-sonnet-4', messages: [{ role: 'user', content: 'Hello!' }] } },
  longList: 'messages',
  get request() {
    return chatCompletions.request
  },
  response: z.object({ input_tokens: z.int().describe('Input tokens.') }),
  script: z.strictObject({}),
  prompt,
  ...(opening && { opening }),
  promptTokens,
  ...(attachments && { attachments }),
  ...(fillTexts && { fillTexts }),
  // Nothing is generated, and counting costs nothing.
  compose: (request) => wholeAnswer({}, () => ({ input_tokens: promptTokens(request) })),
  wrongWith: (answer) =>
    typeof asObject(answer)?.input_tokens === 'number' ? undefined : "it has no number 'input_tokens'",
  scriptOf: () => undefined,
}
