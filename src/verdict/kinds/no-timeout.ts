// no-timeout: a client still waited on a silent call when the hang limit of `exec` ended.

import { groupBy } from '../../lib/group-by.ts'
import { counted, durationText } from '../../lib/units.ts'
import { type ClientCall, sameRequest } from '../client-call.ts'
import type { FindingDefinition } from './define.ts'

/** A silent call, and the limit after which it was reset. */
interface Hung {
  call: ClientCall
  limit: number
  /** How long its client waited for an equal call before, and left it, in ms. */
  patience: number | undefined
}

/** Reports calls that still waited on a silent connection when the hang limit of `exec` ended. */
export const noTimeout: FindingDefinition = {
  kind: 'no-timeout',
  find({ calls }) {
    const hung = calls.flatMap((call): Hung[] =>
      call.hung ? [{ call, limit: call.hung.limit, patience: patienceBefore(call, calls) }] : [],
    )
    return groupBy(hung, ({ call, patience }) => `${call.operation} ${timeoutKey(call)} ${patience}`).map((found) => {
      const { limit = 0, patience } = found[0] ?? {}
      const ms = found[0]?.call.timeout?.ms ?? 0
      const reset = `${found.length === 1 ? 'the call was' : 'the calls were'} reset`
      return {
        // A client with a longer timeout would have given up later. One that left an equal call has a timeout.
        severity: ms > limit || patience !== undefined ? ('warning' as const) : ('error' as const),
        message:
          patience === undefined
            ? `${waited(found)}: ${found[0] ? timeoutText(found[0]) : ''}; ${reset}${ending(found)}`
            : `${unclosed(found)}: the client left an equal call after ${durationText(patience)}, so it may have timed out without closing the connection; ${reset}`,
        calls: found.map(({ call }) => call),
        count: found.length,
        figures: { limit_ms: limit, ...(ms > 0 && { timeout_ms: ms }) },
      }
    })
  },
}

/**
 * How long the client waited for an earlier equal call that a fault kept silent, and left it. Some clients close a
 * connection later than they time out: urllib3 does so after the pause before its next try.
 */
function patienceBefore(hung: ClientCall, calls: readonly ClientCall[]): number | undefined {
  const left = calls.filter(
    (call) => call.outcome === 'canceled' && call.disturbed && sameRequest(call, hung) && call.number < hung.number,
  )
  return left.length === 0 ? undefined : Math.min(...left.map(({ began, ended }) => ended - began))
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

const waited = (found: readonly Hung[]): string => `the client was still waiting ${after(found)}`
const unclosed = (found: readonly Hung[]): string => `a connection was still open ${after(found)}`

const after = ({ length, 0: first }: readonly Hung[]): string =>
  `after ${durationText(first?.limit ?? 0)} without data${length === 1 ? '' : ` in ${counted(length, 'call')}`}`

/** Describes when data would have followed, if known. */
function ending(found: readonly Hung[]): string {
  const ends = found.flatMap(({ call: { hung } }) => (hung?.silence === undefined ? [] : [hung.silence]))
  if (ends.length === 0) return ''
  return `; data would have followed after ${durationText(Math.max(...ends))}: raise --hang-limit if the client should wait for it`
}
