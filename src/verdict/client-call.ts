// Client calls for the verdict: their data, how two calls are related, and runs of equal calls.
import type { ClientMark, ClientTimeout, SilentCall, WorkspaceCallNote } from '../contract/core/finding.ts'
import type { HistoryRecord } from '../contract/core/history.ts'
import type { OutcomeKind } from '../contract/core/outcome-kind.ts'
import type { AttemptRecord } from '../contract/core/trace.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import { groupBy } from '../lib/group-by.ts'
import { opaqueQuestion, type Question } from '../lib/question.ts'
import { sumOf } from '../lib/values.ts'
import { type Rebuilt, rebuiltText } from '../lib/volatile.ts'
import { isTooLong } from '../providers/error-body.ts'

/** One call of a client. Times are in ms since the epoch. */
export interface ClientCall
  extends Pick<WorkspaceCallNote, 'operation' | 'number' | 'until' | 'began' | 'ended' | 'status'> {
  /** Id of its trace. Null for a workspace call. */
  trace: string | null
  /** The first requested model. Null if unknown. */
  model: string | null
  /** Equal for equal requests. */
  request: string
  /** The content of the request, without model and settings. */
  question: Question
  /** The text of its response, as far as it was sent or about to be, without spaces. */
  responseText(): string
  /** The ids of the tool calls in its response whose arguments are truncated. */
  cutCalls(): readonly string[]
  /** Whether it was rejected because the input is too long for the model. */
  tooLong: boolean
  /** When it arrived and its response ended, on the real clock. Null for a call of another process. */
  arrived: number | null
  left: number | null
  stream: boolean
  /** Whether a stream sent any content. */
  begun: boolean
  outcome: OutcomeKind
  code: string | null
  /** The wait in ms that its response asked for. Null if it had none that this client could follow. */
  wait: number | null
  /** Number of provider attempts. */
  attempts: number
  /** Whether a fault changed the response that the client received. */
  disturbed: boolean
  /** Whether a fault was injected into the call or its last attempt. */
  faulty: boolean
  /** Whether the response said if a retry helps, or this cannot be known. */
  advised: boolean
  /** The client's timeout. Undefined if it declares none. */
  timeout: ClientTimeout | undefined
  /** What providers reject in its conversation, each rule once. */
  histories: readonly HistoryRecord[]
  /** Set if the call was reset because its client waited too long without data. */
  hung: SilentCall | undefined
  /** Whether its client may have the whole response although it did not succeed. */
  readable: boolean
  /** Time from the start of the call to the start of its response, in ms on the session's clock. */
  toResponse: number
  /** The part of that time in which the gateway waited: before another attempt, or for one that timed out. */
  gatewayWaits: number
  mark: ClientMark
}

/** A call and its retry. */
export interface Pair {
  first: ClientCall
  again: ClientCall
  /** Whether the second call declares that it is a retry. */
  declared: boolean
}

/** The client calls in the given evidence, which is in order of arrival. */
export function clientCalls(evidence: readonly TraceEvidence[]): ClientCall[] {
  const calls = evidence.map(clientCallOf)
  for (const [index, { client }] of evidence.entries()) {
    const call = calls[index]
    if (!call || call.left === null || client?.ends_after === undefined) continue
    // What arrives before the connection ends is no retry: its client still waits for the rest of the response.
    const end = call.left + client.ends_after
    for (let at = index + 1; ; at++) {
      const { arrived = null, number = 0 } = calls[at] ?? {}
      if (arrived === null || arrived >= end) break
      call.until = Math.max(call.until, number)
    }
  }
  return calls
}

