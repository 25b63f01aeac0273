// gave-up: a request that never got a response, though it might have been asked again.

import { isActive } from '../../contract/workspace/agent-task.ts'
import { groupBy } from '../../lib/group-by.ts'
import {
  brokeOff,
  type ClientCall,
  isFallback,
  lengthOfCall,
  natureOf,
  pauseBetween,
  rebuilt,
  stepsOf,
} from '../client-call.ts'
import { incompleteIn, isBackoff } from '../incomplete.ts'
import type { Pairing } from '../pairing.ts'
import { isCareful, MAX_TO_REARRANGE } from '../undeclared-retries.ts'
import { type Behaviour, endOf, type FindingDefinition, type FindingDraft, times } from './define.ts'

/** Reports requests that failed in a retryable way, that nothing repeats, and that never got a response. */
export const gaveUp: FindingDefinition = {
  kind: 'gave-up',
  find: (behaviour) => [
    ...failedIn(behaviour),
    ...doubtfulIn(behaviour),
    ...hungUpIn(behaviour),
    ...unreadIn(behaviour),
  ],
}

type Chain = readonly ClientCall[]

const failedIn = (behaviour: Behaviour): FindingDraft[] =>
  groupBy(unanswered(behaviour), (chain) => `${mayBeSettled(chain, behaviour)} ${keyOf(chain.at(-1))}`).map(
    (chains) => {
      const lasts = chains.flatMap((chain) => chain.slice(-1))
      const [last] = lasts
      // Who was stopped may have been about to ask again. Equal streams that break may be requests of their own, of a client that
      // says what became of them.
      const perhaps = behaviour.end === 'stopped' || (behaviour.end !== 'well' && lasts.every(brokeOff))
      const isMild = perhaps || chains.every((chain) => mayBeSettled(chain, behaviour) || isSpared(chain, behaviour))
      const tries = Math.max(...chains.map(({ length }) => length))
      const attempts = Math.max(...chains.map(attemptsOf))
      const byGateway = attempts > tries ? `, after ${attempts} attempts at providers` : ''
      const end = ` (${tries > 1 ? 'last: ' : ''}${last ? endOf(last) : ''}${byGateway})`
      return draft(chains, behaviour, { severity: isMild ? 'warning' : 'error', end })
    },
  )

const attemptsOf = (chain: Chain) => chain.reduce((sum, { attempts }) => sum + attempts, 0)

/** What goes wrong in the same way is one finding. */
const keyOf = (last: ClientCall | undefined): string => (last ? `${last.operation} ${endOf(last)}` : '')

/** Whether another call under way may have been a copy of the one that failed last. */
const mayBeSettled = (chain: Chain, { pairing }: Behaviour): boolean =>
  chain.slice(-1).some((last) => pairing.settled.perhaps.has(last))

