// Composes the trace of a call. A part that cannot be determined is left out, so that the rest is kept.
import { type AnswerAssembly, assembled } from '../../contract/core/assembly.ts'
import type { Operation } from '../../contract/core/operation.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import { jsonInSlices } from '../../lib/json-slices.ts'
import { remembering } from '../../lib/remember.ts'
import { inSlices } from '../../lib/slices.ts'
import type { StreamEvent } from '../../lib/sse.ts'
import { costOf } from '../../providers/catalogue.ts'
import type { Session } from '../../sessions/sessions.ts'
import { retryAfter } from '../retry.ts'
import type { TraceRecorder } from './recorder.ts'
import type { AnswerEffects, AnswerRecord } from './recording.ts'

/** Runs the steps that compose a trace; a bug in one does not affect the others. */
export class StepGuard {
  /** The thrown values. */
  readonly bugs: unknown[] = []

  /** Returns the result of a step, or `fallback` when it throws. The step is not a closure, since every call runs several. */
  take<From, Value>(step: (from: From) => Value, from: From, fallback: Value): Value {
    try {
      return step(from)
    } catch (error) {
      this.bugs.push(error)
      return fallback
    }
  }
}

/** The stored form of a response, and its effects. */
export interface StoredAnswer extends AnswerEffects {
  /** The response as JSON. */
  text: string
  /** The parsed response; must not be changed. */
  value: unknown
}
const NO_EFFECTS: AnswerEffects = { usage: null, keep: [] }

/** Maximum number of events that are assembled in one turn, which takes some milliseconds. */
const MAX_EVENTS_AT_ONCE = 5_000

/** The response of a call that is a long stream, assembled in slices; undefined for any other. */
export function longAnswer({ answer, call }: TraceRecorder, guard: StepGuard): Promise<StoredAnswer> | undefined {
  if (answer?.content.kind !== 'events' || answer.content.events.length <= MAX_EVENTS_AT_ONCE) return undefined
  const assembly = call.operation.assembly?.()
  return assembly && call.session.clock.work(storedInSlices(assembly, answer.content.events, { answer, guard }))
}

/** The response of a call; a stream is assembled. */
export function storedAnswer({ answer, call }: TraceRecorder, guard: StepGuard): StoredAnswer {
  if (!answer) return NO_ANSWER
  const { content, complete } = answer
  if (content.kind === 'value') return withEffects(content, answer, guard)
  // A generated response is known and need not be assembled from its events.
  const whole = (complete && content.whole) || assemblyOf(call.operation, content.events)
  return withEffects(guard.take(serialized, whole, undefined), answer, guard)
}

const assemblyOf =
  ({ assembly }: Operation, events: readonly StreamEvent[]) =>
  () =>
    assembly ? assembled(assembly(), events) : {}

async function storedInSlices(
  assembly: AnswerAssembly,
  events: readonly StreamEvent[],
  { answer, guard }: { answer: AnswerRecord; guard: StepGuard },
): Promise<StoredAnswer> {
  try {
    return withEffects(await assembledInSlices(assembly, events), answer, guard)
  } catch (error) {
    guard.bugs.push(error)
    return NO_ANSWER
  }
}

const NO_ANSWER: StoredAnswer = { text: 'null', value: null, ...NO_EFFECTS }

function withEffects(whole: WholeAnswer | undefined, answer: AnswerRecord, guard: StepGuard): StoredAnswer {
  if (!whole) return NO_ANSWER
  const { text, value } = redacted(whole, answer.answer.from.redact)
  const { usage, keep } = answer.complete ? guard.take(effectsOf, { answer, value }, NO_EFFECTS) : NO_EFFECTS
  return { text, value, usage, keep }
}

/** The response without secrets. */
function redacted(whole: WholeAnswer, redact: ((text: string) => string) | undefined): WholeAnswer {
  if (!redact) return whole
  // Reserialized, because a provider may escape any character.
  const serialized = whole.text.includes('\\u') ? JSON.stringify(whole.value) : whole.text
  const text = redact(serialized)
  return text === serialized ? whole : { text, value: JSON.parse(text) }
}
const effectsOf = ({ answer, value }: { answer: AnswerRecord; value: unknown }) => answer.effects(value)

interface WholeAnswer {
  value: unknown
  text: string
}
function serialized(whole: () => object): WholeAnswer {
  const value = whole()
  return { value, text: JSON.stringify(value) }
}

