// Calls as a client made them: what each shows of itself, how two of them are related, and which came one after the other.
import type { ClientMark, ClientTimeout, SilentCall } from '../contract/core/finding.ts'
import type { HistoryRecord } from '../contract/core/history.ts'
import type { AttemptRecord, OutcomeKind } from '../contract/core/trace.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import { groupBy } from '../lib/group-by.ts'
import type { Question } from '../lib/question.ts'
import { type Rebuilt, rebuiltText } from '../lib/volatile.ts'
import { isTooLong } from '../providers/too-long.ts'

/** One call of a client. Times are in ms since the epoch. */
export interface ClientCall {
  /** Id of its trace; null of a call of the workspace, which has none. */
  trace: string | null
  operation: string
  /** The model that it asked first; null when that is not known. */
  model: string | null
  /** Equal for equal requests. */
  request: string
  /** What it asks, of whatever model and with whatever settings. */
  question: Question
  /** The words of its answer, as far as they were sent or were about to be, without spaces. */
  words(): string
  /** The ids of the tool calls in its answer whose arguments break off. */
  cutCalls(): readonly string[]
  /** Whether the answer says that the input is too long for the model. */
  tooLong: boolean
  /** Its number in the session: calls are numbered as they come. */
  number: number
  /** The number of the last call that had come when its answer ended. */
  until: number
  /** On the session's clock. */
  began: number
  ended: number
  /** On the machine's clock; null for a call that was not made here. */
  arrived: number | null
  left: number | null
  stream: boolean
  /** Whether a part of a stream had come before its end. */
  begun: boolean
  outcome: OutcomeKind
  status: number
  code: string | null
  /** How long its answer told the client to wait; null when it said nothing that this client could act on. */
  wait: number | null
  /** Attempts at providers. */
  attempts: number
  /** Whether a fault changed what the client got of a good answer. */
  disturbed: boolean
  /** Whether a fault acted on that, or on the attempt behind it. */
  faulty: boolean
  /** Whether the answer said itself whether it may be repeated, or nobody can say so. */
  advised: boolean
  /** How long the client waits for a response; undefined when it does not say. */
  timeout: ClientTimeout | undefined
  /** What providers reject in its conversation, one per attempt. */
  histories: readonly HistoryRecord[]
  /** Of a call that we reset because its client waited too long in silence. */
  hung: SilentCall | undefined
  /** Milliseconds of the session's clock from its beginning to the beginning of its response. */
  toResponse: number
  /** Milliseconds of that in which the gateway waited by itself: before another attempt, or for one that timed out. */
  gatewayWaits: number
  mark: ClientMark
}

/** The calls of a session as the judge sees them, those that clients made. */
export const clientCalls = (calls: readonly TraceEvidence[]): ClientCall[] => calls.map(clientCallOf)

function clientCallOf({ trace, request, question, words, cutCalls, heard, client, seq }: TraceEvidence): ClientCall {
  const began = Date.parse(trace.started_at)
  const { connection = null, retry = null, key = null } = client ?? {}
  const caller = client?.caller
  return {
    trace: trace.id,
    operation: trace.operation,
    model: trace.plan[0] ?? trace.model,
    request,
    question: question(),
    words,
    cutCalls,
    tooLong: trace.error !== null && trace.outcome === 'http_error' && isTooLong(trace.error),
    number: seq,
    until: client?.until ?? seq,
    began,
    ended: began + trace.duration_ms,
    arrived: heard?.arrived ?? null,
    left: heard?.left ?? null,
    stream: trace.stream,
    begun: trace.stream && trace.attempts.some(({ first_content_ms: first }) => first !== null),
    outcome: trace.outcome,
    status: trace.status,
    code: trace.error?.code ?? null,
    wait: client?.dated ? null : trace.retry_after_ms,
    attempts: trace.attempts.length,
    // Between a direct call and its provider there is nobody who could make good what a fault has changed.
    disturbed:
      trace.faults.length > 0 || (trace.route === 'direct' && trace.attempts.some(({ faults }) => faults.length > 0)),
    faulty: trace.faults.length > 0 || (trace.attempts.at(-1)?.faults.length ?? 0) > 0,
    advised: client?.advised ?? false,
    timeout: client?.timeout,
    histories: historiesOf(trace.attempts),
    hung: client?.hung,
    toResponse: (trace.stream && trace.attempts.at(-1)?.first_content_ms) || trace.duration_ms,
    gatewayWaits: trace.attempts.reduce(
      (sum, { wait_ms, outcome, duration_ms }) => sum + wait_ms + (outcome === 'timed_out' ? duration_ms : 0),
      0,
    ),
    mark: { connection, retry, key, ...(caller !== undefined && { caller }) },
  }
}

