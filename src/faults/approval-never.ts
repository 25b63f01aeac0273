// approval-never: what is decided about a tool never arrives.
import { valueReply } from '../contract/core/reply.ts'
import { defineFault } from './define.ts'

export const approvalNever = defineFault({
  type: 'approval-never',
  summary: 'An approval decision is accepted but never takes effect, so the task keeps waiting.',
  points: ['approval'],
  options: {},
  example: {},
  async apply(_, __, { triggered }) {
    triggered()
    return valueReply({})
  },
})