async function assembledInSlices(assembly: AnswerAssembly, events: readonly StreamEvent[]): Promise<WholeAnswer> {
  await inSlices(events, assembly.add)
  const value = assembly.whole()
  return { value, text: await jsonInSlices(value) }
}

/** How a call ended, in the fields of its trace. */
export type TraceOutcome = Pick<TraceRecord, 'outcome' | 'status' | 'error'> & { headers: Record<string, string> }

type SessionPart = Pick<TraceRecord, 'session' | 'instance' | 'new_session'>

/** The session fields of a trace: its name, its instance, and whether this call created it. */
export const sessionPart = (session: Pick<Session, 'name' | 'slot'>, seq: number): SessionPart =>
  inSession({ session: session.name }, session, seq)

function inSession<Part extends SessionPart>(part: Part, { slot }: Pick<Session, 'slot'>, seq: number): Part {
  const { instance, origin } = slot
  if (instance.traced !== undefined) part.instance = instance.traced
  if (seq === 1 && origin === 'called') part.new_session = true
  return part
}

/** Keeps the last result: most calls of a burst start in the same millisecond. */
const isoTime = remembering((instant: number) => new Date(instant).toISOString())

/** The trace of a call that has ended. */
export function traceOf(
  recording: TraceRecorder,
  { headers, outcome, status, error }: TraceOutcome,
  { usage, guard }: { usage: AnswerEffects['usage']; guard: StepGuard },
): TraceRecord {
  const { call, request, settings, steps } = recording
  const { operation, session, inner } = call
  const answer = recording.answer?.answer
  const lastAttempt = steps.attempts.at(-1)
  const model = answer?.model ?? lastAttempt?.target ?? guard.take(requestedModel, recording, null)
  const used = usage ?? answer?.from.usage ?? null
  const ended = recording.started + recording.elapsed()
  const record: TraceRecord = {
    id: recording.id,
    session: session.name,
    operation: operation.name,
    parent: inner?.parent ?? null,
    internal: inner !== undefined,
    name: settings?.name ?? operation.name,
    model,
    stream: guard.take(isStream, recording, false),
    route: recording.direct ? 'direct' : 'gateway',
    status,
    outcome,
    started_at: isoTime(recording.started),
    duration_ms: ended - recording.started,
    fixture: answer ? answer.from.fixture : (lastAttempt?.fixture ?? null),
    generated: answer?.from.generated ?? false,
    plan: steps.plan,
    scenario: steps.scenario,
    faults: steps.faults,
    attempts: steps.attempts,
    cache: steps.cache,
    guardrails: steps.guardrails,
    retrievals: steps.retrievals,
    retry_after_ms: guard.take(waitAdvised, { headers, at: ended }, null),
    usage: used,
    cost: guard.take(costIn, { model, used, attempted: answer?.attempt !== undefined }, null),
    attachments: guard.take(attachmentsOf, recording, []),
    metadata: request?.metadata ?? null,
    identity: settings?.identity ?? null,
    thread: settings?.thread ?? null,
    error,
  }
  if (recording.point !== undefined) record.call_site = recording.point
  if (call.assumed) record.assumed = call.assumed
  return inSession(record, session, recording.seq)
}

const requestedModel = ({ call, request }: TraceRecorder) =>
  request === undefined ? null : call.operation.model(request)
const isStream = ({ call, request }: TraceRecorder) => request !== undefined && call.operation.streams(request)
const waitAdvised = ({ headers, at }: { headers: Record<string, string>; at: number }) =>
  retryAfter(headers, at) ?? null
/** A cached response costs nothing. */
const costIn = ({
  model,
  used,
  attempted,
}: {
  model: string | null
  used: TraceRecord['usage']
  attempted: boolean
}) => (used && model ? (attempted ? costOf(model, used) : 0) : null)
const attachmentsOf = ({ call, request, isRead }: TraceRecorder) =>
  request === undefined || !isRead ? [] : [...(call.operation.attachments?.(request) ?? [])]

const NOT_KEPT = 'not kept'
/** A record without any text of the request or the response. */
export const withoutContent = (record: TraceRecord): TraceRecord => ({
  ...record,
  attempts: record.attempts.map((attempt) => ({ ...attempt, error: attempt.error && NOT_KEPT })),
  guardrails: record.guardrails.map((verdict) => ({ ...verdict, reason: verdict.reason && NOT_KEPT })),
  retrievals: record.retrievals.map((search) => ({ ...search, query: NOT_KEPT, chunks: [] })),
  attachments: [],
  error: record.error && { ...record.error, message: NOT_KEPT },
})
