// stall-stream: a stream stalls in the middle.
import { z } from 'zod'
import { PositiveDuration } from '../contract/core/duration.ts'
import { endsWithoutData } from '../lib/hang-reset.ts'
import { CLOSES, changeAt, endAs, PLACE, streamBlocks } from './change.ts'
import { defineFault } from './define.ts'

/** Tests that a client notices a stream that goes silent in the middle, for a time in ms or for good. */
export const stallStream = defineFault({
  type: 'stall-stream',
  summary: 'A stream stalls in the middle, for a time or forever.',
  options: {
    ...PLACE,
    for: PositiveDuration.optional().describe('Length of the stall. If omitted, forever.'),
    close: z
      .enum(CLOSES)
      .optional()
      .describe('How the connection ends after the stall, as in cut-stream. If omitted, the stream continues.'),
  },
  example: { after_chunks: 6, for: '30s' },
  apply: (options, next, context) =>
    changeAt(next, context, {
      ...options,
      async *change(block, { rest }) {
        const { for: length = Number.POSITIVE_INFINITY, close } = options
        const { clock, signal } = context
        context.triggered()
        const stall = clock.latency(length, signal)
        if (close) {
          await stall.catch(endsWithoutData)
          return endAs(close)
        }
        await stall
        yield block.bytes
        yield* streamBlocks(rest)
      },
    }),
})
