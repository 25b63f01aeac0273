// retry-storm: a failing request is sent many times without growing pauses.
import { groupBy } from '../../lib/group-by.ts'
import {
  type ClientCall,
  honorsWait,
  isAfter,
  medianOf,
  natureOf,
  pauseBetween,
  pausesOf,
  requestKey,
  stretchesOf,
} from '../client-call.ts'
import { type Behavior, endOf, type FindingDefinition, type FindingDraft } from './define.ts'

/** Maximum length of a short pause. */
const SHORT_MS = 500
/** Minimum calls of a storm: of declared retries, and of equal calls that may be separate requests. */
const DECLARED_CALLS = 11
const EQUAL_CALLS = 25
/** Maximum calls of a burst. Several bursts with pauses between them may come from many clients. */
const MAX_BURST_SIZE = 60
/** How much longer than twice the median long pauses may be, normally and on a busy machine. */
const STEADY_MS = 50
const UNEVEN_MS = 250

/** Reports many repeats of a failing request whose pauses do not grow. */
export const storm: FindingDefinition = {
  kind: 'retry-storm',
  find: (behavior) => stormsIn(behavior).map(draft),
}

/** A storm, and whether it certainly comes from one client. */
interface Storm {
  calls: ClientCall[]
  isSure: boolean
}

/** All storms; no call is in two of them. */
export function stormsIn(behavior: Behavior): Storm[] {
  const seen = new Set<ClientCall>()
  const onConnections = loopsIn(behavior.runs, STEADY_MS).filter((stretch) => !areWorkers(stretch, behavior))
  const certain = [...declaredIn(behavior), ...onConnections]
  // A connection pool spreads the loop of one program over connections, and a busy machine makes pauses uneven.
  const possible = loopsIn(sequencesOf(behavior), UNEVEN_MS).filter((stretch) => !areWorkers(stretch, behavior))
  const all = [
    certain.map((calls) => ({ calls, isSure: true })),
    possible.map((calls) => ({ calls, isSure: false })),
  ].flat()
  return all.filter(({ calls }) => {
    if (calls.some((call) => seen.has(call))) return false
    for (const call of calls) seen.add(call)
    return true
  })
}

const fails = (call: ClientCall) => ['retryable', 'final'].includes(natureOf(call))
/** Whether a failed call is retried at once, without `Retry-After` or without honoring it. */
const hurries = (first: ClientCall, again: ClientCall) =>
  fails(first) && pauseBetween(first, again) < SHORT_MS && (first.wait === null || !honorsWait(first, again))

const declaredIn = ({ pairing: { chains, declared } }: Behavior): ClientCall[][] =>
  chains
    .flatMap((chain) => stretchesOf(chain, (first, again) => declared.has(again) && hurries(first, again)))
    .filter((stretch) => stretch.length >= DECLARED_CALLS && isSteady(stretch, STEADY_MS))

/** Equal calls one after the other, on any connections. */
const sequencesOf = ({ calls }: Behavior): ClientCall[][] =>
  groupBy(calls, requestKey).flatMap((equal) => stretchesOf(equal, (first, again) => isAfter(again, first)))

const loopsIn = (runs: Behavior['runs'], slack: number): ClientCall[][] =>
  runs.flatMap((run) => {
    const stretches = stretchesOf(run, hurries)
    return stretches.filter((stretch, index) => {
      if (stretch.length < EQUAL_CALLS || !isSteady(stretch, slack)) return false
      const next = stretches[index + 1]?.length ?? 0
      return stretch.length > MAX_BURST_SIZE || next < stretch.length / 2
    })
  })

/**
 * Whether equal calls look like many workers that honor `Retry-After`: then almost every wait is honored by a later call. In a loop
 * that ignores waits, the calls within the last wait have no such call.
 */
function areWorkers(calls: readonly ClientCall[], { pairing }: Behavior): boolean {
  const honored = new Set(
    pairing.pairs.filter(({ first, again }) => honorsWait(first, again)).map(({ first }) => first),
  )
  const failed = calls.filter(fails)
  const waits = failed.map(({ wait }) => wait ?? 0)
  const inLastWait = Math.min(...waits) / Math.max(1, medianOf(pausesOf(calls)))
  const missed = failed.filter((call) => !honored.has(call)).length
  return missed < Math.min(inLastWait, failed.length) / 2
}

/** Whether pauses grow neither over the whole run nor repeatedly, as those of several requests in turn do. */
function isSteady(calls: readonly ClientCall[], slack: number): boolean {
  const pauses = pausesOf(calls)
  const third = Math.ceil(pauses.length / 3)
  const sorted = pauses.toSorted((one, other) => one - other)
  const long = sorted[Math.floor(sorted.length * 0.9)] ?? 0
  const grow = medianOf(pauses.slice(-third)) > 2 * medianOf(pauses.slice(0, third)) + 20
  return !grow && long <= 2 * medianOf(pauses) + slack
}

function draft({ calls, isSure }: Storm): FindingDraft {
  const [first] = calls
  const last = calls.at(-1)
  const pauses = pausesOf(calls)
  const took = Math.max(1, Math.round(last && first ? timeBetween(first, last) : 1))
  const rate = Math.round(((calls.length - 1) / took) * 10_000) / 10
  const pause = Math.round(medianOf(pauses))
  const end = first ? endOf(first) : ''
  return {
    severity: isSure ? 'error' : 'warning',
    message: `the same failing request (${end}) was sent ${calls.length} times in ${took} ms (${rate} per second), with pauses of about ${pause} ms that do not grow${isSure ? '' : '; the calls may come from several clients'}`,
    calls,
    count: calls.length,
    figures: { calls: calls.length, took_ms: took, per_second: rate, pause_ms: pause },
  }
}

const timeBetween = (first: ClientCall, last: ClientCall): number =>
  Math.max(last.began - first.began, (last.arrived ?? 0) - (first.arrived ?? 0))
