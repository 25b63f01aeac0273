// hang: the request is taken and never answered.
import { Duration } from '../contract/duration.ts'
import { ConnectionFailure } from '../contract/reply.ts'
import { untilAborted } from '../lib/clock.ts'
import { defineFault } from './define.ts'

export const hang = defineFault({
  type: 'hang',
  summary: 'The request is taken and never answered; only a timeout ends it.',
  points: ['provider', 'gateway'],
  options: { for: Duration.optional().describe('After which the connection is closed; it stays open when left out.') },
  example: {},
  async apply({ for: length }, _, { acted, clock, signal }) {
    acted()
    if (length === undefined) await untilAborted(signal)
    else await clock.sleep(length, signal)
    throw new ConnectionFailure('the connection was closed after a long silence', 'closed')
  },
})