function clientCallOf(evidence: TraceEvidence): ClientCall {
  const { trace, request, question, responseText, cutCalls, times, client, seq } = evidence
  const began = Date.parse(trace.started_at)
  const { connection = null, retry = null, key = null } = client ?? {}
  const caller = client?.caller
  return {
    trace: trace.id,
    operation: trace.operation,
    model: trace.plan[0] ?? trace.model,
    request,
    question: question(),
    responseText,
    cutCalls,
    tooLong: trace.error !== null && trace.outcome === 'http_error' && isTooLong(trace.error),
    number: seq,
    until: client?.until ?? seq,
    began,
    ended: began + trace.duration_ms,
    arrived: times?.arrived ?? null,
    left: times?.left ?? null,
    stream: trace.stream,
    begun: trace.stream && trace.attempts.some(({ first_content_ms: first }) => first !== null),
    outcome: trace.outcome,
    status: trace.status,
    code: trace.error?.code ?? null,
    wait: client?.dated ? null : trace.retry_after_ms,
    attempts: trace.attempts.length,
    // No gateway repairs what a fault changes in a direct call.
    disturbed:
      trace.faults.length > 0 || (trace.route === 'direct' && trace.attempts.some(({ faults }) => faults.length > 0)),
    faulty: trace.faults.length > 0 || (trace.attempts.at(-1)?.faults.length ?? 0) > 0,
    advised: client?.advised ?? false,
    timeout: client?.timeout,
    histories: historiesOf(trace.attempts),
    hung: client?.hung,
    readable: client?.readable ?? false,
    toResponse: (trace.stream && trace.attempts.at(-1)?.first_content_ms) || trace.duration_ms,
    gatewayWaits: sumOf(trace.attempts, ({ wait_ms, outcome, duration_ms }) =>
      outcome === 'timed_out' ? wait_ms + duration_ms : wait_ms,
    ),
    mark: { connection, retry, key, ...(caller !== undefined && { caller }) },
  }
}

const NO_HISTORIES: readonly HistoryRecord[] = []

/** What was rejected in the attempts of a call, without duplicates. */
function historiesOf(attempts: readonly AttemptRecord[]): readonly HistoryRecord[] {
  const rejected = attempts.flatMap(({ history }) => history ?? [])
  if (rejected.length < 2) return rejected.length === 0 ? NO_HISTORIES : rejected
  return rejected.filter(({ message }, index) => rejected.findIndex((other) => other.message === message) === index)
}

/** Tolerance for the rounding of timers. */
const ROUNDING_MS = 10

/** What a response means for a retry: not needed, useful, useless, unclear, or canceled by the client. */
type Nature = 'succeeded' | 'retryable' | 'final' | 'open' | 'canceled'

const RETRYABLE = new Set([408, 425, 429])
/** Statuses that some clients retry and others do not, both for good reasons. */
const OPEN = new Set([409, 423, 424, 501, 505])
/** Limits that do not end with time. */
const STANDING_LIMITS = new Set(['insufficient_quota', 'spending_limit', 'session_limit'])

/**
 * Classifies the response to a call by whether a retry is useful.
 * @example
 * natureOf({ outcome: 'http_error', status: 503, code: null }) // => 'retryable'
 * natureOf({ outcome: 'http_error', status: 400, code: null }) // => 'final'
 */
export function natureOf({ outcome, status, code, advised, hung, readable }: ClientCall): Nature {
  if (outcome === 'succeeded' || outcome === 'canceled') return outcome
  // An internal error is not the client's fault. A call reset for silence is a separate finding.
  if (outcome === 'internal_error' || hung || readable) return 'open'
  if (outcome !== 'http_error' || status < 400) return 'retryable'
  if (advised || OPEN.has(status) || (code !== null && STANDING_LIMITS.has(code))) return 'open'
  return RETRYABLE.has(status) || status >= 500 ? 'retryable' : 'final'
}

/**
 * Whether a stream began with status 200 and was then truncated or ended in an error. Excludes calls reset for silence,
 * and streams that some clients read to their end.
 */
export const brokeOff = (call: Pick<ClientCall, 'stream' | 'outcome' | 'status' | 'hung' | 'readable'>): boolean =>
  call.stream &&
  call.status === 200 &&
  call.outcome !== 'succeeded' &&
  call.outcome !== 'canceled' &&
  !call.hung &&
  !call.readable

