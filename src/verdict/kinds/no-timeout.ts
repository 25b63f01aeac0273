// no-timeout: a client still waited on a silent call when the hang limit of `exec` ended.

import { groupBy } from '../../lib/group-by.ts'
import { counted, durationText } from '../../lib/units.ts'
import type { ClientCall } from '../client-call.ts'
import type { FindingDefinition } from './define.ts'

/** A silent call, and the limit after which it was reset. */
interface Hung {
  call: ClientCall
  limit: number
}

/** Reports calls that still waited on a silent connection when the hang limit of `exec` ended. */
export const noTimeout: FindingDefinition = {
  kind: 'no-timeout',
  find({ calls }) {
    const hung = calls.flatMap((call): Hung[] => (call.hung ? [{ call, limit: call.hung.limit }] : []))
    return groupBy(hung, ({ call }) => `${call.operation} ${timeoutKey(call)}`).map((found) => {
      const limit = found[0]?.limit ?? 0
      const ms = found[0]?.call.timeout?.ms ?? 0
      return {
        // A client with a longer timeout would have given up later.
        severity: ms > limit ? ('warning' as const) : ('error' as const),
        message: `${waited(found)}: ${found[0] ? timeoutText(found[0]) : ''}; ${found.length === 1 ? 'the call was' : 'the calls were'} reset${ending(found)}`,
        calls: found.map(({ call }) => call),
        count: found.length,
        figures: { limit_ms: limit, ...(ms > 0 && { timeout_ms: ms }) },
      }
    })
  },
}

/** A key for findings with the same timeout. */
const timeoutKey = ({ timeout }: ClientCall): string => `${timeout?.ms ?? 0} ${timeout?.assumed ?? false}`

/** What is known about the client's timeout. Programs can have one that they do not declare. */
function timeoutText({ call: { timeout }, limit }: Hung): string {
  if (!timeout) return 'it declares no timeout'
  const length = durationText(timeout.ms)
  if (timeout.ms <= limit) return `its timeout of ${length} had no effect`
  return timeout.assumed
    ? `it declares no timeout, and the default of its SDK is ${length}`
    : `it has a timeout of ${length}`
}

const waited = (found: readonly Hung[]): string =>
  `the client was still waiting after ${durationText(found[0]?.limit ?? 0)} without data${found.length === 1 ? '' : ` in ${counted(found.length, 'call')}`}`

/** Describes when data would have followed, if known. */
function ending(found: readonly Hung[]): string {
  const ends = found.flatMap(({ call: { hung } }) => (hung?.silence === undefined ? [] : [hung.silence]))
  if (ends.length === 0) return ''
  return `; data would have followed after ${durationText(Math.max(...ends))}: raise --hang-limit if the client should wait for it`
}
