// Anthropic's Messages API at /v1/messages: chat completions as its clients send and read them.
import { z } from 'zod'
import type { ApiError } from '../contract/error.ts'
import type { Wire } from '../contract/wire.ts'
import { asObject, asText, type JsonObject, objectsIn, parsedJson } from '../lib/values.ts'
import { completionRequestOf } from './anthropic-request.ts'
import { messageEvents } from './anthropic-stream.ts'
import { messageIdOf, messageUsage, stopReasonOf } from './message.ts'
import { renamed } from './names.ts'

/** Requests and answers in the words of Anthropic; a model without a provider is one of its own. */
export const anthropicWire: Wire = {
  provider: 'anthropic',
  take: completionRequestOf,
  put(reply, call) {
    const { body } = reply
    if (body.kind === 'events') {
      const rename = (chunk: JsonObject) => renamed(chunk, call) as JsonObject
      return { ...reply, body: { kind: 'events', events: messageEvents(body.events, rename) } }
    }
    if (body.kind === 'bytes') return reply
    return { ...reply, body: { kind: 'value', value: messageOf(asObject(renamed(body.value, call)) ?? {}) } }
  },
  error: anthropicErrorBody,
}

/** The body of every error. */
export const AnthropicError = z.object({
  type: z.literal('error').describe('Always `error`.'),
  error: z
    .object({
      type: z.string().describe('The kind of error.'),
      message: z.string().describe('What is wrong, for people.'),
    })
    .describe('The error.'),
})

const TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

function anthropicErrorBody({ status, message }: ApiError): z.infer<typeof AnthropicError> {
  const type = TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  return { type: 'error', error: { type, message } }
}

/** A whole completion as a message. */
function messageOf({ id, model, choices, usage }: JsonObject): JsonObject {
  const [choice] = objectsIn(choices)
  const message = asObject(choice?.message) ?? {}
  const { reasoning, reasoning_signature: signature, redacted_reasoning: redacted, content, refusal } = message
  const text = asText(content) || asText(refusal)
  return {
    id: messageIdOf(id),
    type: 'message',
    role: 'assistant',
    model,
    content: [
      ...(asText(reasoning) ? [{ type: 'thinking', thinking: reasoning, signature: asText(signature) ?? '' }] : []),
      ...(asText(redacted) ? [{ type: 'redacted_thinking', data: redacted }] : []),
      ...(text ? [{ type: 'text', text }] : []),
      ...objectsIn(message.tool_calls).map(({ id: call, function: called }) => ({
        ...{ type: 'tool_use', id: call, name: asObject(called)?.name },
        input: parsedJson(asText(asObject(called)?.arguments) ?? '') ?? {},
      })),
    ],
    stop_reason: stopReasonOf(choice?.finish_reason),
    stop_sequence: null,
    usage: messageUsage(usage),
  }
}
