// plain-json-error-in-stream: in the middle of a stream of events comes the body of an error, as if there were no stream.
import { changeAt, PLACE } from './change.ts'
import { defineFault } from './define.ts'
import { errorBody, errorStatus, problemOf, refusalOptions } from './refusal.ts'

const { message, shape } = refusalOptions

/** Tests that a client notices an error that is not an event of the stream. */
export const plainJsonErrorInStream = defineFault({
  type: 'plain-json-error-in-stream',
  summary: 'A plain JSON error body, without `data:`, replaces the rest of a stream.',
  points: ['provider', 'gateway'],
  options: {
    ...PLACE,
    status: errorStatus.default(500).describe('The HTTP status that the error stands for, or `overloaded`.'),
    message,
    shape,
  },
  example: { after_chunks: 6, status: 503 },
  apply: ({ status, ...options }, next, context) =>
    changeAt(next, context, {
      ...options,
      async *change() {
        context.triggered()
        yield `${JSON.stringify(errorBody(context, problemOf(status), options))}\n`
      },
    }),
})
