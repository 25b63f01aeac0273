// approval-never: an approval decision never takes effect.
import { valueReply } from '../contract/core/reply.ts'
import { defineFault } from './define.ts'

/** Tests clients that wait for a task after they decided about a tool call: the decision never takes effect. */
export const approvalNever = defineFault({
  type: 'approval-never',
  summary: 'An approval decision is accepted but never takes effect, so the task keeps waiting.',
  points: ['approval'],
  async apply(_, __, { triggered }) {
    triggered()
    return valueReply({})
  },
})
