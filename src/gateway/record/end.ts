// Ends every call. The trace is queued before anything else can fail, and a bug on the way is reported and recorded.
// The end is outside of everything that changes a response, including faults.

import { ApiError, bugError, envelope } from '../../contract/core/error.ts'
import type { ExchangeNote } from '../../contract/core/exchange-note.ts'
import type { KeyValueEntry, KeyValueStore } from '../../contract/core/key-value.ts'
import { REFUSAL_TYPE, refusalOf } from '../../contract/core/refusal.ts'
import { ConnectionFailure } from '../../contract/core/reply.ts'
import { storageError } from '../../contract/core/storage-error.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import type { Allowance } from '../../lib/allowance.ts'
import { realClock } from '../../lib/clock.ts'
import { jsonInSlices } from '../../lib/json-slices.ts'
import { lazy } from '../../lib/lazy.ts'
import { isLarge } from '../../lib/slices.ts'
import { parsedJson } from '../../lib/values.ts'
import type { Call } from '../call.ts'
import { bugOf, errorOf, type Failure, failureOf, NOT_RECEIVED } from '../outcome.ts'
import { sentWhole } from '../stream/sent-body.ts'
import { endOfAborted, PAUSE_BEFORE_END_MS } from '../stream/sent-end.ts'
import type { CallEnd, CallResult, GatewayParts } from '../types.ts'
import { clientNote } from './client-mark.ts'
import { exchangeNote } from './exchange-note.ts'
import { headersOf, type TraceRecorder } from './recorder.ts'
import type { SentResponse } from './recording.ts'
import type { TraceRedaction } from './redaction.ts'
import { shownHeaders } from './request-headers.ts'
import {
  longAnswer,
  StepGuard,
  type StoredAnswer,
  storedAnswer,
  type TraceOutcome,
  traceOf,
  withoutContent,
} from './trace-record.ts'

// Loaded while cassettes are recorded or replayed.
const redactions = lazy<typeof import('./redaction.ts')>(() => require('./redaction.ts'))

/** What the end of a call needs besides its recording. */
export interface CallEnding extends Pick<GatewayParts, 'report' | 'redactorOf'> {
  /** Limits how often the headers of successful calls are kept. */
  headers: Allowance
}

/** Creates the end of a recorded call. */
export const callEndOf = (recording: TraceRecorder, ending: CallEnding): CallEnd => new RecordedEnd(recording, ending)

class RecordedEnd implements CallEnd {
  readonly #recording: TraceRecorder
  readonly #ending: CallEnding
  #saved: Promise<ApiError | undefined> | undefined

  constructor(recording: TraceRecorder, ending: CallEnding) {
    this.#recording = recording
    this.#ending = ending
  }

  end(result: CallResult): Promise<ApiError | undefined> {
    this.#saved ??= save(this.#recording, result, this.#ending)
    return this.#saved
  }

