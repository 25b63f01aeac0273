// empty-reply: the connection is closed without a byte.
import { Duration } from '../contract/duration.ts'
import { ConnectionFailure } from '../contract/reply.ts'
import { defineFault } from './define.ts'

export const emptyReply = defineFault({
  type: 'empty-reply',
  summary: 'The connection is closed without a single byte of an answer.',
  points: ['provider', 'gateway'],
  socket: true,
  options: { after: Duration.default(0).describe('How long the request is thought about before.') },
  example: {},
  async apply({ after }, _, { clock, signal }) {
    if (after > 0) await clock.sleep(after, signal)
    throw new ConnectionFailure('the connection was closed without an answer', 'closed')
  },
})