const NO_HISTORIES: readonly HistoryRecord[] = []

/** What was rejected in the attempts of a call, each rule once. */
function historiesOf(attempts: readonly AttemptRecord[]): readonly HistoryRecord[] {
  const rejected = attempts.flatMap(({ history }) => history ?? [])
  if (rejected.length < 2) return rejected.length === 0 ? NO_HISTORIES : rejected
  return rejected.filter(({ message }, index) => rejected.findIndex((other) => other.message === message) === index)
}

/** Timers of clients and ours round differently. */
const ROUNDING_MS = 10

/**
 * What a client may make of an answer: nothing more to do, worth repeating, never worth it, either of the two, or its own end of it.
 */
type Nature = 'succeeded' | 'retryable' | 'final' | 'open' | 'canceled'

const RETRYABLE = new Set([408, 425, 429])
/** Clients differ about these with good reasons. */
const OPEN = new Set([409, 423, 424, 501, 505])
/** A limit that no wait lifts: the account's at a provider, or one of ours. */
const STANDING_LIMITS = new Set(['insufficient_quota', 'spending_limit', 'session_limit'])

/**
 * What a client may make of the answer to a call.
 * @example
 * natureOf({ outcome: 'http_error', status: 503, code: null }) // => 'retryable'
 * natureOf({ outcome: 'http_error', status: 400, code: null }) // => 'final'
 */
export function natureOf({ outcome, status, code, advised, hung }: ClientCall): Nature {
  if (outcome === 'succeeded' || outcome === 'canceled') return outcome
  // What is our own fault says nothing of anybody else; that we had to end a call is a finding of its own.
  if (outcome === 'internal_error' || hung) return 'open'
  if (outcome !== 'http_error' || status < 400) return 'retryable'
  if (advised || OPEN.has(status) || (code !== null && STANDING_LIMITS.has(code))) return 'open'
  return RETRYABLE.has(status) || status >= 500 ? 'retryable' : 'final'
}

/** Whether a stream began well and then broke off or told an error; one that we had to end is a finding of its own. */
export const brokeOff = ({
  stream,
  outcome,
  status,
  hung,
}: Pick<ClientCall, 'stream' | 'outcome' | 'status' | 'hung'>): boolean =>
  stream && status === 200 && outcome !== 'succeeded' && outcome !== 'canceled' && !hung

/** Whether a call came when the answer of the other had ended: only then can it be its repetition. */
export const isAfter = (again: ClientCall, first: ClientCall): boolean => again.number > first.until

/** Milliseconds from the end of an answer to another call: a client waits on its own clock, or moves that of its session. */
export function pauseBetween(first: ClientCall, again: ClientCall): number {
  const passed = again.began - first.ended
  return first.left === null || again.arrived === null ? passed : Math.max(passed, again.arrived - first.left)
}

/** Whether a wait is over when another call comes; a call that asks for none is always over. */
export const keptWait = (first: ClientCall, again: ClientCall): boolean =>
  first.wait === null || !isBound(first, again) || pauseBetween(first, again) >= first.wait - ROUNDING_MS

/** Whether a limit that the first call has met is one for the other: it binds neither who asks another model nor another API key. */
export const isBound = (first: ClientCall, again: ClientCall): boolean =>
  !hasOtherKey(first, again) &&
  (sameRequest(first, again) ||
    (first.operation === again.operation && first.model === again.model && rebuilt(first, again) === 'certain'))

/** Whether two calls were made with two API keys. */
function hasOtherKey({ mark: { caller: one } }: ClientCall, { mark: { caller: other } }: ClientCall): boolean {
  return one !== undefined && other !== undefined && one !== other
}

/** What a provider says of an API key, and not of a request. */
const OF_A_KEY = new Set([401, 402, 403, 404, 429])

/** Whether a call is made with another API key after one that says something of its own. */
export const hasNewKey = (first: ClientCall, again: ClientCall): boolean =>
  first.outcome === 'http_error' && OF_A_KEY.has(first.status) && hasOtherKey(first, again)

/** Whether two calls ask for exactly the same. */
export const sameRequest = (one: ClientCall, other: ClientCall): boolean =>
  one.request === other.request && one.operation === other.operation

/** Whether a call asks another model or provider the same: a fallback of the client's own. */
export const isFallback = (first: ClientCall, again: ClientCall): boolean =>
  first.model !== null && again.model !== null && first.model !== again.model

