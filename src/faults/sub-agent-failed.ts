// sub-agent-failed: a sub-agent fails with an error.
import { z } from 'zod'
import { valueReply } from '../contract/core/reply.ts'
import { defineFault } from './define.ts'

/** Tests how an agent handles the error of a sub-agent. The sub-task is not started. */
export const subAgentFailed = defineFault({
  type: 'sub-agent-failed',
  summary: 'A sub-agent fails with an error that the calling agent receives. Its task does not start.',
  points: ['tool'],
  options: {
    message: z.string().min(1).default('the agent failed').describe('The error message that the model receives.'),
  },
  async apply({ message }, next, { triggered, skipped, tool = [] }) {
    if (!tool.includes('call_sub_agent')) {
      skipped('the tool is not a sub-agent')
      return next()
    }
    triggered()
    return valueReply({ error: message })
  },
})
