// truncate-body: the body is truncated, and only a content-length may show it.
import { z } from 'zod'
import { cutBytes } from './change.ts'
import { defineFault } from './define.ts'
import { isStream, wholeBytes, withBytes } from './wire.ts'

/** Tests that a client notices a body that is shorter than it should be, on a connection that ends normally. */
export const truncateBody = defineFault({
  type: 'truncate-body',
  summary: 'The body is truncated, but the response ends normally.',
  options: {
    after_bytes: z.int().min(0).optional().describe('Number of bytes sent.'),
    after_fraction: z.number().min(0).max(1).optional().describe('Share of the bytes sent. Default 0.5.'),
    announce: z
      .boolean()
      .default(false)
      .describe(
        'Whether the content-length of a whole response promises all of it; the connection then closes too early.',
      ),
  },
  example: { after_fraction: 0.5 },
  async apply(options, next, context) {
    const { after_bytes: limit, after_fraction: share = limit === undefined ? 0.5 : undefined, announce } = options
    let announced: number | undefined
    const measured = async () => {
      const reply = await next()
      if (!announce || isStream(reply)) return reply
      const bytes = await wholeBytes(reply)
      announced = bytes.length
      return withBytes(reply, bytes)
    }
    const cut = await cutBytes(measured, context, { after_bytes: limit, after_fraction: share, close: 'clean' })
    const { body } = cut
    if (announced === undefined || body.kind !== 'bytes') return cut
    // A body that is too short to be truncated is complete.
    return body.bytes instanceof Uint8Array && body.bytes.length === announced
      ? cut
      : { ...cut, body: { ...body, announced } }
  },
})