/** Operations that are conversations with a model. */
export const CONVERSATIONS: ReadonlySet<string> = new Set(['chat.completions', 'responses'])

/** Whether a call can stand in for one that asks the same: APIs do not stand in for each other but in a fallback. */
export const canReplace = (first: ClientCall, again: ClientCall): boolean =>
  (first.operation === again.operation ||
    (isFallback(first, again) && CONVERSATIONS.has(first.operation) && CONVERSATIONS.has(again.operation))) &&
  rebuilt(first, again) !== 'different'

/** Whether two calls ask the same, given that the second came later: it may have been built anew, with the time of day. */
export function rebuilt(first: ClientCall, again: ClientCall): Rebuilt {
  const [one, other] = [first.question, again.question]
  if (one.id === other.id) return 'certain'
  if (one.template !== other.template) return 'different'
  const instants = ({ began, arrived }: ClientCall) => (arrived === null ? [began] : [began, arrived])
  const [before, after] = [instants(first), instants(again)]
  return before.length === after.length
    ? rebuiltText(one.volatile, other.volatile, { before, after })
    : rebuiltText(one.volatile, other.volatile, { before: [first.began], after: [again.began] })
}

/** How long after the end of one call another one ended, in ms: on the clock on which that is longer. */
export const endedAfter = (one: ClientCall, other: ClientCall): number =>
  Math.max(one.ended - other.ended, one.left === null || other.left === null ? 0 : one.left - other.left)

/** How long after one call another one came, in ms, whichever came first: on the clock on which that is longer. */
export const arrivedSeparately = (one: ClientCall, other: ClientCall): number =>
  Math.max(
    Math.abs(one.began - other.began),
    one.arrived === null || other.arrived === null ? 0 : Math.abs(one.arrived - other.arrived),
  )

/** How long a client had waited when the call ended: on its own clock, where that is known. */
export const lengthOfCall = ({ began, ended, arrived, left }: ClientCall): number =>
  arrived === null || left === null ? ended - began : left - arrived

/** How long a call went on after another had come. */
export const goesOn = (first: ClientCall, again: ClientCall): number => -Math.min(0, lapBetween(first, again))
const lapBetween = (first: ClientCall, again: ClientCall): number => {
  const passed = again.began - first.ended
  return first.left === null || again.arrived === null ? passed : Math.min(passed, again.arrived - first.left)
}

/**
 * Runs of calls for the same, each after the answer of the one before. Calls on one connection are in such an order for
 * certain; those on connections of their own, or none, only as long as no two of them overlap.
 */
export const runsOf = (calls: readonly ClientCall[]): ClientCall[][] =>
  groupBy(calls, ({ operation, request }) => `${operation} ${request}`)
    .filter(({ length }) => length > 1)
    .flatMap(lanesOf)
    .flatMap((lane) => stretchesOf(lane, (first, again) => isAfter(again, first)))
    .filter(({ length }) => length > 1)

function lanesOf(calls: readonly ClientCall[]): ClientCall[][] {
  const uses = new Map<string, number>()
  for (const { mark } of calls) {
    if (mark.connection !== null) uses.set(mark.connection, (uses.get(mark.connection) ?? 0) + 1)
  }
  return groupBy(calls, ({ mark: { connection } }) =>
    connection !== null && (uses.get(connection) ?? 0) > 1 ? connection : '',
  )
}

/** Parts of a run between calls whose step to the next does not pass the test. */
export function stretchesOf(
  run: readonly ClientCall[],
  passes: (first: ClientCall, again: ClientCall) => boolean,
): ClientCall[][] {
  const stretches: ClientCall[][] = []
  let stretch: ClientCall[] = []
  for (const call of run) {
    const last = stretch.at(-1)
    if (last && passes(last, call)) stretch.push(call)
    else {
      stretch = [call]
      stretches.push(stretch)
    }
  }
  return stretches
}

/** The middle one of some numbers, 0 of none. */
export const medianOf = (numbers: readonly number[]): number =>
  numbers.toSorted((one, other) => one - other)[numbers.length >> 1] ?? 0

/** The steps of a chain or a run: each call with the next. */
export const stepsOf = (calls: readonly ClientCall[]): [first: ClientCall, again: ClientCall][] =>
  calls.slice(1).flatMap((again, index) => {
    const first = calls[index]
    return first ? [[first, again]] : []
  })

/** The pauses between the calls of a chain or a run. */
export const pausesOf = (calls: readonly ClientCall[]): number[] =>
  stepsOf(calls).map(([first, again]) => Math.max(0, pauseBetween(first, again)))
