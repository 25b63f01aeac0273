// late-answer: what a canceled task was waiting for arrives all the same.
import { Duration } from '../contract/core/duration.ts'
import { valueReply } from '../contract/core/reply.ts'
import { defineFault } from './define.ts'

export const lateAnswer = defineFault({
  type: 'late-answer',
  summary:
    'A call of a tool or a model that is under way when its task is canceled goes on, and its result is in the messages of the canceled task later.',
  points: ['cancel'],
  options: { after: Duration.default(5000).describe('Minimum time between the cancellation and the response.') },
  example: { after: '10s' },
  async apply({ after }, _, { triggered, clock, signal }) {
    triggered()
    if (after > 0) await clock.latency(after, signal)
    // What would end the call is never heard of.
    return valueReply({})
  },
})