  async fail(thrown: unknown): Promise<ApiError> {
    const recording = this.#recording
    const isApiError = thrown instanceof ApiError
    if (!isApiError && this.#saved) this.#ending.report(thrown)
    const { call } = recording
    const { signal } = call
    const ownFailure = failureOf(thrown, signal)
    const failure = isApiError && !signal.aborted ? recording.failure : ownFailure
    // An error that an abort causes is not a bug: the failure is the abort itself.
    const otherError = signal.aborted ? errorOf(ownFailure) : bugError()
    const error = isApiError ? (call.inDeploymentTerms?.(thrown) ?? thrown) : otherError
    // The provider's own request id wins, because the client may quote it to the provider.
    Object.assign(error.headers, { ...headersOf(recording), ...error.headers })
    if (!this.#saved) recording.sent = errorSent(error, call)
    await this.end({ status: error.status, headers: error.headers, failure, error })
    return error
  }
}

/** The error response as its client receives it. */
function errorSent(error: ApiError, { aborted, signal, wire }: Call): SentResponse {
  const ended = aborted ? endOfAborted(signal) : 'complete'
  if (ended !== 'complete') return { ended, nothing: true }
  return { body: sentWhole(JSON.stringify(refusalOf(error, wire))), type: REFUSAL_TYPE }
}

async function save(
  recording: TraceRecorder,
  result: CallResult,
  { report, headers, redactorOf }: CallEnding,
): Promise<ApiError | undefined> {
  const { observers, seq, call, endedSteps: steps } = recording
  const redaction = redactorOf && new (redactions().TraceRedaction)(redactorOf(call.session.name))
  let saved: TraceRecord | undefined
  let value: unknown
  let { request } = recording
  try {
    const guard = new StepGuard()
    const outcome = outcomeOf(recording, result)
    const assembling = longAnswer(recording, guard)
    const stored = assembling ? await assembling : storedAnswer(recording, guard)
    const preparing = redaction?.prepare([call.text, recording.rendered, stored.text])
    if (preparing) await preparing
    const { answer, texts } = redactedTexts(recording, stored, redaction)
    const record = traceOf(recording, outcome, { usage: answer.usage, guard })
    redaction?.record(record)
    const about = { recording, record, answer, texts, result, redaction, allowance: headers }
    const connection = guard.take(connectionOf, about, {})
    const { bugs } = guard
    if (bugs.length > 0) record.error ??= envelope(bugOf(bugs[0])).error
    const committed = commit(about, connection)
    reportBugs([result.failure, recording.answer?.failure], bugs, report)
    await committed
    saved = record
    value = answer.value
    if (texts.request !== call.text) request = parsedJson(texts.request) as typeof request
  } catch (error) {
    const storageProblem = storageError(error)
    if (!storageProblem) report(error)
    return storageProblem ?? bugError()
  } finally {
    // The call is no longer in flight, even if it could not be stored.
    call.session.underWay.delete(seq)
    if (!saved) observers.notify({ type: 'call-lost', session: call.session.name, trace: recording.id })
    call.onEnd?.(saved)
  }
  if (!observers.active) {
    observers.notify({ type: 'trace-saved', session: saved.session, seq, trace: saved })
    return undefined
  }
  const httpStatus = recording.sent?.nothing || saved.status === 0 ? null : saved.status
  const material = { request, answer: value, steps, retained: call.retained, httpStatus }
  observers.notify({ type: 'trace-saved', session: saved.session, seq, trace: saved }, material)
  return undefined
}

/** Reports each bug once: those of the steps, and failures that are bugs. */
function reportBugs(
  failures: readonly (Failure | undefined)[],
  bugs: readonly unknown[],
  report: CallEnding['report'],
) {
  const all = new Set(bugs)
  for (const failure of failures) if (failure?.kind === 'internal_error') all.add(failure.cause)
  for (const bug of all) report(bug)
}

/** The outcome of a call: from the client's response, otherwise from the gateway's response before the faults. */
function outcomeOf({ call, failure: last, steps, answer }: TraceRecorder, result: CallResult): TraceOutcome {
  const { status, headers, error } = result
  const isIncomplete = answer !== undefined && !answer.complete
  const gatewayFailure =
    answer?.failure ?? (isIncomplete ? failureOf(new ConnectionFailure(NOT_RECEIVED.message), call.signal) : undefined)
  const failure = result.failure ?? (result.read ? undefined : gatewayFailure)
  if (error) {
    // The client learns that there was a bug, the trace which one.
    const shown = failure?.kind === 'internal_error' ? failure : error
    return { status, headers, outcome: failure?.kind ?? 'http_error', error: envelope(shown).error }
  }
  if (failure) return { status, headers, outcome: failure.kind, error: envelope(failure).error }
  if (status < 400) return { status, headers, outcome: 'succeeded', error: null }
  const message = last?.message ?? `answered by a fault: ${steps.faults.join(', ')}`
  const injected = envelope({ status, code: 'injected_fault', message, param: null })
  return { status, headers, outcome: 'http_error', error: injected.error }
}

const NOTHING_KEPT = { request: 'null', rendered: 'null', answer: 'null' }

/** What is kept of a call's connection: nothing for internal calls and calls that must not be kept. */
interface KeptConnection {
  /** Headers of the request. */
  headers?: Record<string, string>
  exchange?: ExchangeNote | undefined
}

/** The texts of the request that are stored. */
type RequestTexts = Record<'request' | 'rendered', string>

/** The stored texts of a call, and the entries of its response, without secrets while cassettes are in use. */
function redactedTexts(
  { call, rendered }: TraceRecorder,
  answer: StoredAnswer,
  redaction: TraceRedaction | undefined,
): { answer: StoredAnswer; texts: RequestTexts } {
  const request = call.text
  if (!redaction) return { answer, texts: { request, rendered } }
  // The response first, which is the order of the placeholders.
  const redacted = redactedAnswer(answer, redaction)
  return { answer: redacted, texts: { request: redaction.text(request), rendered: redaction.text(rendered) } }
}

function redactedAnswer(answer: StoredAnswer, redaction: TraceRedaction): StoredAnswer {
  const { usage, keep } = answer
  const text = redaction.text(answer.text)
  const value = text === answer.text ? answer.value : JSON.parse(text)
  return {
    text,
    value,
    usage,
    keep: keep.map(({ text: _, ...entry }) => ({ ...entry, value: redaction.value(entry.value) })),
  }
}

interface EndedCall {
  recording: TraceRecorder
  record: TraceRecord
  answer: StoredAnswer
  texts: RequestTexts
  redaction: TraceRedaction | undefined
  result: CallResult
  /** Limits how often the headers of successful calls are kept. */
  allowance: Allowance
}

function connectionOf({ recording, record, answer, texts, result, redaction, allowance }: EndedCall): KeptConnection {
  const { received, retained } = recording.call
  if (!received || !retained) return {}
  // Headers of failed calls are always kept, since people look for those.
  const shows = allowance.take(realClock.now()) || record.outcome !== 'succeeded'
  const sent = shows ? result.headers : undefined
  const headers = (sent && redaction?.headers(sent)) ?? sent
  const exchange = exchangeNote(recording, { answer: answer.text, headers, request: texts.request, redaction })
  if (!shows) return { exchange }
  const shown = shownHeaders(received.headers)
  return { exchange, headers: redaction?.headers(shown) ?? shown }
}

/** Queues the trace and the entries of the response in one turn, so that they are committed together. */
function commit(
  { recording, record, answer: { text, keep }, texts, result }: EndedCall,
  connection: KeptConnection,
): Promise<void> {
  const { arrived, call, seq, stores } = recording
  const left = realClock.now()
  const ended = { succeeded: record.outcome === 'succeeded', readable: isReadable(recording, record, result) }
  const client = clientNote(call, { status: record.status, headers: result.headers, ...ended })
  if (connection.headers) client.headers = connection.headers
  if (recording.sent?.pauses) client.ends_after = PAUSE_BEFORE_END_MS
  const { exchange } = connection
  const recorded = call.retained
    ? stores.traces.record(seq, record, { arrived, left, client, exchange, ...texts, answer: text })
    : stores.traces.record(seq, withoutContent(record), { arrived, left, client, exchange, ...NOTHING_KEPT })
  const { sequences } = recording
  if (keep.length === 0 && !sequences) return recorded
  const put = isLarge(call.text) || isLarge(text) ? putLarge(stores.keyValues) : stores.keyValues.put
  const used = sequences ? [stores.sequences.put(sequences.used)] : []
  return Promise.all([recorded, ...used, ...keep.map(put)]).then(() => {})
}

/** Whether the client may have the whole response although the call did not succeed. */
function isReadable({ answer, call }: TraceRecorder, { outcome, faults }: TraceRecord, result: CallResult): boolean {
  if (result.read) return result.readable ?? false
  // A fault in front of the client may have kept from it what the gateway had.
  if (outcome !== 'canceled' || faults.length > 0 || answer?.content.kind !== 'events') return false
  return call.operation.events?.complete(answer.content.events.flat()) ?? false
}

/** Stores a large value. Serializing it would take too long for one turn. */
const putLarge =
  ({ put }: KeyValueStore) =>
  async (entry: KeyValueEntry): Promise<void> =>
    put({ ...entry, text: await jsonInSlices(entry.value) })
