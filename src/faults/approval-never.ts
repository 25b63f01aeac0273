// approval-never: what is decided about a tool never arrives.
import { valueReply } from '../contract/core/reply.ts'
import { defineFault } from './define.ts'

export const approvalNever = defineFault({
  type: 'approval-never',
  summary: 'A decision about tools that wait for approval is accepted and never arrives: the task waits on.',
  points: ['approval'],
  options: {},
  example: {},
  async apply(_, __, { triggered }) {
    triggered()
    return valueReply({})
  },
})
