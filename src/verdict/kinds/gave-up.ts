// gave-up: a request failed in a retryable way and never got a response.

import { isActive } from '../../contract/workspace/task-state.ts'
import { groupBy } from '../../lib/group-by.ts'
import { sumOf } from '../../lib/values.ts'
import {
  attemptsOf,
  brokeOff,
  type ClientCall,
  canReplace,
  endsAtTimeout,
  honorsWait,
  isAfter,
  isFallback,
  lengthOfCall,
  natureOf,
  pauseBetween,
  rebuilt,
  stepsOf,
} from '../client-call.ts'
import { canceledRetriesIn, incompleteIn, isBackoff } from '../incomplete.ts'
import { isCareful, MAX_TO_REARRANGE, type Pairing } from '../pairing.ts'
import { type Behavior, endOf, type FindingDefinition, type FindingDraft, times } from './define.ts'

/** Reports requests that failed in a retryable way, that nothing repeats, and that never got a response. */
export const gaveUp: FindingDefinition = {
  kind: 'gave-up',
  find: (behavior) => [
    ...failedIn(behavior),
    ...doubtfulIn(behavior),
    ...timedOutIn(behavior),
    ...canceledIn(behavior),
    ...unreadIn(behavior),
  ],
}

type Chain = readonly ClientCall[]

function failedIn(behavior: Behavior): FindingDraft[] {
  const failed = unanswered(behavior)
  const repeated = repeatedEarly(failed, behavior)
  const isRepeated = (chain: Chain) => chain.slice(-1).some(({ question }) => repeated.has(question.id))
  const keyOfChain = (chain: Chain) => `${mayBeSettled(chain, behavior)} ${isRepeated(chain)} ${keyOf(chain.at(-1))}`
  return groupBy(failed, keyOfChain).map((chains) => {
    const lasts = chains.flatMap((chain) => chain.slice(-1))
    const [last] = lasts
    // A stopped client may have been about to retry. Equal truncated streams may be separate requests of a client that reports
    // them.
    const isUncertain = behavior.end === 'stopped' || (behavior.end !== 'well' && lasts.every(brokeOff))
    const isMild =
      isUncertain ||
      chains.every(
        (chain) => mayBeSettled(chain, behavior) || isCarefulRequest(chain, behavior) || asksForLongWait(chain),
      )
    const tries = Math.max(...chains.map(({ length }) => length))
    const attempts = Math.max(...chains.map(attemptsOf))
    const byGateway = attempts > tries ? `, after ${attempts} attempts at providers` : ''
    const end = ` (${tries > 1 ? 'last: ' : ''}${last ? endOf(last) : ''}${byGateway})`
    const early = chains.some(isRepeated)
    return draft(chains, behavior, { severity: isMild ? 'warning' : 'error', end, early })
  })
}

/** Number of failed requests to consider for one call. */
const MAX_LOOKED = 100

/**
 * The questions of failed requests that later calls may all have repeated before `Retry-After` had passed, in the end with success.
 * Nothing shows whether these calls are requests of their own.
 */
function repeatedEarly(failed: readonly Chain[], { pairing: { chains, declared }, accepted }: Behavior): Set<string> {
  if (accepted.has('gave-up')) return new Set()
  const isFailed = new Set(failed.flatMap((chain) => chain.slice(-1)))
  const lastOf = new Map(chains.flatMap((chain) => chain.map((call) => [call, chain.at(-1) ?? call])))
  const next = new Map<ClientCall, ClientCall>()
  for (const group of groupBy(chains.flat(), ({ question }) => question.template)) {
    const waiting: ClientCall[] = []
    for (const call of group.toSorted((one, other) => one.number - other.number)) {
      // One that honors the wait may repeat it, too, if the call with which it is paired was repeated early.
      const mayRepeat = (last: ClientCall) =>
        last.wait !== null &&
        isAfter(call, last) &&
        canReplace(last, call) &&
        (!honorsWait(last, call) || isBackoff(pauseBetween(last, call)))
      const last = declared.has(call) ? undefined : waiting.slice(-MAX_LOOKED).findLast(mayRepeat)
      if (last) {
        next.set(last, lastOf.get(call) ?? call)
        waiting.splice(waiting.indexOf(last), 1)
      }
      if (isFailed.has(call)) waiting.push(call)
    }
  }
  const lost = new Set<ClientCall>()
  // A call comes after all that it may repeat.
  for (const last of [...isFailed].toSorted((one, other) => other.number - one.number)) {
    const again = next.get(last)
    if (!again || lost.has(again)) lost.add(last)
  }
  const questionsOf = (calls: Iterable<ClientCall>) => new Set([...calls].map(({ question }) => question.id))
  return questionsOf(isFailed).difference(questionsOf(lost))
}

