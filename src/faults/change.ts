// Helpers for faults that change a response: its events, a position in its stream, its bytes or its JSON.

import { z } from 'zod'
import type { FaultContext, NextReply } from '../contract/core/fault.ts'
import { ConnectionFailure, type Reply } from '../contract/core/reply.ts'
import type { EventData } from '../lib/sse.ts'
import { asObject, type JsonObject, objectsIn, parsedJson } from '../lib/values.ts'
import {
  type BlockChange,
  type EventBlock,
  isAnswer,
  isStream,
  mapBlocks,
  piecesOf,
  type SentPiece,
  wholeBytes,
  withBytes,
} from './wire.ts'

/** Why a fault is skipped if a response ends before its position. */
const TOO_SHORT = 'the response ended before the position of the fault'
const NOT_RECEIVED = 'the client disconnected before the position of the fault'

/** Passes pieces on. Reports the fault as skipped if it was not triggered by their end. */
export async function* skippedAtEnd<Piece>(
  pieces: AsyncIterable<Piece>,
  { signal, skipped }: Pick<FaultContext, 'signal' | 'skipped'>,
  reason: string = TOO_SHORT,
): AsyncGenerator<Piece> {
  try {
    yield* pieces
  } finally {
    skipped(signal.aborted ? NOT_RECEIVED : reason)
  }
}

/** Changes a successful reply of the required form. Otherwise reports the fault as skipped. */
export async function onAnswer(
  next: NextReply,
  context: FaultContext,
  { form, change }: { form?: 'stream' | 'whole'; change(reply: Reply): Reply | Promise<Reply> },
): Promise<Reply> {
  const reply = await next()
  const actual = isStream(reply) ? 'stream' : 'whole'
  if (isAnswer(reply) && (form ?? actual) === actual) return change(reply)
  context.skipped(
    isAnswer(reply)
      ? `the response is ${actual === 'stream' ? 'a' : 'not a'} stream`
      : 'the provider rejected the call',
  )
  return reply
}

/** Changes the events of a stream. `reason` explains why the fault was not triggered by its end. */
export const changeStream = (
  next: NextReply,
  { reason, ...context }: FaultContext & { reason?: string },
  change: BlockChange,
): Promise<Reply> =>
  onAnswer(next, context, {
    form: 'stream',
    change: (reply) => mapBlocks(reply, context.operation, (blocks) => skippedAtEnd(change(blocks), context, reason)),
  })

/** Options for the position of a fault in a stream. */
export const PLACE = {
  after_chunks: z
    .int()
    .min(0)
    .optional()
    .describe('Stream events sent before the fault. Default 1 if no position is given.'),
  after_tokens: z.int().min(0).optional().describe('Response tokens sent before the fault.'),
}
interface StreamPoint {
  after_chunks?: number | undefined
  after_tokens?: number | undefined
}

/** The events around a position of a stream. */
interface StreamPosition {
  /** The events before it. */
  sent: readonly EventData[]
  /** All blocks after the one at the position. */
  rest: AsyncGenerator<EventBlock>
}

/** Replaces a stream from the block at a position on. It ends there if `change` returns undefined. */
export const changeAt = (
  next: NextReply,
  context: FaultContext,
  place: StreamPoint & { change(block: EventBlock, around: StreamPosition): AsyncGenerator<SentPiece> | undefined },
): Promise<Reply> =>
  changeStream(next, context, async function* (blocks) {
    const { after_tokens: limit = Number.POSITIVE_INFINITY, change } = place
    const { after_chunks: chunks = place.after_tokens === undefined ? 1 : Number.POSITIVE_INFINITY } = place
    const sent: EventData[] = []
    let tokens = 0
    for (let next = await blocks.next(); !next.done; next = await blocks.next()) {
      const { kind, bytes, data } = next.value
      if (kind !== 'comment' && (sent.length >= chunks || tokens >= limit)) {
        const more = change(next.value, { sent, rest: blocks })
        if (more) yield* more
        return
      }
      if (kind === 'event') sent.push({ data })
      tokens += next.value.tokens
      yield bytes
    }
  })

/** The bytes of blocks. */
export async function* streamBlocks(blocks: AsyncIterable<EventBlock>): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of blocks) yield bytes
}

/** How a connection can end in the middle of a response. */
export const CLOSES = ['clean', 'reset', 'abrupt'] as const

/**
 * Ends a response. A clean end does nothing.
 * @throws ConnectionFailure for all others
 */
export function endAs(close: (typeof CLOSES)[number]): undefined {
  if (close === 'reset') throw new ConnectionFailure('the connection was reset in the middle of the response')
  if (close === 'abrupt')
    throw new ConnectionFailure('the connection was closed in the middle of the response', 'closed')
}

