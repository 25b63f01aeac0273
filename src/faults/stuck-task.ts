// stuck-task: an agent task never leaves `working`.
import { neverReplies } from './define.ts'

/** Tests clients that poll an agent task: it never leaves `working`. */
export const stuckTask = neverReplies({
  type: 'stuck-task',
  summary: 'An agent task never leaves `working`. Its time limit does not end it; only a cancellation does.',
  points: ['task'],
})