/** The longest wait, in ms, that every client should accept. The SDKs of OpenAI and Anthropic accept no longer one. */
const MAX_WAIT_MS = 60_000

/** Whether the last response asked for so long a wait that a client may rather give up. */
const asksForLongWait = (chain: Chain): boolean => (chain.at(-1)?.wait ?? 0) > MAX_WAIT_MS

/** A key for findings with the same cause. */
const keyOf = (last: ClientCall | undefined): string => (last ? `${last.operation} ${endOf(last)}` : '')

/** Whether an overlapping call may have been a copy of the last failed one. */
const mayBeSettled = (chain: Chain, { pairing }: Behavior): boolean =>
  chain.slice(-1).some((last) => pairing.settled.possible.has(last))

/** Failures followed by a call that differs only in times or ids. It may be a separate request. */
function doubtfulIn({ pairing }: Behavior): FindingDraft[] {
  const doubtful = pairing.pairs.filter(
    ({ first, again, declared }) =>
      !declared &&
      natureOf(first) === 'retryable' &&
      !brokeOff(first) &&
      !isFallback(first, again) &&
      isDoubtful(first, again),
  )
  return groupBy(doubtful, ({ first }) => keyOf(first)).map((pairs) => {
    const [pair] = pairs
    const many = pairs.length > 1
    return {
      severity: 'warning' as const,
      message: `${many ? `${pairs.length} requests` : 'a request'} may never have succeeded (${pair ? endOf(pair.first) : ''}): the ${many ? 'calls that followed differ' : 'call that followed differs'} in times or ids, so ${many ? 'they may not be retries' : 'it may not be a retry'}`,
      calls: pairs.flatMap(({ first, again }) => [first, again]),
      count: pairs.length,
      figures: { requests: pairs.length },
    }
  })
}

const isDoubtful = (first: ClientCall, again: ClientCall): boolean =>
  rebuilt(first, again) !== 'certain' && !isBackoff(pauseBetween(first, again))

/** Whether a request was retried carefully before it was given up. */
const isCarefulRequest = (chain: Chain, { pairing: { declared } }: Behavior): boolean =>
  isCareful(chain, (again) => declared.has(again))

const timedOutIn = (behavior: Behavior): FindingDraft[] =>
  groupBy(timedOutRequests(behavior.pairing), ({ chain: [first], declared }) => `${first?.operation} ${declared}`).map(
    (found) => {
      const chains = found.map(({ chain }) => chain)
      const longest = Math.round(Math.max(...chains.flat().map(lengthOfCall)))
      // Undeclared equal calls may be separate requests, each canceled by a user.
      const isSure = behavior.end !== 'stopped' && found.every(({ declared }) => declared)
      const isSingle = chains.flat().length === 1
      return draft(chains, behavior, {
        severity: isSure && !chains.every((chain) => isCarefulRequest(chain, behavior)) ? 'error' : 'warning',
        end: isSingle
          ? `; the client disconnected after ${longest} ms, when its timeout had passed`
          : `; the client disconnected each time, after at most ${longest} ms`,
      })
    },
  )

/** Streams that the client left again and again, after faults in them. A client that ends with an error has reported it. */
const canceledIn = (behavior: Behavior): FindingDraft[] =>
  behavior.end === 'badly' || behavior.end === 'stopped'
    ? []
    : groupBy(canceledRetriesIn(behavior.pairing), ([first]) => first?.operation ?? '').map((chains) =>
        draft(chains, behavior, {
          severity: 'warning',
          end: '; the client disconnected before the end of the last stream',
        }),
      )

