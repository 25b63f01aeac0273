// reorder-chunks: two adjacent chunks of a stream are swapped.
import { z } from 'zod'
import { changeStream } from './change.ts'
import { defineFault } from './define.ts'

/** Tests that a client does not depend on the order of a stream's events where it cannot. */
export const reorderChunks = defineFault({
  type: 'reorder-chunks',
  summary: 'Two adjacent chunks of a stream are swapped.',
  options: {
    chunk: z
      .int()
      .min(1)
      .default(1)
      .describe('Position of the first of the two among the chunks with content, from 1.'),
  },
  example: { chunk: 2 },
  apply: ({ chunk }, next, context) =>
    changeStream(next, context, async function* (blocks) {
      let number = 0
      let waiting: Uint8Array | undefined
      for await (const { kind, bytes, content } of blocks) {
        if (content && ++number === chunk) {
          waiting = bytes
          continue
        }
        // The end mark is not a chunk, and clients do not read beyond it.
        if (waiting === undefined || kind === 'comment') {
          yield bytes
          continue
        }
        if (kind !== 'done') context.triggered()
        yield* kind === 'done' ? [waiting, bytes] : [bytes, waiting]
        waiting = undefined
      }
      if (waiting !== undefined) yield waiting
    }),
})
