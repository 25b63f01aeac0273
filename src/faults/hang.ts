// hang: the request is taken and never answered.
import { Duration } from '../contract/core/duration.ts'
import { ConnectionFailure } from '../contract/core/reply.ts'
import { defineFault } from './define.ts'

export const hang = defineFault({
  type: 'hang',
  summary: 'The request is taken and never answered; only a timeout ends it.',
  points: ['provider', 'gateway'],
  options: { for: Duration.optional().describe('After which the connection is closed; it stays open when left out.') },
  example: {},
  async apply({ for: length = Number.POSITIVE_INFINITY }, _, { triggered, clock, signal }) {
    triggered()
    await clock.latency(length, signal)
    throw new ConnectionFailure('the connection was closed after a long silence', 'closed')
  },
})
