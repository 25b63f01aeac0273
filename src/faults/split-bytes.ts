// split-bytes: the correct bytes, split inside a character or a JSON token.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import type { Reply } from '../contract/core/reply.ts'
import { onAnswer, skippedAtEnd } from './change.ts'
import { defineFault } from './define.ts'
import { piecesOf, withBytes } from './wire.ts'

/** Split positions: after the first byte of a multi-byte character, or in the middle of a JSON token. */
const CHARACTER = /(?<=[\xc2-\xf4])(?=[\x80-\xbf])/g
const TOKEN = /"(?:[^"\\]|\\.)*"|[\w.+-]{2,}|\r?\n\r?\n/g

/** Tests parsers that assume that a packet ends between characters or events. */
export const splitBytes = defineFault({
  type: 'split-bytes',
  summary: 'The bytes are correct, but are split into pieces inside a character or a JSON token.',
  options: {
    inside: z.enum(['any', 'character', 'token']).default('any').describe('Where to split. Default: both.'),
    size: z.int().min(1).optional().describe('Fixed size of each piece in bytes. Overrides `inside`.'),
    wait: Duration.default(0).describe('Delay between pieces.'),
  },
  example: { inside: 'any' },
  apply: ({ wait, ...options }, next, context) =>
    onAnswer(next, context, {
      change(reply) {
        const pieces = async function* () {
          for await (const { piece, first } of parts(reply, options)) {
            if (!first) context.triggered()
            if (!first && wait > 0) await context.clock.latency(wait, context.signal)
            yield piece
          }
        }
        return withBytes(reply, skippedAtEnd(pieces(), context, 'the response has no such position'))
      },
    }),
})

interface SplitOptions {
  inside: 'any' | 'character' | 'token'
  size?: number | undefined
}

async function* parts(reply: Reply, options: SplitOptions): AsyncGenerator<{ piece: Uint8Array; first: boolean }> {
  for await (const whole of piecesOf(reply)) {
    const ends = [...splitPositions(whole, options), whole.length]
    for (const [index, end] of ends.entries()) {
      yield { piece: whole.subarray(ends[index - 1] ?? 0, end), first: index === 0 }
    }
  }
}

/** Offsets at which bytes are split, in order. */
function splitPositions(bytes: Uint8Array, { inside, size }: SplitOptions): number[] {
  if (size !== undefined)
    return Array.from({ length: Math.ceil(bytes.length / size) - 1 }, (_, index) => (index + 1) * size)
  // Latin-1 has one character per byte, so offsets in the text are offsets in the bytes.
  const text = Buffer.from(bytes).toString('latin1')
  const characters = inside === 'token' ? [] : [...text.matchAll(CHARACTER)].map(({ index }) => index)
  const tokens =
    inside === 'character' ? [] : [...text.matchAll(TOKEN)].map(({ 0: token, index }) => index + (token.length >> 1))
  return [...new Set([...characters, ...tokens])].sort((one, other) => one - other)
}
