// stuck-task: an agent task never leaves `working`.
import { untilAborted } from '../lib/clock.ts'
import { defineFault } from './define.ts'

/** Tests clients that poll an agent task: it never leaves `working`. */
export const stuckTask = defineFault({
  type: 'stuck-task',
  summary: 'An agent task never leaves `working`. Its time limit does not end it; only a cancellation does.',
  points: ['task'],
  options: {},
  example: {},
  apply(_, __, { triggered, signal }) {
    triggered()
    return untilAborted(signal)
  },
})