/** Failures that were followed by a call which asks the same but for times or ids: it may be another request. */
function doubtfulIn({ pairing }: Behaviour): FindingDraft[] {
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

/** Whether a request was repeated as a careful program does. */
function isSpared(chain: Chain, { pairing }: Behaviour): boolean {
  const declared = new Set(pairing.pairs.filter((pair) => pair.declared).map(({ again }) => again))
  return isCareful(chain, (again) => declared.has(again))
}

const hungUpIn = (behaviour: Behaviour): FindingDraft[] =>
  groupBy(hungUpOn(behaviour.pairing), ({ chain: [first], declared }) => `${first?.operation} ${declared}`).map(
    (found) => {
      const chains = found.map(({ chain }) => chain)
      const longest = Math.round(Math.max(...chains.flat().map(lengthOfCall)))
      // Equal calls that say nothing of each other may be many, each of which somebody has stopped.
      const isSure = behaviour.end !== 'stopped' && found.every(({ declared }) => declared)
      return draft(chains, behaviour, {
        severity: isSure && !chains.every((chain) => isSpared(chain, behaviour)) ? 'error' : 'warning',
        end: `; the client disconnected each time, after at most ${longest} ms`,
      })
    },
  )

/** Says of requests without an answer what is true however their calls are paired. */
function draft(
  chains: readonly Chain[],
  { pairing, accepted }: Behaviour,
  { severity, end }: { severity: FindingDraft['severity']; end: string },
): FindingDraft {
  const mayGiveUp = accepted.has('gave-up')
  const questions = new Set(chains.map(([first]) => first?.question.id))
  const equal = pairing.chains.filter(([first]) => questions.has(first?.question.id)).flat()
  const failed = equal.filter(({ outcome }) => outcome !== 'succeeded').length
  const tries = chains.map(({ length }) => length)
  const requests = chains.length
  const isSure =
    isDeclared(chains, pairing) &&
    ((failed === chains.flat().length && !(mayGiveUp && requests > questions.size)) ||
      equal.every(({ mark: { retry, key } }) => retry !== null || key !== null))
  const message = isSure
    ? `${requests === 1 ? 'a request' : `${requests} requests`} never succeeded: called ${rangeOf(tries)}${requests === 1 ? '' : ' each'}${end}`
    : `${equal.length > MAX_TO_REARRANGE ? 'about' : 'at least'} ${requests === 1 ? 'one request' : `${requests} requests`} never succeeded: ${failed} equivalent calls failed${end}`
  // Where giving up is no fault, nobody looks for the pairing with the fewest of them.
  if (!isSure && mayGiveUp) {
    const said = `some requests never succeeded: ${failed} equivalent calls failed${end}`
    return { severity, message: said, calls: chains.flat(), count: 1, figures: { failed } }
  }
  const figures: FindingDraft['figures'] = isSure ? { requests, tries: Math.max(...tries) } : { requests, failed }
  return { severity, message, calls: chains.flat(), count: requests, figures }
}

function isDeclared(chains: readonly Chain[], { pairs }: Behaviour['pairing']): boolean {
  const declared = new Set(pairs.filter((pair) => pair.declared).map(({ again }) => again))
  return chains.every(([, ...more]) => more.every((call) => declared.has(call)))
}

function rangeOf(counts: readonly number[]): string {
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  return least === most ? times(least) : `${least} to ${times(most)}`
}

const unanswered = ({ pairing, end }: Behaviour) => {
  const incomplete = new Set(incompleteIn(pairing).flatMap(({ calls }) => calls))
  return pairing.chains.filter((chain) => {
    const last = chain.at(-1)
    if (last === undefined || natureOf(last) !== 'retryable' || incomplete.has(last)) return false
    if (pairing.settled.surely.has(last)) return false
    // Who has a part of an answer and ends with a complaint has told somebody.
    return !((end === 'badly' || end === 'stopped') && brokeOff(last))
  })
}

/** So many calls are a timeout's, of one request that says so itself and of equal ones; fewer may be a person's who has seen enough. */
const DECLARED_CALLS = 2
const ALIKE_CALLS = 3
/** A timer's calls are as long as each other, or ever longer. */
const SHARE = 0.8
const JITTER_MS = 50

/** The requests whose calls the client has all ended itself, before anything came of them, and whose question nobody answered. */
function hungUpOn({ pairs, chains }: Pairing): { chain: readonly ClientCall[]; declared: boolean }[] {
  const declaring = new Set(pairs.filter((pair) => pair.declared).map(({ again }) => again))
  // A race has one winner, and another model may have said what this one did not.
  const answered = Map.groupBy(
    chains.flat().filter(({ outcome }) => outcome === 'succeeded'),
    ({ question }) => question.id,
  )
  return chains.flatMap((chain) => {
    const [first, ...more] = chain
    if (first === undefined || natureOf(more.at(-1) ?? first) !== 'canceled') return []
    const left = chain.filter((call) => natureOf(call) === 'canceled')
    const declared = more.every((call) => declaring.has(call))
    if (left.length < (declared ? DECLARED_CALLS : ALIKE_CALLS) || left.some(({ begun }) => begun)) return []
    if (!stepsOf(left).every(([one, next]) => isTimed(one, next, declared))) return []
    const helped = answered.get(first.question.id)?.some(({ until }) => until >= first.number)
    return helped ? [] : [{ chain, declared }]
  })
}

function isTimed(one: ClientCall, next: ClientCall, mayGrow: boolean): boolean {
  const [before, after] = [lengthOfCall(one), lengthOfCall(next)]
  return after >= SHARE * before - JITTER_MS && (mayGrow || before >= SHARE * after - JITTER_MS)
}

/** What is said of a client that has not read what became of its tasks; all that ended in the same way is one finding. */
function unreadIn({ unread, calls, end }: Behaviour): FindingDraft[] {
  // Who was stopped was about to read, for all that anybody knows.
  if (end === 'stopped') return []
  const callOf = new Map(calls.map((call) => [call.trace, call]))
  const known = unread.flatMap(({ trace, ...task }) => {
    const call = callOf.get(trace)
    // A client that has not ended may be about to read what is still at work.
    return call && !(end === undefined && isActive(task.state)) ? [{ call, ...task }] : []
  })
  return groupBy(known, ({ state }) => (isActive(state) ? 'working' : state)).map((tasks) => {
    const state = tasks[0]?.state ?? ''
    const many = tasks.length > 1
    const looks = Math.max(...tasks.map((task) => task.looks))
    const what = isActive(state)
      ? `${many ? `${tasks.length} tasks are` : 'a task is'} still running, and the client neither waited for ${many ? 'them' : 'it'} nor canceled ${many ? 'them' : 'it'}`
      : `the final status (${state}) of ${many ? `${tasks.length} tasks` : 'a task'} was never fetched`
    const looked = looks === 0 ? 'never polled' : `polled ${many ? 'at most ' : ''}${times(looks)} while running`
    return {
      // Who has ended with a complaint may have failed at something else before it could read.
      severity: end === 'badly' ? ('warning' as const) : ('error' as const),
      message: `${what}; ${looked}`,
      calls: tasks.map(({ call }) => call),
      count: tasks.length,
      figures: { tasks: tasks.length, looks },
    }
  })
}
