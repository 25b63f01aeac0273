// storm: the same request again and again while it fails, without pauses that grow.
import { groupBy } from '../../lib/group-by.ts'
import {
  type ClientCall,
  isAfter,
  keptWait,
  medianOf,
  natureOf,
  pauseBetween,
  pausesOf,
  runsOf,
  stretchesOf,
} from '../client-call.ts'
import { type Behaviour, endOf, type FindingDefinition, type FindingDraft, requestKey } from './define.ts'

/** Pauses under this are short. */
const SHORT_MS = 500
/** So many calls are a storm: of one request that says so itself, and of equal ones that may be different requests. */
const DECLARED_CALLS = 11
const ALIKE_CALLS = 20
/** A burst that is followed by another is many clients with a pause between; beyond this it is too many of them. */
const MAX_BURST_SIZE = 60
/** How much longer than twice the median long pauses may be: for certain, and on a busy machine. */
const STEADY_MS = 50
const UNEVEN_MS = 250

/** Reports many repeats of a failing request whose pauses do not grow. */
export const storm: FindingDefinition = {
  kind: 'retry-storm',
  find: (behaviour) => stormsIn(behaviour).map(draft),
}

/** A storm, and whether it is of one client for certain. */
interface Storm {
  calls: ClientCall[]
  isSure: boolean
}

/** All storms; no call is in two of them. */
export function stormsIn(behaviour: Behaviour): Storm[] {
  const seen = new Set<ClientCall>()
  const alike = loopsIn(runsOf(behaviour.calls), STEADY_MS).filter((stretch) => !areWorkers(stretch, behaviour))
  const sure = [...declaredIn(behaviour), ...alike]
  // A pool spreads the loop of one program over connections, as many clients in turn would use them; a busy machine makes pauses uneven.
  const perhaps = loopsIn(sequencesOf(behaviour), UNEVEN_MS).filter((stretch) => !areWorkers(stretch, behaviour))
  const all = [
    sure.map((calls) => ({ calls, isSure: true })),
    perhaps.map((calls) => ({ calls, isSure: false })),
  ].flat()
  return all.filter(({ calls }) => {
    if (calls.some((call) => seen.has(call))) return false
    for (const call of calls) seen.add(call)
    return true
  })
}

const fails = (call: ClientCall) => ['retryable', 'final'].includes(natureOf(call))
/** A step without a pause, of a client that was not told how long to wait or takes no notice. */
const hurries = (first: ClientCall, again: ClientCall) =>
  fails(first) && pauseBetween(first, again) < SHORT_MS && (first.wait === null || !keptWait(first, again))

function declaredIn({ pairing }: Behaviour): ClientCall[][] {
  const declared = new Set(pairing.pairs.filter((pair) => pair.declared).map(({ again }) => again))
  return pairing.chains
    .flatMap((chain) => stretchesOf(chain, (first, again) => declared.has(again) && hurries(first, again)))
    .filter((stretch) => stretch.length >= DECLARED_CALLS && isSteady(stretch, STEADY_MS))
}

/** Equal calls one after the other, on whatever connections. */
const sequencesOf = ({ calls }: Behaviour): ClientCall[][] =>
  groupBy(calls, requestKey).flatMap((equal) => stretchesOf(equal, (first, again) => isAfter(again, first)))

const loopsIn = (runs: readonly ClientCall[][], slack: number): ClientCall[][] =>
  runs.flatMap((run) => {
    const stretches = stretchesOf(run, hurries)
    return stretches.filter((stretch, index) => {
      if (stretch.length < ALIKE_CALLS || !isSteady(stretch, slack)) return false
      const next = stretches[index + 1]?.length ?? 0
      return stretch.length > MAX_BURST_SIZE || next < stretch.length / 2
    })
  })

/**
 * Whether equal calls are as those of many workers that each wait as long as they are told: then hardly any wait was kept by no
 * later call. A loop that takes no notice leaves as many as it makes in the last of its waits.
 */
function areWorkers(calls: readonly ClientCall[], { pairing }: Behaviour): boolean {
  const kept = new Set(pairing.pairs.filter(({ first, again }) => keptWait(first, again)).map(({ first }) => first))
  const failed = calls.filter(fails)
  const waits = failed.map(({ wait }) => wait ?? 0)
  const inLastWait = Math.min(...waits) / Math.max(1, medianOf(pausesOf(calls)))
  const missed = failed.filter((call) => !kept.has(call)).length
  return missed < Math.min(inLastWait, failed.length) / 2
}

/** Whether pauses neither grow from the beginning to the end, nor again and again, as those of one request after the other do. */
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
