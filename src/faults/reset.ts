// reset: the connection is reset before anything of an answer.
import { Duration } from '../contract/duration.ts'
import { ConnectionFailure } from '../contract/reply.ts'
import { defineFault } from './define.ts'

export const reset = defineFault({
  type: 'reset',
  summary: 'The connection is reset before the answer begins.',
  points: ['provider', 'gateway'],
  socket: true,
  options: { after: Duration.default(0).describe('How long the request is thought about before.') },
  example: {},
  async apply({ after }, _, { clock, signal }) {
    if (after > 0) await clock.sleep(after, signal)
    throw new ConnectionFailure('the connection was reset before the answer (ECONNRESET)')
  },
})
