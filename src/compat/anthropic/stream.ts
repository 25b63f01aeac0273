// Converts a stream of chat chunks to the events of a message.
import type { StreamRules } from '../../contract/core/operation.ts'
import {
  DONE_EVENT,
  dataEvent,
  type EventBatch,
  type EventData,
  type EventStream,
  mapEvents,
  type StreamEvent,
} from '../../lib/sse.ts'
import { asObject, asText, type JsonObject, objectsIn, parsedJson } from '../../lib/values.ts'
import { emptyMessage, messageEnd, messageUsage, signatureOf, toolUse, usageAtEnd } from './from-chat.ts'

const named = (type: string, more: object, tokens?: number): StreamEvent =>
  dataEvent({ type, ...more }, { event: type, tokens })

/** How faults read these events. */
export const messageRules: StreamRules = {
  ends: ({ type }) => type === 'message_stop',
  wrongWith: ({ type }) => (typeof type === 'string' ? undefined : "it has no 'type'"),
  hasContent: ({ type }) => type === 'content_block_delta',
  // A message is complete once it has a stop reason; `message_stop` is only an end mark.
  complete: (events) => events.some(({ data }) => endsMessage(asObject(data))),
  failureIn: (data) => (data.type === 'error' ? data : undefined),
}

const endsMessage = (data: JsonObject | undefined): boolean =>
  data?.type === 'message_delta' && asText(asObject(data.delta)?.stop_reason) !== undefined

/** What is known about a stream besides its chunks. */
interface MessageStream {
  /** A chunk with its model as the request named it. */
  rename(chunk: JsonObject): JsonObject
  /** The body of an error. */
  failure(error: JsonObject): object
  /** The token counts, if known at the beginning. */
  usage: unknown
  /** The stop sequence that ends the text, if known. */
  stoppedBy: string | undefined
}

/** Converts the events of a completion to those of a message. */
export function messageEvents(events: EventStream, stream: MessageStream): EventStream {
  const message = growingMessage(stream)
  return mapEvents(events, ({ data, text, tokens }): EventBatch => {
    if (text === DONE_EVENT.text) return [...message.end()]
    const chunk = asObject(data)
    if (asObject(chunk?.error)) return [dataEvent(stream.failure(chunk ?? {}), { event: 'error' })]
    return chunk ? [...message.add(stream.rename(chunk), tokens)] : []
  })
}

const delta = (index: number, type: string, more: object, tokens?: number): StreamEvent =>
  named('content_block_delta', { index, delta: { type, ...more } }, tokens)

/** The blocks of a message so far; the last one may be open. */
function growingBlocks() {
  let index = -1
  let open: string | undefined
  let thoughts = ''
  let signed = false
  const sign = (signature: unknown): StreamEvent => {
    signed = true
    return delta(index, 'signature_delta', { signature: signatureOf(thoughts, signature) })
  }
  const close = (): StreamEvent[] => {
    if (open === undefined) return []
    const signature = open === 'thinking' && !signed ? [sign(undefined)] : []
    open = undefined
    return [...signature, named('content_block_stop', { index })]
  }
  const block = (key: string, content_block: JsonObject): StreamEvent[] => {
    if (open === key) return []
    const before = close()
    open = key
    index++
    return [...before, named('content_block_start', { index, content_block })]
  }
  function* think(piece: JsonObject, tokens: number | undefined): Generator<StreamEvent> {
    const thought = asText(piece.reasoning)
    const signature = asText(piece.reasoning_signature)
    const redacted = asText(piece.redacted_reasoning)
    if (thought || signature) yield* block('thinking', { type: 'thinking', thinking: '', signature: '' })
    if (thought) {
      thoughts += thought
      yield delta(index, 'thinking_delta', { thinking: thought }, tokens)
    }
    if (signature) yield sign(signature)
    if (redacted) yield* block('redacted', { type: 'redacted_thinking', data: redacted })
  }
  return {
    close,
    *grow(piece: JsonObject, tokens: number | undefined): Generator<StreamEvent> {
      yield* think(piece, tokens)
      const text = asText(piece.content) || asText(piece.refusal)
      if (text) {
        yield* block('text', { type: 'text', text: '' })
        yield delta(index, 'text_delta', { text }, tokens)
      }
      for (const { index: at, id, function: called } of objectsIn(piece.tool_calls)) {
        const { name, arguments: json } = asObject(called) ?? {}
        yield* block(`call ${at}`, toolUse(id, name))
        if (asText(json)) yield delta(index, 'input_json_delta', { partial_json: json }, tokens)
      }
    },
  }
}

/** A message so far, and its stop reason. */
function growingMessage({ usage: initialUsage, stoppedBy }: MessageStream) {
  const blocks = growingBlocks()
  let begun = false
  let finish: unknown
  let refused = false
  let usage = initialUsage
  return {
    *add(chunk: JsonObject, tokens: number | undefined): Generator<StreamEvent> {
      if (!begun) {
        begun = true
        const open = messageEnd({ finish: null, stoppedBy: undefined, refused: false })
        // Like Anthropic, counts one output token at the beginning.
        const counted = { ...messageUsage(initialUsage), output_tokens: 1 }
        yield named('message_start', { message: { ...emptyMessage(chunk), ...open, usage: counted } })
      }
      usage = chunk.usage ?? usage
      const [choice] = objectsIn(chunk.choices)
      const piece = asObject(choice?.delta) ?? {}
      if (asText(piece.refusal)) refused = true
      yield* blocks.grow(piece, tokens)
      finish = choice?.finish_reason ?? finish
    },
    *end(): Generator<StreamEvent> {
      yield* blocks.close()
      yield named('message_delta', { delta: messageEnd({ finish, stoppedBy, refused }), usage: usageAtEnd(usage) })
      yield named('message_stop', {})
    },
  }
}

/** The message so far, including unfinished blocks. */
export function assembleMessage(events: readonly EventData[]): JsonObject {
  let message: JsonObject = {}
  const blocks: JsonObject[] = []
  const inputs = new Map<number, string>()
  for (const event of events) {
    const data = asObject(event.data) ?? {}
    const index = Number(data.index)
    if (data.type === 'message_start') message = { ...asObject(data.message) }
    else if (data.type === 'content_block_start') blocks[index] = { ...asObject(data.content_block) }
    else if (data.type === 'content_block_delta') addDelta(blocks[index], asObject(data.delta) ?? {}, { inputs, index })
    else if (data.type === 'message_delta') {
      const usage = { ...asObject(message.usage), ...asObject(data.usage) }
      message = { ...message, ...asObject(data.delta), usage }
    }
  }
  for (const [index, json] of inputs) {
    const block = blocks[index]
    if (block) block.input = parsedJson(json) ?? json
  }
  return { ...message, content: blocks.filter(Boolean) }
}

/** Fields of a block that fields of the same name extend. */
const TEXTS = ['text', 'thinking', 'signature']

function addDelta(
  block: JsonObject | undefined,
  delta: JsonObject,
  { inputs, index }: { inputs: Map<number, string>; index: number },
): void {
  if (!block) return
  for (const name of TEXTS) {
    const text = asText(delta[name])
    if (text) block[name] = (asText(block[name]) ?? '') + text
  }
  if (delta.citation !== undefined) {
    const before = Array.isArray(block.citations) ? (block.citations as unknown[]) : []
    block.citations = [...before, delta.citation]
  }
  const json = asText(delta.partial_json)
  if (json !== undefined) inputs.set(index, (inputs.get(index) ?? '') + json)
}
