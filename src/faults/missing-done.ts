// missing-done: a stream lacks the last event of its API.
import { changeStream } from './change.ts'
import { defineFault } from './define.ts'

/** Tests that a client notices a stream that ends without the last event of its API. */
export const missingDone = defineFault({
  type: 'missing-done',
  summary: 'A stream ends without its last event: [DONE], response.completed, or message_stop.',
  apply: (_, next, context) =>
    changeStream(next, { ...context, reason: 'the stream has no last event' }, async function* (blocks) {
      // A compatible API ends its streams as its provider does.
      const last = context.words === undefined ? undefined : context.operation.events?.last
      for await (const { kind, bytes, data } of blocks) {
        if (kind === 'done' || (data && last?.(data))) context.triggered()
        else yield bytes
      }
    }),
})
