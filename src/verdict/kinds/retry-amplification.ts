// retry-amplification: one client request caused too many provider attempts, as when two layers retry.
import { groupBy } from '../../lib/group-by.ts'
import { counted } from '../../lib/units.ts'
import { attemptsOf, type ClientCall, requestKey, stretchesOf } from '../client-call.ts'
import type { Behavior, FindingDefinition, FindingDraft } from './define.ts'

/** Limit without `max_attempts` in the scenario: more than any single layer makes. */
const DEFAULT_LIMIT = 20

/** Reports requests that caused more provider attempts than allowed, as when two layers retry. */
export const amplification: FindingDefinition = {
  kind: 'retry-amplification',
  find(behavior) {
    const chains = certainChains(behavior)
    return groupBy(chains, ([root]) => (root ? requestKey(root) : '')).flatMap((group) => {
      const found = worstOf(group, behavior.maxAttempts)
      return found ? [found] : []
    })
  },
}

/** Chains of calls that are certainly retries. */
function certainChains({ pairing, accepted }: Behavior): (readonly ClientCall[])[] {
  // If giving up is accepted, an undeclared call may be a separate request.
  if (!accepted.has('gave-up')) return [...pairing.chains]
  return pairing.chains.flatMap((chain) => stretchesOf(chain, (_, again) => pairing.declared.has(again)))
}

/** The worst request of a group. Equal requests could be paired in other ways, so only attempts that no pairing can spread count. */
function worstOf(group: readonly (readonly ClientCall[])[], limit: number | undefined): FindingDraft | undefined {
  const maximum = limit ?? DEFAULT_LIMIT
  const total = attemptsOf(group.flat())
  const worst = group.reduce((one, other) => (attemptsOf(other) > attemptsOf(one) ? other : one))
  const attempts = Math.max(Math.ceil(total / group.length), minAttemptsOf(group))
  if (attempts <= maximum) return undefined
  // Without `max_attempts`, only retries by two layers are reported.
  if (limit === undefined && (worst.length < 2 || attemptsOf(worst) < 2 * worst.length)) return undefined
  return {
    severity: limit === undefined ? 'warning' : 'error',
    message: `one request caused ${counted(attempts, 'attempt')} at providers in ${counted(worst.length, 'call')}; the limit is ${maximum}`,
    calls: worst,
    count: 1,
    figures: { attempts, calls: worst.length, bound: maximum },
  }
}

/** The minimum attempts of the longest chain, if calls declare their retry count. */
function minAttemptsOf(group: readonly (readonly ClientCall[])[]): number {
  const fewest = new Map<number, number>()
  for (const { mark, attempts } of group.flat()) {
    if (mark.retry !== null) fewest.set(mark.retry, Math.min(attempts, fewest.get(mark.retry) ?? attempts))
  }
  let sum = 0
  for (let level = 0; fewest.has(level); level++) sum += fewest.get(level) ?? 0
  return sum
}
