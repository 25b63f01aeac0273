// plain-json-error-in-stream: a plain JSON error body replaces the rest of a stream.
import { changeAt } from './change.ts'
import { defineFault } from './define.ts'
import { errorShape, problemOf, streamErrorOptions } from './refusal.ts'

/** Tests that a client notices an error that is not an event of the stream. */
export const plainJsonErrorInStream = defineFault({
  type: 'plain-json-error-in-stream',
  summary: 'A plain JSON error body, without `data:`, replaces the rest of a stream.',
  options: streamErrorOptions,
  example: { after_chunks: 6, status: 503 },
  apply: ({ status, ...options }, next, context) =>
    changeAt(next, context, {
      ...options,
      async *change() {
        context.triggered()
        yield `${JSON.stringify(errorShape(context, problemOf(status), options).body)}\n`
      },
    }),
})
