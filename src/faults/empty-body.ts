// empty-body: the status is a success and the body is empty.
import { onAnswer } from './change.ts'
import { defineFault } from './define.ts'
import { changed, discard, streamBytes } from './wire.ts'

/** Tests that a client checks the body: the status is a success, the body is empty. */
export const emptyBody = defineFault({
  type: 'empty-body',
  summary: 'The response has a success status and an empty body.',
  points: ['provider', 'gateway'],
  options: {},
  example: {},
  apply: (_, next, context) =>
    onAnswer(next, context, {
      async change(reply) {
        const { contentType } = streamBytes(reply)
        context.triggered()
        await discard(reply)
        return changed(reply, { body: { kind: 'bytes', contentType, bytes: new Uint8Array() } })
      },
    }),
})
