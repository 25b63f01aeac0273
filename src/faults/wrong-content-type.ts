// wrong-content-type: the content type does not match the body.
import { z } from 'zod'
import { onAnswer } from './change.ts'
import { defineFault } from './define.ts'
import { changed, streamBytes } from './wire.ts'

/** Tests clients that trust `content-type`: the body is correct, the header is not. */
export const wrongContentType = defineFault({
  type: 'wrong-content-type',
  summary: 'The response is correct, but has the wrong content type.',
  options: { content_type: z.string().min(1).default('text/html').describe('The content type to send.') },
  example: { content_type: 'text/html' },
  apply: ({ content_type: contentType }, next, context) =>
    onAnswer(next, context, {
      change(reply) {
        const body = streamBytes(reply)
        if (body.contentType === contentType) {
          context.skipped('the response already has that content type')
          return reply
        }
        context.triggered()
        return changed(reply, { body: { ...body, contentType } })
      },
    }),
})
