// A stream of chat chunks as the events of a message: blocks that begin, grow and end, and the end of the message.
import type { StreamEvent, StreamEvents } from '../lib/sse.ts'
import { asObject, asText, type JsonObject, objectsIn } from '../lib/values.ts'
import { messageIdOf, messageUsage, stopReasonOf } from './message.ts'

const named = (type: string, more: object, tokens?: number): StreamEvent => ({
  event: type,
  data: { type, ...more },
  ...(tokens !== undefined && { tokens }),
})

/** The events of a message from those of a completion; `rename` gives a chunk its model as the request named it. */
export async function* messageEvents(
  events: StreamEvents,
  rename: (chunk: JsonObject) => JsonObject,
): AsyncGenerator<StreamEvent> {
  const message = growingMessage()
  for await (const { data, text, tokens } of events) {
    if (text === '[DONE]') {
      yield* message.end()
      return
    }
    const chunk = asObject(data)
    const error = asObject(chunk?.error)
    if (error) yield named('error', { error: { type: errorTypeOf(error.type), message: error.message } })
    else if (chunk) yield* message.add(rename(chunk), tokens)
  }
}

const errorTypeOf = (type: unknown) => (type === 'server_error' ? 'api_error' : type)

/** How much of the input there was is known at the end alone. */
function messageStart({ id, model }: JsonObject): StreamEvent {
  const empty = { content: [], stop_reason: null, stop_sequence: null, usage: messageUsage(undefined) }
  return named('message_start', {
    message: { id: messageIdOf(id), type: 'message', role: 'assistant', model, ...empty },
  })
}

/** A message as far as it has come: which of its blocks is open, and why it ends. */
function growingMessage() {
  let begun = false
  let index = -1
  let open: string | undefined
  let finish: unknown
  let usage: unknown
  const close = (): StreamEvent[] => {
    if (open === undefined) return []
    open = undefined
    return [named('content_block_stop', { index })]
  }
  const block = (key: string, content_block: JsonObject): StreamEvent[] => {
    if (open === key) return []
    const before = close()
    open = key
    index++
    return [...before, named('content_block_start', { index, content_block })]
  }
  const delta = (type: string, more: object, tokens?: number) =>
    named('content_block_delta', { index, delta: { type, ...more } }, tokens)

  function* grow(given: JsonObject, tokens: number | undefined): Generator<StreamEvent> {
    const thought = asText(given.reasoning)
    const signature = asText(given.reasoning_signature)
    const text = asText(given.content) || asText(given.refusal)
    if (thought || signature) yield* block('thinking', { type: 'thinking', thinking: '', signature: '' })
    if (thought) yield delta('thinking_delta', { thinking: thought }, tokens)
    if (signature) yield delta('signature_delta', { signature })
    const redacted = asText(given.redacted_reasoning)
    if (redacted) yield* block('redacted', { type: 'redacted_thinking', data: redacted })
    if (text) {
      yield* block('text', { type: 'text', text: '' })
      yield delta('text_delta', { text }, tokens)
    }
    for (const { index: at, id, function: called } of objectsIn(given.tool_calls)) {
      const { name, arguments: json } = asObject(called) ?? {}
      yield* block(`call ${at}`, { type: 'tool_use', id, name, input: {} })
      if (asText(json)) yield delta('input_json_delta', { partial_json: json }, tokens)
    }
  }

  return {
    *add(chunk: JsonObject, tokens: number | undefined): Generator<StreamEvent> {
      if (!begun) {
        begun = true
        yield messageStart(chunk)
      }
      usage = chunk.usage ?? usage
      const [choice] = objectsIn(chunk.choices)
      yield* grow(asObject(choice?.delta) ?? {}, tokens)
      finish = choice?.finish_reason ?? finish
    },
    *end(): Generator<StreamEvent> {
      yield* close()
      const ended = { stop_reason: stopReasonOf(finish), stop_sequence: null }
      yield named('message_delta', { delta: ended, usage: messageUsage(usage) })
      yield named('message_stop', {})
    },
  }
}
