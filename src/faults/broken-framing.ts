// broken-framing: a chunked response contains an invalid chunk size.
import { z } from 'zod'
import { ConnectionFailure } from '../contract/core/reply.ts'
import { onAnswer, streamBlocks } from './change.ts'
import { defineFault } from './define.ts'
import { isStream, mapBlocks, piecesOf, withBytes } from './wire.ts'

/** Tests HTTP clients against a chunked body with an invalid chunk size (RFC 9112, 7.1). */
export const brokenFraming = defineFault({
  type: 'broken-framing',
  summary: 'A chunked response contains an invalid chunk size after some chunks.',
  options: {
    after_chunks: z
      .int()
      .min(1)
      .default(1)
      .describe('Complete events before the invalid chunk size. A response that is not streamed counts as one event.'),
  },
  example: { after_chunks: 6 },
  apply: ({ after_chunks: whole }, next, context) =>
    onAnswer(next, context, {
      change(reply) {
        const broken = async function* <Chunk>(chunks: AsyncIterable<Chunk> | Iterable<Chunk>) {
          let remaining = whole
          for await (const chunk of chunks) {
            if (remaining-- <= 0) break
            yield chunk
          }
          context.triggered()
          throw new ConnectionFailure('the chunked encoding of the response is invalid', 'garbled')
        }
        if (isStream(reply)) return mapBlocks(reply, context.operation, (blocks) => broken(streamBlocks(blocks)))
        return withBytes(reply, broken(piecesOf(reply)))
      },
    }),
})
