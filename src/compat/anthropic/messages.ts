// Anthropic's Messages API at /v1/messages, on top of chat completions.
import type { Reply } from '../../contract/core/reply.ts'
import type { Wire, WireCall } from '../../contract/core/wire.ts'
import { asList, asObject, asText, type JsonObject, objectsIn, parsedJson } from '../../lib/values.ts'
import { ANTHROPIC_ERRORS } from '../../providers/anthropic.ts'
import { errorName } from '../../providers/error-messages.ts'
import { renamed } from '../names.ts'
import { emptyMessage, messageEnd, messageUsage, signatureOf, THREAD_NOT_FOUND, toolUse } from './from-chat.ts'
import { assembleMessage, messageEvents, messageRules } from './stream.ts'
import { completionRequestOf, countRequestOf } from './to-chat.ts'

/** Converts requests and responses; a model without a provider is one of Anthropic's. */
export const anthropicWire: Wire = {
  api: 'anthropic',
  operation: 'messages',
  idHeader: 'request-id',
  provider: 'anthropic',
  words: 'anthropic',
  events: messageRules,
  assemble: assembleMessage,
  wrongWith(value) {
    const { content, stop_reason: reason } = asObject(value) ?? {}
    if (!Array.isArray(content)) return "it has no list 'content'"
    return asText(reason) ? undefined : "it has no 'stop_reason'"
  },
  conversation: ({ messages }) => ({ form: 'messages', messages: asList(messages) }),
  take: completionRequestOf,
  put(reply, call) {
    const { body, stoppedBy } = reply
    if (body.kind === 'bytes') return reply
    if (body.kind === 'value') {
      const completion = asObject(renamed(body.value, call)) ?? {}
      return { ...reply, body: { kind: 'value', value: messageOf(completion, stoppedBy) } }
    }
    return { ...reply, body: { kind: 'events', events: eventsOf(body.events, reply, call), marked: true } }
  },
  // A provider's own request id is in its header.
  error: ({ status, type, code, message, headers }, id) =>
    errorBody({ status, names: [type, code], message, id: headers['request-id'] ?? id }),
}

/** Converts token counts, whose responses need no conversion. */
export const countWire: Wire = {
  api: anthropicWire.api,
  idHeader: 'request-id',
  provider: 'anthropic',
  words: anthropicWire.words,
  take: countRequestOf,
  put: (reply) => reply,
  error: anthropicWire.error,
}

const eventsOf = (events: Parameters<typeof messageEvents>[0], { headers, usage, stoppedBy }: Reply, call: WireCall) =>
  messageEvents(events, {
    rename: (chunk) => renamed(chunk, call) as JsonObject,
    failure({ code: status, error }) {
      const { code, message } = asObject(error) ?? {}
      const about = { status: Number(status) || 500, names: [asText(code)], message: String(message) }
      return errorBody({ ...about, id: headers['x-request-id'] ?? '' })
    },
    usage,
    stoppedBy,
  })

const KNOWN = Object.values(ANTHROPIC_ERRORS)

interface ErrorFacts {
  status: number
  /** Candidates for its type, in order of preference. */
  names: readonly (string | undefined)[]
  message: string
  id: string
}

function errorBody({ status, names, message, id }: ErrorFacts) {
  // A type from a fixture or a provider is kept if the API knows it.
  const type = names.find((name) => name !== undefined && KNOWN.includes(name)) ?? errorName(status, ANTHROPIC_ERRORS)
  const details = names.includes(THREAD_NOT_FOUND) && { details: { error_code: THREAD_NOT_FOUND } }
  return { type: 'error' as const, error: { type, message, ...details }, request_id: id }
}

/** Converts a whole completion to a message. */
function messageOf(completion: JsonObject, stoppedBy: string | undefined): JsonObject {
  const [choice] = objectsIn(completion.choices)
  const message = asObject(choice?.message) ?? {}
  const { reasoning, reasoning_signature: signature, redacted_reasoning: redacted, content, refusal } = message
  const thoughts = asText(reasoning)
  const text = asText(content) || asText(refusal)
  return {
    ...emptyMessage(completion),
    content: [
      ...(thoughts ? [{ type: 'thinking', thinking: thoughts, signature: signatureOf(thoughts, signature) }] : []),
      ...(asText(redacted) ? [{ type: 'redacted_thinking', data: redacted }] : []),
      ...(text ? [{ type: 'text', text }] : []),
      ...objectsIn(message.tool_calls).map(({ id, function: called }) => ({
        ...toolUse(id, asObject(called)?.name),
        input: parsedJson(asText(asObject(called)?.arguments) ?? '') ?? {},
      })),
    ],
    ...messageEnd({ finish: choice?.finish_reason, stoppedBy, refused: Boolean(asText(refusal)) }),
    usage: messageUsage(completion.usage),
  }
}
