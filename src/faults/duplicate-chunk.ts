// duplicate-chunk: a chunk of a stream is sent more than once.
import { z } from 'zod'
import { changeStream } from './change.ts'
import { defineFault } from './define.ts'

/** Tests parsers of streams: one content event arrives more than once. */
export const duplicateChunk = defineFault({
  type: 'duplicate-chunk',
  summary: 'A chunk of a stream is sent more than once.',
  options: {
    chunk: z.int().min(1).default(1).describe('Position among the chunks with content, from 1.'),
    copies: z.int().min(1).default(1).describe('Number of extra copies.'),
  },
  example: { chunk: 2 },
  apply: ({ chunk, copies }, next, context) =>
    changeStream(next, context, async function* (blocks) {
      let number = 0
      for await (const { bytes, content } of blocks) {
        yield bytes
        if (!content || ++number !== chunk) continue
        context.triggered()
        for (let copy = 0; copy < copies; copy++) yield bytes
      }
    }),
})
