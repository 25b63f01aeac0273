// The ways in which faults reach into an answer: its events, a place in its stream, its bytes or its JSON.
import { z } from 'zod'
import type { FaultContext, NextReply } from '../contract/core/fault.ts'
import { ConnectionFailure, type Reply } from '../contract/core/reply.ts'
import type { EventData } from '../lib/sse.ts'
import {
  type BlockChange,
  changed,
  type EventBlock,
  isAnswer,
  isStream,
  mapBlocks,
  piecesOf,
  streamBytes,
  wholeBytes,
} from './wire.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Why a fault that needs more of an answer than there is does nothing. */
const TOO_SHORT = 'the response ended before the position of the fault'
const NOT_RECEIVED = 'the client disconnected before the position of the fault'

/** The same pieces; a fault that has not been triggered by their end never is. */
export async function* orUnset<Piece>(
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

/** The reply when it is an answer of the form that a fault acts on; otherwise the fault is noted as skipped. */
export async function onAnswer(
  next: NextReply,
  context: FaultContext,
  { form, change }: { form?: 'stream' | 'whole'; change(reply: Reply): Reply | Promise<Reply> },
): Promise<Reply> {
  const reply = await next()
  const actual = isStream(reply) ? 'stream' : 'whole'
  if (isAnswer(reply) && (form ?? actual) === actual) return change(reply)
  context.skipped(
    isAnswer(reply) ? `the answer is ${actual === 'stream' ? 'a' : 'not a'} stream` : 'the provider rejected the call',
  )
  return reply
}

/** The reply with its events replaced by what `change` makes of them, when it is a stream; `reason` says why it may not act by its end. */
export const changeStream = (
  next: NextReply,
  context: FaultContext,
  change: BlockChange,
  reason?: string,
): Promise<Reply> =>
  onAnswer(next, context, {
    form: 'stream',
    change: (reply) => mapBlocks(reply, context.operation, (blocks) => orUnset(change(blocks), context, reason)),
  })

/** Options that say at which place of a stream a fault acts. */
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

/** What is around a place of a stream. */
export interface StreamPosition {
  /** The events before it. */
  sent: readonly EventData[]
  /** All that comes after the block at the place. */
  rest: AsyncGenerator<EventBlock>
}

/** The reply with all from the block at a place on replaced, when it is a stream; without a value, the stream ends there. */
export const changeAt = (
  next: NextReply,
  context: FaultContext,
  place: StreamPoint & { change(block: EventBlock, around: StreamPosition): AsyncGenerator<string> | undefined },
): Promise<Reply> =>
  changeStream(next, context, async function* (blocks) {
    const { after_tokens: most = Number.POSITIVE_INFINITY, change } = place
    const { after_chunks: chunks = place.after_tokens === undefined ? 1 : Number.POSITIVE_INFINITY } = place
    const sent: EventData[] = []
    let tokens = 0
    for (let next = await blocks.next(); !next.done; next = await blocks.next()) {
      const { kind, text, data } = next.value
      if (kind !== 'comment' && (sent.length >= chunks || tokens >= most)) {
        const more = change(next.value, { sent, rest: blocks })
        if (more) yield* more
        return
      }
      if (kind === 'event') sent.push({ data })
      tokens += next.value.tokens
      yield text
    }
  })

/** The texts of blocks. */
export async function* streamTexts(blocks: AsyncIterable<EventBlock>): AsyncGenerator<string> {
  for await (const { text } of blocks) yield text
}

/** How a connection ends in the middle of an answer. */
export const CLOSES = ['clean', 'reset', 'abrupt'] as const

/** Ends an answer: cleanly by doing nothing, otherwise by a failure of the connection. */
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

/** The reply with only the first part of its bytes, which keep their pace; a fraction has to wait for the length. */
export const cutBytes = (next: NextReply, context: FaultContext, cut: Cut): Promise<Reply> =>
  onAnswer(next, context, {
    async change(reply) {
      const { contentType } = streamBytes(reply)
      const pieces = orUnset(firstBytes(reply, cut, context), context)
      // What ends cleanly without being a stream has a length that is right for what is left.
      const whole = cut.close === 'clean' && !isStream(reply)
      const bytes = whole ? Buffer.concat(await Array.fromAsync(pieces)) : pieces
      return changed(reply, { body: { kind: 'bytes', contentType, bytes } })
    },
  })

async function* firstBytes(reply: Reply, cut: Cut, { triggered }: FaultContext): AsyncGenerator<Uint8Array> {
  const { after_bytes: most = Number.POSITIVE_INFINITY, after_fraction: fraction, close } = cut
  const all = fraction === undefined ? undefined : await wholeBytes(reply)
  let left = all && fraction !== undefined ? Math.min(most, Math.floor(all.length * fraction)) : most
  for await (const piece of all ? [all] : piecesOf(reply)) {
    if (piece.length > left) {
      if (left > 0) yield piece.subarray(0, left)
      triggered()
      return endAs(close)
    }
    left -= piece.length
    yield piece
  }
}

/** The reply with the JSON of a whole answer changed; what `change` gives back takes its place, nothing leaves it as it is. The same text is no change. */
export const changeWhole = (
  next: NextReply,
  context: FaultContext,
  change: (text: string) => string | undefined,
): Promise<Reply> =>
  onAnswer(next, context, {
    form: 'whole',
    async change(reply) {
      const { contentType } = streamBytes(reply)
      const bytes = await wholeBytes(reply)
      const before = decoder.decode(bytes)
      const text = change(before)
      // The bytes of a provider can be read once: they go on as they were read.
      if (text === undefined || text === before) return changed(reply, { body: { kind: 'bytes', contentType, bytes } })
      context.triggered()
      return changed(reply, { body: { kind: 'bytes', contentType, bytes: encoder.encode(text) } })
    },
  })
