// malformed-chunk: the data of one event is not valid JSON.
import { changeAt, PLACE, streamBlocks } from './change.ts'
import { defineFault } from './define.ts'
import { rewritten } from './wire.ts'

/** Tests that a client handles an event of a stream whose JSON is incomplete. */
export const malformedChunk = defineFault({
  type: 'malformed-chunk',
  summary: 'One event of a stream contains only the first half of its JSON. All other events are intact.',
  options: PLACE,
  example: { after_chunks: 6 },
  apply: (options, next, context) =>
    changeAt(next, context, {
      ...options,
      async *change(block, { rest }) {
        const json = JSON.stringify(block.data)
        if (json !== undefined) context.triggered()
        yield json === undefined ? block.bytes : rewritten(block, undefined, json.slice(0, Math.ceil(json.length / 2)))
        yield* streamBlocks(rest)
      },
    }),
})
