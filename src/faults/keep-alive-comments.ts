// keep-alive-comments: a stream has comment lines between its events.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import { changeStream } from './change.ts'
import { defineFault } from './define.ts'

/** Tests SSE parsers: comment lines, which a client must ignore, stand between the events. */
export const keepAliveComments = defineFault({
  type: 'keep-alive-comments',
  summary: 'Comment lines are sent between the events of a stream, as servers do to keep a connection open.',
  options: {
    text: z
      .string()
      .regex(/^[^\r\n]*$/, { error: 'must be one line' })
      .default('keep-alive')
      .describe('Text of the comments.'),
    every: z.int().min(1).default(1).describe('Comments are sent before every nth event, including the first.'),
    count: z.int().min(1).default(1).describe('Comments at a time.'),
    interval: Duration.default(0).describe('Delay before each comment.'),
  },
  example: { text: 'ping', every: 2 },
  apply: ({ text: comment, every, count, interval }, next, context) =>
    changeStream(next, context, async function* (blocks) {
      let number = 0
      for await (const { bytes } of blocks) {
        for (let remaining = number++ % every === 0 ? count : 0; remaining > 0; remaining--) {
          if (interval > 0) await context.clock.latency(interval, context.signal)
          context.triggered()
          yield `: ${comment}\n\n`
        }
        yield bytes
      }
    }),
})
