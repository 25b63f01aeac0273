// tool-error: a tool fails, in words that the model reads.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import { valueReply } from '../contract/core/reply.ts'
import { defineFault } from './define.ts'

export const toolError = defineFault({
  type: 'tool-error',
  summary: 'A tool of an agent fails with an error that the model reads; it is not run.',
  points: ['tool'],
  options: {
    message: z.string().min(1).default('the tool failed').describe('What the model reads.'),
    after: Duration.default(0).describe('How long it takes to fail.'),
  },
  example: { message: 'The server is down.' },
  async apply({ message, after }, _, { triggered, clock, signal }) {
    triggered()
    if (after > 0) await clock.latency(after, signal)
    return valueReply({ error: message })
  },
})
