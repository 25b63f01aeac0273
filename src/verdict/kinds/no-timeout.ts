// no-timeout: a client still waited on a silent call when the hang limit of `exec` ended.

import { groupBy } from '../../lib/group-by.ts'
import { counted, durationText } from '../../lib/units.ts'
import { arrivedSeparately, type ClientCall, canReplace, isAfter, isFallback, sameRequest } from '../client-call.ts'
import type { FindingDefinition } from './define.ts'

/** A silent call, and the limit after which it was reset. */
interface Hung {
  call: ClientCall
  limit: number
  /** What suggests that its client no longer waited for it. Undefined if nothing does. */
  sign: Sign | undefined
}

/** That another call got the response, or that the client left or repeated an equal call after that many ms. */
type Sign = { as: 'answered' } | { as: 'left' | 'repeated'; ms: number }

/** Reports calls that still waited on a silent connection when the hang limit of `exec` ended. */
export const noTimeout: FindingDefinition = {
  kind: 'no-timeout',
  find({ calls }) {
    const hung = calls.flatMap((call): Hung[] =>
      call.hung ? [{ call, limit: call.hung.limit, sign: signOf(call, calls) }] : [],
    )
    return groupBy(hung, ({ call, sign }) => `${call.operation} ${timeoutKey(call)} ${sign?.as}`).map((found) => {
      const { limit = 0, sign } = found[0] ?? {}
      const ms = found[0]?.call.timeout?.ms ?? 0
      const reset = `${found.length === 1 ? 'the call was' : 'the calls were'} reset`
      return {
        // A client with a longer timeout would have given up later. One that went on without the call may have a timeout.
        severity: ms > limit || sign !== undefined ? ('warning' as const) : ('error' as const),
        message:
          sign === undefined
            ? `${waited(found)}: ${found[0] ? timeoutText(found[0]) : ''}; ${reset}${ending(found)}`
            : `${unclosed(found)}: ${signText(found)}; ${reset}`,
        calls: found.map(({ call }) => call),
        count: found.length,
        figures: { limit_ms: limit, ...(ms > 0 && { timeout_ms: ms }) },
      }
    })
  },
}

/** Equal calls that arrive closer together are separate requests. */
const AT_ONCE_MS = 200

/**
 * What suggests that the client of a silent call went on without it. Many programs only stop to wait: `Promise.race` with a timer
 * closes no connection, and urllib3 closes one after the pause before its next try.
 */
function signOf(hung: ClientCall, calls: readonly ClientCall[]): Sign | undefined {
  const meanwhile = calls.filter(
    (call) =>
      call !== hung &&
      !isAfter(call, hung) &&
      !isAfter(hung, call) &&
      canReplace(hung, call) &&
      (isFallback(hung, call) || arrivedSeparately(hung, call) >= AT_ONCE_MS),
  )
  if (meanwhile.some(({ outcome }) => outcome === 'succeeded')) return { as: 'answered' }
  const left = calls.filter(
    (call) => call.outcome === 'canceled' && call.disturbed && sameRequest(call, hung) && call.number < hung.number,
  )
  if (left.length > 0) return { as: 'left', ms: Math.min(...left.map(({ began, ended }) => ended - began)) }
  const repeats = meanwhile
    .filter((call) => call.number > hung.number || call.hung)
    .map((call) => arrivedSeparately(hung, call))
    .filter((ms) => ms >= AT_ONCE_MS)
  return repeats.length > 0 ? { as: 'repeated', ms: Math.min(...repeats) } : undefined
}

/** What suggests that the client did not wait for the calls. */
function signText(found: readonly Hung[]): string {
  const signs = found.flatMap(({ sign }) => sign ?? [])
  const times = signs.flatMap((sign) => (sign.as === 'answered' ? [] : [sign.ms]))
  if (times.length === 0)
    return `another call got the response, so the client may not have waited for ${found.length === 1 ? 'this one' : 'these'}`
  const what = signs.some(({ as }) => as === 'left') ? 'left' : 'made'
  return `the client ${what} an equal call after ${durationText(Math.min(...times))}, so it may have timed out without closing the connection`
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