/** A finding about requests without a response that is true for every pairing of their calls. */
function draft(
  chains: readonly Chain[],
  { pairing, accepted }: Behavior,
  { severity, end, early = false }: { severity: FindingDraft['severity']; end: string; early?: boolean },
): FindingDraft {
  const mayGiveUp = accepted.has('gave-up')
  const questions = new Set(chains.map(([first]) => first?.question.id))
  const equalChains = pairing.chains.filter(([first]) => questions.has(first?.question.id))
  const equal = equalChains.flat()
  const failed = equal.filter(({ outcome }) => outcome !== 'succeeded').length
  const failedCalls = `${failed} ${questions.size === 1 ? 'equivalent calls' : 'calls'} failed`
  const tries = chains.map(({ length }) => length)
  const requests = leastRequests(chains, pairing)
  const isSure =
    requests === chains.length &&
    // A call that may repeat one of several equal requests could be a request of its own.
    equalChains.every(([, ...more]) => more.every((call) => pairing.declared.has(call))) &&
    ((failed === chains.flat().length && !(mayGiveUp && requests > questions.size)) ||
      equal.every(({ mark: { retry, key } }) => retry !== null || key !== null))
  const many = requests > 1
  const what = `never succeeded${early ? `, or ${many ? 'were' : 'was'} repeated before Retry-After had passed` : ''}`
  const message = isSure
    ? `${many ? `${requests} requests` : 'a request'} ${what}: called ${rangeOf(tries)}${many ? ' each' : ''}${end}`
    : `${equal.length > MAX_TO_REARRANGE ? 'about' : 'at least'} ${many ? `${requests} requests` : 'one request'} ${what}: ${failedCalls}${end}`
  // If giving up is accepted, the pairing does not minimize the number of such requests.
  if (!isSure && mayGiveUp) {
    const text = `some requests never succeeded: ${failedCalls}${end}`
    return { severity, message: text, calls: chains.flat(), count: 1, figures: { failed } }
  }
  const figures: FindingDraft['figures'] = isSure ? { requests, tries: Math.max(...tries) } : { requests, failed }
  return { severity, message, calls: chains.flat(), count: requests, figures }
}

/**
 * How many requests the chains are at least. After a backoff, a call may repeat an earlier one in other pairs than these: too
 * early, or by a second layer of retries, such as a proxy that passes on the marks of its client.
 */
const leastRequests = (chains: readonly Chain[], { declared }: Pairing): number =>
  sumOf(
    groupBy(chains, ([first]) => first?.question.id ?? ''),
    (equal) => {
      const lasts: ClientCall[] = []
      for (const call of equal.flat().toSorted((one, other) => one.number - other.number)) {
        const repeated = lasts.findIndex(
          (last) => isAfter(call, last) && (declared.has(call) || isBackoff(pauseBetween(last, call))),
        )
        lasts.splice(repeated < 0 ? lasts.length : repeated, 1, call)
      }
      return Math.min(equal.length, lasts.length)
    },
  )

function rangeOf(counts: readonly number[]): string {
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  return least === most ? times(least) : `${least} to ${times(most)}`
}

const unanswered = ({ pairing, end }: Behavior) => {
  const incomplete = new Set(incompleteIn(pairing).flatMap(({ calls }) => calls))
  return pairing.chains.filter((chain) => {
    const last = chain.at(-1)
    if (last === undefined || natureOf(last) !== 'retryable' || incomplete.has(last)) return false
    if (pairing.settled.certain.has(last)) return false
    // A client with a partial response that ends with an error has reported it.
    return !((end === 'badly' || end === 'stopped') && brokeOff(last))
  })
}

/** Minimum canceled calls that show a timeout, if declared and if not. Fewer may be canceled by a user. */
const MIN_DECLARED_CALLS = 2
const MIN_EQUAL_CALLS = 3
/** Tolerance for calls of a timer, whose lengths are equal or grow. */
const SHARE = 0.8
const JITTER_MS = 50

