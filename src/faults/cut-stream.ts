// cut-stream: the answer breaks off in the middle.
import { z } from 'zod'
import { ConnectionFailure, type Reply } from '../contract/reply.ts'
import { defineFault } from './define.ts'
import { isStream, mapBlocks, streamBytes, streamOf, wholeBytes } from './wire.ts'

export const cutStream = defineFault({
  type: 'cut-stream',
  summary: 'The answer breaks off after some chunks, tokens or bytes, or a share of it.',
  points: ['provider', 'gateway'],
  options: {
    after_chunks: z.int().min(0).optional().describe('Events of a stream that still arrive whole.'),
    after_bytes: z.int().min(0).optional().describe('Bytes that still arrive.'),
    after_fraction: z.number().min(0).max(1).optional().describe('Share of the bytes that still arrives.'),
    close: z
      .enum(['clean', 'reset', 'abrupt'])
      .default('reset')
      .describe('How it ends: as if it were complete, or with the connection, which is closed or reset.'),
  },
  example: { after_chunks: 3 },
  async apply({ after_chunks: chunks, after_bytes: most, after_fraction: fraction, close }, next, context) {
    const reply = await next()
    const end = () => {
      if (close === 'reset') throw new ConnectionFailure('the connection was reset in the middle of the answer')
      if (close === 'abrupt')
        throw new ConnectionFailure('the connection was closed in the middle of the answer', 'closed')
    }
    if (most === undefined && fraction === undefined) {
      if (!isStream(reply)) {
        context.skip('the answer is no stream')
        return reply
      }
      return mapBlocks(reply, async function* (blocks) {
        let sent = 0
        for await (const { text } of blocks) {
          if (sent++ >= (chunks ?? 1)) return end()
          yield text
        }
      })
    }
    return cutBytes(reply, { most, fraction, end })
  },
})

async function cutBytes(
  reply: Reply,
  { most, fraction = 1, end }: { most: number | undefined; fraction: number | undefined; end: () => void },
): Promise<Reply> {
  const { contentType } = streamBytes(reply)
  const bytes = async function* () {
    const all = (await wholeBytes(reply)).bytes
    const length = Math.min(most ?? Number.POSITIVE_INFINITY, Math.floor(all.length * fraction))
    if (length > 0) yield all.slice(0, length)
    if (length < all.length) end()
  }
  return { ...reply, body: { kind: 'bytes', contentType, bytes: streamOf(bytes()) } }
}
