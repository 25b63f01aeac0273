// missing-done: a stream has no end mark.
import { changeStream } from './change.ts'
import { defineFault } from './define.ts'

export const missingDone = defineFault({
  type: 'missing-done',
  summary: 'A stream ends without its [DONE].',
  points: ['provider', 'gateway'],
  options: {},
  example: {},
  apply: (_, next, context) =>
    changeStream(
      next,
      context,
      async function* (blocks) {
        for await (const { kind, text } of blocks) {
          if (kind === 'done') context.acted()
          else yield text
        }
      },
      'the stream has no [DONE]',
    ),
})