/** Requests whose calls were all canceled by the client before any content arrived, and that got no response. */
function timedOutRequests({
  declared: declaring,
  chains,
  settled,
}: Pairing): { chain: readonly ClientCall[]; declared: boolean }[] {
  // The winner of a race or another model may have answered.
  const answered = Map.groupBy(
    chains.flat().filter(({ outcome }) => outcome === 'succeeded'),
    ({ question }) => question.id,
  )
  return chains.flatMap((chain) => {
    const [first, ...more] = chain
    if (first === undefined || natureOf(more.at(-1) ?? first) !== 'canceled') return []
    const canceled = chain.filter((call) => natureOf(call) === 'canceled')
    if (canceled.some(({ begun }) => begun)) return []
    const isDeclared = more.every((call) => declaring.has(call))
    const isRepeated =
      canceled.length >= (isDeclared ? MIN_DECLARED_CALLS : MIN_EQUAL_CALLS) &&
      (isDeclared ? endsTimed(canceled) : areTimed(canceled))
    const isSettled = settled.certain.has(first) || settled.possible.has(first)
    if (!isRepeated && !(more.length === 0 && endsAtTimeout(first) && !isSettled)) return []
    const isAnswered = answered.get(first.question.id)?.some(({ until }) => until >= first.number)
    return isAnswered ? [] : [{ chain, declared: isRepeated && isDeclared }]
  })
}

/** Whether the last of declared tries took as long as a timer: only a timeout makes a client repeat a call that it left. */
function endsTimed(canceled: readonly ClientCall[]): boolean {
  const [last, ...earlier] = canceled.toReversed().map(lengthOfCall)
  return last !== undefined && last >= SHARE * Math.min(...earlier) - JITTER_MS
}

/**
 * Whether calls that were left took as long as one timer. urllib3 closes a connection only after the pause before its next
 * try: between the first and the last call, which have none, each is longer by a growing pause.
 */
function areTimed(canceled: readonly ClientCall[]): boolean {
  const steps = stepsOf(canceled)
  if (steps.every(([one, next]) => areAlike(one, next))) return true
  const [first, last] = [canceled[0], canceled.at(-1)]
  return (
    first !== undefined &&
    last !== undefined &&
    areAlike(first, last) &&
    steps.every(([one, next]) => pauseBetween(one, next) <= JITTER_MS) &&
    stepsOf(canceled.slice(0, -1)).every(([one, next]) => isAsLong(next, one))
  )
}

/** Whether two calls that were left took equally long. */
const areAlike = (one: ClientCall, next: ClientCall): boolean => isAsLong(one, next) && isAsLong(next, one)

/** Whether a call that was left took as long as another, or longer. */
const isAsLong = (call: ClientCall, than: ClientCall): boolean =>
  lengthOfCall(call) >= SHARE * lengthOfCall(than) - JITTER_MS

/** Findings about tasks whose final status the client did not read, one per status. */
function unreadIn({ unread, calls, end }: Behavior): FindingDraft[] {
  // A stopped client may have been about to read.
  if (end === 'stopped') return []
  const callOf = new Map(calls.map((call) => [call.trace, call]))
  const found = unread.flatMap(({ trace, ...task }) => {
    const call = callOf.get(trace)
    // A running client may be about to read the status of a running task.
    return call && !(end === undefined && isActive(task.state)) ? [{ call, ...task }] : []
  })
  return groupBy(found, ({ state }) => (isActive(state) ? 'working' : state)).map((tasks) => {
    const state = tasks[0]?.state ?? ''
    const many = tasks.length > 1
    const looks = Math.max(...tasks.map((task) => task.looks))
    const what = isActive(state)
      ? `${many ? `${tasks.length} tasks are` : 'a task is'} still running, and the client neither waited for ${many ? 'them' : 'it'} nor canceled ${many ? 'them' : 'it'}`
      : `the final status (${state}) of ${many ? `${tasks.length} tasks` : 'a task'} was never fetched`
    const looked = looks === 0 ? 'never polled' : `polled ${many ? 'at most ' : ''}${times(looks)} while running`
    return {
      // A client that ended with an error may have failed before it could read.
      severity: end === 'badly' ? ('warning' as const) : ('error' as const),
      message: `${what}; ${looked}`,
      calls: tasks.map(({ call }) => call),
      count: tasks.length,
      figures: { tasks: tasks.length, looks },
    }
  })
}
