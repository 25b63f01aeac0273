// tool-error: a tool fails with an error that the model receives.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import { valueReply } from '../contract/core/reply.ts'
import { defineFault } from './define.ts'

/** Tests how an agent handles a tool that fails. The tool is not run. */
export const toolError = defineFault({
  type: 'tool-error',
  summary: 'A tool of an agent fails with an error that the model receives. The tool is not run.',
  points: ['tool'],
  options: {
    message: z.string().min(1).default('the tool failed').describe('The error message that the model receives.'),
    after: Duration.default(0).describe('Time until the failure.'),
  },
  example: { message: 'The server is down.' },
  async apply({ message, after }, _, { triggered, clock, signal }) {
    triggered()
    if (after > 0) await clock.latency(after, signal)
    return valueReply({ error: message })
  },
})
