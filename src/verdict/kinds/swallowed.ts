// swallowed: a response was incomplete, and there is no evidence of a retry.

import { groupBy } from '../../lib/group-by.ts'
import { counted } from '../../lib/units.ts'
import { type IncompleteChain, incompleteIn } from '../incomplete.ts'
import type { FindingDefinition } from './define.ts'

/** Reports incomplete responses that were not retried although the client did not end with an error. */
export const swallowed: FindingDefinition = {
  kind: 'swallowed',
  find({ pairing, end }) {
    // The client reported an error, so nothing was swallowed.
    if (end === 'badly' || end === 'stopped') return []
    const found = incompleteIn(pairing)
    return groupBy(
      found,
      ({ calls: [first], isOpen, isCanceled }) => `${first?.operation} ${isOpen} ${isCanceled}`,
    ).map((chains) => {
      const calls = chains.flatMap((chain) => chain.calls)
      // A client may have reported it to its user, unless it is known to have succeeded.
      const succeeded = end === 'well' && chains.every(({ isOpen, isCanceled }) => isOpen && !isCanceled)
      return {
        severity: succeeded ? ('error' as const) : ('warning' as const),
        message: `${counted(calls.length, 'response')} ${calls.length === 1 ? 'was' : 'were'} incomplete; ${retriesText(chains)}${succeeded ? ', and the client succeeded' : ''}`,
        calls: [...new Set(chains.flatMap((chain) => [...chain.calls, ...chain.possibleRetries]))],
        count: calls.length,
        figures: { incomplete: calls.length, perhaps: chains.flatMap(({ possibleRetries }) => possibleRetries).length },
      }
    })
  },
}

/** How many calls may be retries of incomplete responses. */
function retriesText(chains: readonly IncompleteChain[]): string {
  const possible = chains.flatMap((chain) => chain.possibleRetries)
  if (possible.length === 0) return 'no retry followed'
  const incomplete = new Set(chains.flatMap(({ calls }) => calls))
  const noun = possible.every((call) => incomplete.has(call))
    ? ''
    : possible.length === 1
      ? ' later call'
      : ' later calls'
  return `${possible.length}${noun} may be ${possible.length === 1 ? 'a retry' : 'retries'}`
}
