// amplification: one request of a client became more attempts at providers than it should, as when two layers retry.
import { groupBy } from '../../lib/group-by.ts'
import { counted } from '../../lib/units.ts'
import type { ClientCall } from '../client-call.ts'
import { type Behaviour, type FindingDefinition, type FindingDraft, requestKey } from './define.ts'

/** The bound of a scenario that gives none: beyond what any one layer does. */
const USUAL_BOUND = 20

/** Reports requests that caused more provider attempts than allowed, as when two layers retry. */
export const amplification: FindingDefinition = {
  kind: 'retry-amplification',
  find(behaviour) {
    const chains = surelyOne(behaviour)
    return groupBy(chains, ([root]) => (root ? requestKey(root) : '')).flatMap((group) => {
      const found = worstOf(group, behaviour.maxAttempts)
      return found ? [found] : []
    })
  },
}

/** Chains, cut where it is not certain that a call repeats the one before. */
function surelyOne({ pairing, accepted }: Behaviour): (readonly ClientCall[])[] {
  // A call that need not have been answered need not have been repeated either.
  if (!accepted.has('gave-up')) return [...pairing.chains]
  const declared = new Set(pairing.pairs.filter((pair) => pair.declared).map(({ again }) => again))
  return pairing.chains.flatMap((chain) => {
    const parts: ClientCall[][] = []
    for (const call of chain) {
      const part = parts.at(-1)
      if (part && declared.has(call)) part.push(call)
      else parts.push([call])
    }
    return parts
  })
}

const attemptsOf = (chain: readonly ClientCall[]) => chain.reduce((sum, { attempts }) => sum + attempts, 0)

/** Equal requests could have been paired otherwise: only what no pairing can spread among them counts. */
function worstOf(group: readonly (readonly ClientCall[])[], bound: number | undefined): FindingDraft | undefined {
  const most = bound ?? USUAL_BOUND
  const total = group.reduce((sum, chain) => sum + attemptsOf(chain), 0)
  const worst = group.reduce((one, other) => (attemptsOf(other) > attemptsOf(one) ? other : one))
  const attempts = Math.max(Math.ceil(total / group.length), fewestOf(group))
  if (attempts <= most) return undefined
  // Without a bound of its own, many attempts are a fault only where one layer retries what another has retried.
  if (bound === undefined && (worst.length < 2 || attemptsOf(worst) < 2 * worst.length)) return undefined
  return {
    severity: bound === undefined ? 'warning' : 'error',
    message: `one request caused ${counted(attempts, 'attempt')} at providers in ${counted(worst.length, 'call')}; the limit is ${most}`,
    calls: worst,
    count: 1,
    figures: { attempts, calls: worst.length, bound: most },
  }
}

/** The fewest attempts that the longest chain can have had, where calls say which repetition they are. */
function fewestOf(group: readonly (readonly ClientCall[])[]): number {
  const fewest = new Map<number, number>()
  for (const { mark, attempts } of group.flat()) {
    if (mark.retry !== null) fewest.set(mark.retry, Math.min(attempts, fewest.get(mark.retry) ?? attempts))
  }
  let sum = 0
  for (let level = 0; fewest.has(level); level++) sum += fewest.get(level) ?? 0
  return sum
}