/** Whether a call arrived after the response of the other had ended. Only then can it be a retry of it. */
export const isAfter = (again: ClientCall, first: ClientCall): boolean => again.number > first.until

/** Time from the end of one response to the next call, in ms: real or session time, whichever is longer. */
export function pauseBetween(first: ClientCall, again: ClientCall): number {
  const passed = again.began - first.ended
  return Math.max(passed, realTime(first.left, again.arrived) ?? passed)
}

/** Real time between two instants, in ms. Undefined if one of them is not known. */
const realTime = (from: number | null, to: number | null): number | undefined =>
  from === null || to === null ? undefined : to - from

/** Whether the second call honors the wait that the first response asked for, if it has one that applies. */
export const honorsWait = (first: ClientCall, again: ClientCall): boolean =>
  first.wait === null || !isBound(first, again) || pauseBetween(first, again) >= first.wait - ROUNDING_MS

/** Whether a rate limit that the first call hit also applies to the other: not for another model or API key. */
export const isBound = (first: ClientCall, again: ClientCall): boolean =>
  !hasOtherKey(first, again) &&
  (sameRequest(first, again) ||
    (first.operation === again.operation && first.model === again.model && rebuilt(first, again) === 'certain'))

/** Whether two calls have different API keys. */
function hasOtherKey({ mark: { caller: one } }: ClientCall, { mark: { caller: other } }: ClientCall): boolean {
  return one !== undefined && other !== undefined && one !== other
}

/** Statuses that may concern the API key and not the request. */
const KEY_STATUSES = new Set([401, 402, 403, 404, 429])

/** Whether the second call uses another API key after an error that may concern the first key. */
export const hasNewKey = (first: ClientCall, again: ClientCall): boolean =>
  first.outcome === 'http_error' && KEY_STATUSES.has(first.status) && hasOtherKey(first, again)

/** A key of equal requests. */
export const requestKey = ({ operation, request }: ClientCall): string => `${operation} ${request}`

/** Whether two calls have the same operation and request. */
export const sameRequest = (one: ClientCall, other: ClientCall): boolean =>
  one.request === other.request && one.operation === other.operation

/** Whether two calls have different known models. With the same content, the second is a fallback of the client. */
export const isFallback = (first: ClientCall, again: ClientCall): boolean =>
  first.model !== null && again.model !== null && first.model !== again.model

/** Operations that are conversations with a model. */
export const CONVERSATIONS: ReadonlySet<string> = new Set(['chat.completions', 'responses'])

/** Whether a call can replace another with the same content. Its operation may only differ in a fallback. */
export const canReplace = (first: ClientCall, again: ClientCall): boolean =>
  (first.operation === again.operation ||
    (isFallback(first, again) && CONVERSATIONS.has(first.operation) && CONVERSATIONS.has(again.operation))) &&
  rebuilt(first, again) !== 'different'

/** Whether two calls have the same content. The second may have been rebuilt with a newer time of day. */
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

/** How long the first call ended after the other, in ms: real or session time, whichever is longer. */
export const endedAfter = (one: ClientCall, other: ClientCall): number =>
  Math.max(one.ended - other.ended, realTime(other.left, one.left) ?? 0)

/** Time between the arrivals of two calls, in ms: real or session time, whichever is longer. */
export const arrivedSeparately = (one: ClientCall, other: ClientCall): number =>
  Math.max(Math.abs(one.began - other.began), Math.abs(realTime(other.arrived, one.arrived) ?? 0))

/** Duration of a call in ms: in real time if known, else on the session's clock. */
export const lengthOfCall = ({ began, ended, arrived, left }: ClientCall): number =>
  realTime(arrived, left) ?? ended - began

/** SDKs round their timeouts down to seconds. A timer can be late by as much again. */
const TIMEOUT_SLACK_MS = 2_000

