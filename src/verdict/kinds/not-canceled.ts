// not-canceled: a request was retried while the first call was in progress, and that call was never canceled.
import { groupBy } from '../../lib/group-by.ts'
import { overlapOf, requestKey } from '../client-call.ts'
import { type FindingDefinition, times } from './define.ts'

/** Reports retries that started while the first call was still in progress and was never canceled. */
export const notCanceled: FindingDefinition = {
  kind: 'not-canceled',
  find: ({ pairing }) =>
    groupBy(pairing.uncancelled, ({ first }) => requestKey(first)).map((pairs) => {
      const longest = Math.round(Math.max(...pairs.map(({ first, again }) => overlapOf(first, again))))
      return {
        severity: 'error',
        message: `a request was retried ${times(pairs.length)} while the previous call was still in progress; that call was never canceled and ran for ${longest} ms more`,
        calls: pairs.flatMap(({ first, again }) => [first, again]),
        count: pairs.length,
        figures: { ran_on_ms: longest },
      }
    }),
}
