// cut-stream: the response is cut off in the middle.
import { z } from 'zod'
import { CLOSES, changeAt, cutBytes, endAs, PLACE } from './change.ts'
import { defineFault } from './define.ts'

/** Tests that a client notices an incomplete response: the connection closes in the middle. */
export const cutStream = defineFault({
  type: 'cut-stream',
  summary: 'The response is cut off after a number of chunks, tokens, or bytes, or after a share of its bytes.',
  options: {
    ...PLACE,
    after_bytes: z.int().min(0).optional().describe('Number of bytes sent before the cut, streamed or not.'),
    after_fraction: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('Share of the bytes sent before the cut. The response is buffered until its length is known.'),
    close: z
      .enum(CLOSES)
      .default('reset')
      .describe('How the connection ends: `clean` as if complete, `reset` by TCP RST, or `abrupt` by closing early.'),
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