/** Whether the client left the call when the timeout that it declares had passed. */
export function endsAtTimeout(call: ClientCall): boolean {
  const { outcome, timeout } = call
  if (outcome !== 'canceled' || !timeout || timeout.assumed) return false
  const late = lengthOfCall(call) - timeout.ms
  return late >= 0 && late <= TIMEOUT_SLACK_MS
}

/** How long the first call continued after the second had arrived, in ms. */
export const overlapOf = (first: ClientCall, again: ClientCall): number =>
  -Math.min(0, again.began - first.ended, realTime(first.left, again.arrived) ?? 0)

/**
 * Runs of equal calls, each after the response of the one before. Calls of one connection form one run. Calls with separate
 * connections, or none, form a run as long as they do not overlap.
 */
export const runsOf = (calls: readonly ClientCall[]): ClientCall[][] =>
  groupBy(calls, requestKey)
    .filter(({ length }) => length > 1)
    .flatMap(lanesOf)
    .flatMap((lane) => stretchesOf(lane, (first, again) => isAfter(again, first)))
    .filter(({ length }) => length > 1)

function lanesOf(calls: readonly ClientCall[]): ClientCall[][] {
  const uses = Map.groupBy(calls, ({ mark }) => mark.connection)
  return groupBy(calls, ({ mark: { connection } }) =>
    (uses.get(connection)?.length ?? 0) > 1 ? (connection ?? '') : '',
  )
}

/** Splits a run where the step from one call to the next does not pass the test. */
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

/** The number of provider attempts of a chain's calls. */
export const attemptsOf = (chain: readonly ClientCall[]): number => sumOf(chain, ({ attempts }) => attempts)

/** The median of numbers, or 0 without any. */
export const medianOf = (numbers: readonly number[]): number =>
  numbers.toSorted((one, other) => one - other)[numbers.length >> 1] ?? 0

/** Each call of a chain or run with the next one. */
export const stepsOf = (calls: readonly ClientCall[]): [first: ClientCall, again: ClientCall][] =>
  calls.slice(1).flatMap((again, index) => {
    const first = calls[index]
    return first ? [[first, again]] : []
  })

/** The pauses between the calls of a chain or run, in ms. */
export const pausesOf = (calls: readonly ClientCall[]): number[] =>
  stepsOf(calls).map(([first, again]) => Math.max(0, pauseBetween(first, again)))

// Workspace calls as client calls.

/** Idempotent methods (RFC 9110, 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
/** Statuses of requests that had no effect. */
const NOT_DONE = new Set([408, 425, 429, 503])

/** Whether it is unclear if a retry is right: the request may have had an effect, or a program polls for a resource. */
function isUnclear({ method, status, client }: WorkspaceCallNote): boolean {
  if (method === 'GET' && status === 404) return true
  return status >= 500 && !NOT_DONE.has(status) && !IDEMPOTENT.has(method) && client.key === null
}

/** Converts the calls, given in order of arrival. They have no traces. */
export const workspaceClientCalls = (notes: readonly WorkspaceCallNote[]): ClientCall[] =>
  notes.map((note) => ({
    trace: null,
    operation: note.operation,
    model: null,
    request: note.request,
    question: opaqueQuestion(`${note.operation} ${note.request}`),
    responseText: () => '',
    cutCalls: () => [],
    tooLong: false,
    number: note.number,
    until: note.until,
    ...{ began: note.began, ended: note.ended, arrived: note.arrived, left: note.left },
    ...{ stream: false, begun: false, outcome: note.outcome, status: note.status, code: null, wait: note.wait },
    ...{ attempts: 0, disturbed: false, faulty: false, timeout: undefined, hung: undefined, histories: NO_HISTORIES },
    readable: false,
    ...{ toResponse: 0, gatewayWaits: 0 },
    advised: note.advised === true || isUnclear(note),
    mark: note.client,
  }))
