// broken-framing: in the middle of a chunked answer comes what is no chunk.
import { z } from 'zod'
import { ConnectionFailure } from '../contract/reply.ts'
import { defineFault } from './define.ts'
import { streamBytes, streamOf } from './wire.ts'

export const brokenFraming = defineFault({
  type: 'broken-framing',
  summary: 'The answer is chunked, and after some chunks comes a line that is no chunk size.',
  points: ['provider', 'gateway'],
  options: {
    after_chunks: z.int().min(1).default(1).describe('Chunks that still arrive whole; a whole answer is one of them.'),
  },
  example: { after_chunks: 1 },
  socket: true,
  async apply({ after_chunks: whole }, next) {
    const reply = await next()
    const { contentType, bytes } = streamBytes(reply)
    const pieces = async function* () {
      let left = whole
      for await (const piece of bytes instanceof Uint8Array ? [bytes] : bytes) {
        if (left-- <= 0) break
        yield piece
      }
      throw new ConnectionFailure('the chunked encoding of the answer is broken', 'garbled')
    }
    return { ...reply, body: { kind: 'bytes', contentType, bytes: streamOf(pieces()) } }
  },
})
