// swallowed: a response was incomplete (its stream broke off, ended in an error, or was left in silence), and nothing shows that it was retried.

import { groupBy } from '../../lib/group-by.ts'
import { counted } from '../../lib/units.ts'
import { type IncompleteChain, incompleteIn } from '../incomplete.ts'
import type { FindingDefinition } from './define.ts'

/** Reports incomplete responses that were not retried although the client ended without a complaint. */
export const swallowed: FindingDefinition = {
  kind: 'swallowed',
  find({ pairing, end }) {
    // It has complained: to whom, and what it showed, is its own affair.
    if (end === 'badly' || end === 'stopped') return []
    const found = incompleteIn(pairing)
    return groupBy(found, ({ calls: [first], isOpen, isLeft }) => `${first?.operation} ${isOpen} ${isLeft}`).map(
      (chains) => {
        const calls = chains.flatMap((chain) => chain.calls)
        // A client may have told its user, which nobody can see from here; one that is known to have succeeded has not.
        const succeeded = end === 'well' && chains.every(({ isOpen, isLeft }) => isOpen && !isLeft)
        return {
          severity: succeeded ? ('error' as const) : ('warning' as const),
          message: `${counted(calls.length, 'response')} ${calls.length === 1 ? 'was' : 'were'} incomplete; ${retriesText(chains)}${succeeded ? ', and the client succeeded' : ''}`,
          calls: [...new Set(chains.flatMap((chain) => [...chain.calls, ...chain.perhaps]))],
          count: calls.length,
          figures: { incomplete: calls.length, perhaps: chains.flatMap(({ perhaps }) => perhaps).length },
        }
      },
    )
  },
}

/** How many calls may be retries of incomplete responses. */
function retriesText(chains: readonly IncompleteChain[]): string {
  const perhaps = chains.flatMap((chain) => chain.perhaps)
  if (perhaps.length === 0) return 'no retry followed'
  const incomplete = new Set(chains.flatMap(({ calls }) => calls))
  const noun = perhaps.every((call) => incomplete.has(call))
    ? ''
    : perhaps.length === 1
      ? ' later call'
      : ' later calls'
  return `${perhaps.length}${noun} may be ${perhaps.length === 1 ? 'a retry' : 'retries'}`
}
