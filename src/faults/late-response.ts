// late-response: the result of a call arrives after its task was canceled.
import { Duration } from '../contract/core/duration.ts'
import { valueReply } from '../contract/core/reply.ts'
import { defineFault } from './define.ts'

/** Tests clients that cancel a task: a result that was in flight is added to the canceled task later. */
export const lateResponse = defineFault({
  type: 'late-response',
  summary:
    'A tool or model call that is in flight when its task is canceled continues, and its result appears later in the messages of the canceled task.',
  points: ['cancel'],
  options: { after: Duration.default(5000).describe('Minimum time between the cancellation and the response.') },
  example: { after: '10s' },
  async apply({ after }, _, { triggered, clock, signal }) {
    triggered()
    if (after > 0) await clock.latency(after, signal)
    // This reply is not used: it only ends the wait.
    return valueReply({})
  },
})