interface Cut {
  after_bytes?: number | undefined
  after_fraction?: number | undefined
  close: (typeof CLOSES)[number]
}

/** The reply with only the first part of its bytes. For a fraction, the body is buffered first. */
export const cutBytes = (next: NextReply, context: FaultContext, cut: Cut): Promise<Reply> =>
  onAnswer(next, context, {
    async change(reply) {
      const pieces = skippedAtEnd(firstBytes(reply, cut, context), context)
      // A clean end of a body that is not a stream needs the right content-length.
      const whole = cut.close === 'clean' && !isStream(reply)
      return withBytes(reply, whole ? Buffer.concat(await Array.fromAsync(pieces)) : pieces)
    },
  })

async function* firstBytes(reply: Reply, cut: Cut, { triggered }: FaultContext): AsyncGenerator<Uint8Array> {
  const { after_bytes: limit = Number.POSITIVE_INFINITY, after_fraction: fraction, close } = cut
  const all = fraction === undefined ? undefined : await wholeBytes(reply)
  let remaining = all && fraction !== undefined ? Math.min(limit, Math.floor(all.length * fraction)) : limit
  for await (const piece of all ? [all] : piecesOf(reply)) {
    if (piece.length > remaining) {
      if (remaining > 0) yield piece.subarray(0, remaining)
      triggered()
      return endAs(close)
    }
    remaining -= piece.length
    yield piece
  }
}

/** Changes the JSON of a response that is not streamed. `change` returns undefined or the same text to change nothing. */
export const changeWhole = (
  next: NextReply,
  context: FaultContext,
  change: (text: string) => string | undefined | Promise<string | undefined>,
): Promise<Reply> =>
  onAnswer(next, context, {
    form: 'whole',
    async change(reply) {
      const bytes = await wholeBytes(reply)
      const before = new TextDecoder().decode(bytes)
      const text = await change(before)
      // A body can only be read once, so the bytes are sent as they were read.
      if (text === undefined || text === before) return withBytes(reply, bytes)
      context.triggered()
      return withBytes(reply, new TextEncoder().encode(text))
    },
  })

/**
 * Changes the JSON object of a response, streamed or not. `whole` returns undefined if there is nothing to change, which
 * `reason` explains.
 */
export const changeJson = (
  next: NextReply,
  context: FaultContext,
  { whole, stream, reason }: { whole(value: JsonObject): JsonObject | undefined; stream: BlockChange; reason: string },
): Promise<Reply> =>
  context.stream
    ? changeStream(next, { ...context, reason }, stream)
    : changeWhole(next, context, (text) => {
        const other = whole(asObject(parsedJson(text)) ?? {})
        if (!other) context.skipped(reason)
        return other && JSON.stringify(other)
      })

/** A finish reason of chat completions, or an unknown one. */
export type AnswerEnd = string

/**
 * A response, choice or event with another finish reason. Undefined if it has none. In the Responses API, the status is `completed`
 * for a normal end or a tool call, and `incomplete` for any other reason.
 */
export function endedAs(value: JsonObject, end: AnswerEnd): JsonObject | undefined {
  const { choices, finish_reason: finish, stop_reason: stop, status, response, type } = value
  if (stop != null) return { ...value, stop_reason: STOPS[end] ?? end }
  if (type === 'message_delta') {
    const delta = endedAs(asObject(value.delta) ?? {}, end)
    return delta && { ...value, delta }
  }
  if (finish != null) return { ...value, finish_reason: end }
  if (Array.isArray(choices)) {
    const changed = objectsIn(choices).map((choice) => endedAs(choice, end) ?? choice)
    return changed.some((choice, index) => choice !== choices[index]) ? { ...value, choices: changed } : undefined
  }
  if (asObject(response) && (type === 'response.completed' || type === 'response.incomplete')) {
    const inner = endedAs(asObject(response) ?? {}, end)
    if (!inner) return undefined
    return { ...value, type: `response.${String(inner.status)}`, response: inner }
  }
  if (status !== 'completed' && status !== 'incomplete') return undefined
  if (end === 'stop' || end === 'tool_calls') return { ...value, status: 'completed', incomplete_details: null }
  const ended = { ...value, status: 'incomplete', incomplete_details: { reason: REASONS[end] ?? end } }
  return end === 'length' ? { ...ended, output: lastIncomplete(objectsIn(value.output)) } : ended
}

/** Stop reasons of Anthropic by finish reason. */
const STOPS: Readonly<Record<string, string>> = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' }
const REASONS: Readonly<Record<string, string>> = { length: 'max_output_tokens' }

/** The items of a response, with the last one marked as incomplete. */
const lastIncomplete = (output: readonly JsonObject[]): JsonObject[] =>
  output.map((item, index) => (index === output.length - 1 ? { ...item, status: 'incomplete' } : item))
