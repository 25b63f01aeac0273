// empty-body: the status is a success and the body is empty.
import { onAnswer } from './change.ts'
import { defineFault } from './define.ts'
import { discard, withBytes } from './wire.ts'

/** Tests that a client checks the body: the status is a success, the body is empty. */
export const emptyBody = defineFault({
  type: 'empty-body',
  summary: 'The response has a success status and an empty body.',
  apply: (_, next, context) =>
    onAnswer(next, context, {
      async change(reply) {
        context.triggered()
        await discard(reply)
        return withBytes(reply, new Uint8Array())
      },
    }),
})
