// stall-stream: nothing more comes in the middle of a stream.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import { CLOSES, changeAt, endAs, PLACE, streamTexts } from './change.ts'
import { defineFault } from './define.ts'

export const stallStream = defineFault({
  type: 'stall-stream',
  summary: 'A stream falls silent in the middle, for a time or for ever.',
  points: ['provider', 'gateway'],
  options: {
    ...PLACE,
    for: Duration.optional().describe('How long nothing comes; for ever when left out.'),
    close: z.enum(CLOSES).optional().describe('How it ends after that, as in cut-stream; it goes on when left out.'),
  },
  example: { after_chunks: 6, for: '30s' },
  apply: (options, next, context) =>
    changeAt(next, context, {
      ...options,
      async *change(block, { rest }) {
        const { for: length = Number.POSITIVE_INFINITY, close } = options
        const { clock, signal } = context
        context.triggered()
        await clock.latency(length, signal)
        if (close) return endAs(close)
        yield block.text
        yield* streamTexts(rest)
      },
    }),
})
