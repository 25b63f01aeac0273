// Calls that say nothing of repetitions: which of them could be some.
import { groupBy } from '../lib/group-by.ts'
import { type ClientCall, canReplace, keptWait, natureOf, pauseBetween, rebuilt, sameRequest } from './client-call.ts'
import { runsOf, stepsOf } from './lanes.ts'
import { costsOf, type Matcher, type PairingOptions, type PairTest } from './matcher.ts'
import { rearranged } from './rearrange.ts'
import { carelessIn, spare } from './spare.ts'

/** Calls that say nothing of the kind: they are taken for repetitions where that clears the client of having given up. */
export function pairAlike(
  group: readonly ClientCall[],
  begun: Matcher,
  { costOf, mayGiveUp }: PairingOptions,
): Matcher {
  const silent = group.filter(({ mark }) => (mark.retry ?? 0) === 0)
  const isRetryable: PairTest = (first, again) => natureOf(first) === 'retryable' && canReplace(first, again)
  const as = { declared: false }
  /** For each request the calls that are equal to it, before those that ask the same in another way. */
  const waiting = (tests: readonly PairTest[]): Matcher => {
    const matcher = begun.copy()
    for (const cost of costsOf(group, costOf)) {
      for (const test of tests) {
        const passes: PairTest = (first, again) =>
          costOf(first) === cost && isRetryable(first, again) && keptWait(first, again) && test(first, again)
        matcher.match(silent, { ...as, test: passes })
      }
    }
    return matcher
  }
  const costIn = (reading: Matcher) => group.reduce((sum, call) => sum + (reading.isLast(call) ? costOf(call) : 0), 0)
  const cheaper = (one: Matcher, other: () => Matcher): Matcher => {
    if (costIn(one) === 0) return one
    const second = other()
    return costIn(second) < costIn(one) ? second : one
  }
  const inOrder = waiting([sameRequest, sameQuestion, surelySame, () => true])
  const honoured = cheaper(inOrder, () => rearranged(group, inOrder, costOf))
  // A careful program may give up: a reading in which all that do are careful holds nothing against anybody.
  if (!mayGiveUp) {
    const spared = spare(group, honoured, costOf)
    if (carelessIn(group, spared, costOf).length === 0) return withRest(silent, spared)
    // Calls that were left are among what a careful program has tried.
    const rested = spare(group, withRest(silent, spared.copy()), costOf)
    if (carelessIn(group, rested, costOf).length === 0) return rested
  }
  // Something is wrong in any case. Where fewer have given up when calls are taken as they came, that is what they were.
  const best = mayGiveUp ? honoured : cheaper(honoured, () => pairRows(silent, begun.copy()))
  best.match(silent, { ...as, test: (first, again) => isRetryable(first, again) && keptWait(first, again) })
  const isNext = nextIn(silent)
  const early: PairTest = (first, again) =>
    costOf(first) > 0 &&
    isRetryable(first, again) &&
    isNext(first, again) &&
    mayRepeat(first, again) &&
    !keptWait(first, again)
  if (!mayGiveUp) best.match(silent, { ...as, test: early, verdict: 'early' })
  return withRest(silent, mayGiveUp ? best : spare(group, best, costOf))
}

const sameQuestion: PairTest = (first, again) => first.question.id === again.question.id
const surelySame: PairTest = (first, again) => rebuilt(first, again) === 'certain'

/** A reading with what is held against nobody: retries that were on time, and calls again after one that was left. */
function withRest(silent: readonly ClientCall[], reading: Matcher): Matcher {
  const onTime: PairTest = (first, again) =>
    natureOf(first) === 'retryable' && canReplace(first, again) && keptWait(first, again)
  const left: PairTest = (first, again) => natureOf(first) === 'cancelled' && sameRequest(first, again)
  for (const test of [onTime, left]) reading.match(silent, { declared: false, test })
  return reading
}

/** Pairs each call with the one before it in a row of equal ones. */
function pairRows(silent: readonly ClientCall[], matcher: Matcher): Matcher {
  const repeating = new Set(matcher.pairs.map(({ again }) => again))
  for (const [first, again] of runsOf(silent).flatMap(stepsOf)) {
    if (natureOf(first) !== 'retryable' || !matcher.isLast(first) || repeating.has(again)) continue
    if (!mayRepeat(first, again)) continue
    matcher.add({ first, again, declared: false, verdict: keptWait(first, again) ? undefined : 'early' })
  }
  return matcher
}

/** Whether a call is the next equal one on a connection, or of all: those that a busy machine makes at once come one after the other. */
function nextIn(silent: readonly ClientCall[]): PairTest {
  const next = new Map<ClientCall, ClientCall[]>()
  for (const equal of groupBy(silent, ({ operation, request }) => `${operation} ${request}`)) {
    for (const row of [equal, ...groupBy(equal, ({ mark }) => mark.connection ?? '')]) {
      let index = 0
      for (const call of row.toSorted((one, other) => one.until - other.until)) {
        while (index < row.length && (row[index]?.number ?? 0) <= call.until) index++
        next.set(call, [...(next.get(call) ?? []), ...row.slice(index, index + 1)])
      }
    }
  }
  return (first, again) => next.get(first)?.includes(again) === true
}

/** Calls that are made at once come on connections of their own, some of them when the first is answered already. */
const AT_ONCE_MS = 50
function mayRepeat(first: ClientCall, again: ClientCall): boolean {
  const { connection } = first.mark
  return connection === again.mark.connection || pauseBetween(first, again) >= AT_ONCE_MS
}
