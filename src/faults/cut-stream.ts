// cut-stream: the answer breaks off in the middle.
import { z } from 'zod'
import { CLOSES, changeAt, cutBytes, endAs, PLACE } from './change.ts'
import { defineFault } from './define.ts'

export const cutStream = defineFault({
  type: 'cut-stream',
  summary: 'The answer breaks off after some chunks, tokens or bytes, or a share of it.',
  points: ['provider', 'gateway'],
  options: {
    ...PLACE,
    after_bytes: z.int().min(0).optional().describe('Bytes that still arrive, of a stream or of a whole answer.'),
    after_fraction: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('Share of the bytes that still arrives; all is held back until its length is known.'),
    close: z
      .enum(CLOSES)
      .default('reset')
      .describe('How it ends: as if it were complete, by a reset, or by a connection that is closed within it.'),
  },
  example: { after_chunks: 6 },
  async apply(options, next, context) {
    const { after_bytes: bytes, after_fraction: fraction, close } = options
    if (bytes !== undefined || fraction !== undefined) return cutBytes(next, context, options)
    const change = () => {
      context.triggered()
      return endAs(close)
    }
    return changeAt(next, context, { ...options, change })
  },
})
