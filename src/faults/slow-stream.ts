// slow-stream: the tokens of a stream are sent slowly.
import { z } from 'zod'
import { changeStream } from './change.ts'
import { defineFault } from './define.ts'

/** Tests timeouts between events: a stream is limited to a number of tokens per second. */
export const slowStream = defineFault({
  type: 'slow-stream',
  summary: 'A stream is limited to a number of tokens per second.',
  options: {
    tokens_per_second: z.number().positive().describe('Speed of the stream.'),
    jitter: z.number().min(0).max(1).default(0).describe('Random variation of each delay, as a share of it.'),
  },
  example: { tokens_per_second: 5, jitter: 0.5 },
  apply: ({ tokens_per_second: pace, jitter }, next, { clock, signal, ...context }) =>
    changeStream(next, { clock, signal, ...context }, async function* (blocks) {
      let due = clock.passed()
      let number = 0
      for await (const { bytes, tokens } of blocks) {
        if (tokens > 0) {
          const random = context.random(`chunk ${number++}`)
          const now = clock.passed()
          due = Math.max(now, due + (tokens / pace) * 1000 * (1 - jitter + 2 * jitter * random))
          if (due > now) {
            context.triggered()
            await clock.latency(due - now, signal)
            // A frozen clock does not show that this time has passed.
            due = Math.min(due, clock.passed() + 1)
          }
        }
        yield bytes
      }
    }),
})
