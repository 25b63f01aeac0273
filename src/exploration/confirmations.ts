// Which results a second run confirms: those of new causes, and all of them once results vary between runs.
import type { CaseResult } from '../contract/core/exploration.ts'
import { causeKey } from './problems.ts'

/**
 * The confirmations of an exploration.
 * @param before results that are confirmed
 * @param isKnown whether a result is a known failure, which needs no confirmation
 */
export function createConfirmations(before: Iterable<CaseResult>, isKnown: (result: CaseResult) => boolean) {
  const causes = new Set<string | undefined>()
  for (const result of before) causes.add(causeKey(result))
  const unconfirmed: CaseResult[] = []
  let varies = false
  return {
    /** Whether a result must be confirmed. */
    isNew(result: CaseResult): boolean {
      if (isKnown(result)) return false
      const cause = causeKey(result)
      // A case without a problem has no cause that another one could have.
      if (cause === undefined || varies || !causes.has(cause)) {
        causes.add(cause)
        return true
      }
      unconfirmed.push(result)
      return false
    },
    /** Notes that the runs of a case differed: no run confirms another case any more. */
    vary() {
      varies = true
    },
    /** If results vary: those that only the cause of another case confirms. Empty otherwise. */
    doubtful: (): readonly CaseResult[] => (varies ? unconfirmed : []),
    get varies() {
      return varies
    },
  }
}
