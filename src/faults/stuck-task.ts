// stuck-task: a task works for ever.
import { untilAborted } from '../lib/clock.ts'
import { defineFault } from './define.ts'

export const stuckTask = defineFault({
  type: 'stuck-task',
  summary: 'A task of an agent never leaves `working`: its limit of time does not end it, only who cancels it does.',
  points: ['task'],
  options: {},
  example: {},
  apply(_, __, { triggered, signal }) {
    triggered()
    return untilAborted(signal)
  },
})
