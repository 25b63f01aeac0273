// hang: the request is accepted, but no response is sent.
import { Duration } from '../contract/core/duration.ts'
import { ConnectionFailure } from '../contract/core/reply.ts'
import { endsWithoutData } from '../lib/hang-reset.ts'
import { defineFault } from './define.ts'

/** Tests that a client has a timeout: no byte of a response ever arrives, or the connection closes after a time. */
export const hang = defineFault({
  type: 'hang',
  summary: 'The request is accepted, but no response is sent until the client times out.',
  options: { for: Duration.optional().describe('Time until the connection is closed. If omitted, it stays open.') },
  async apply({ for: length = Number.POSITIVE_INFINITY }, _, { triggered, clock, signal }) {
    triggered()
    await clock.latency(length, signal).catch(endsWithoutData)
    throw new ConnectionFailure('the connection was closed after a long silence', 'closed')
  },
})
