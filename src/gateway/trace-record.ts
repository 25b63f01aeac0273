// Puts a call's trace together. No part of it may take the others with it: what cannot be worked out is left out.
import type { AnswerAssembly } from '../contract/assembly.ts'
import type { TraceRecord } from '../contract/trace.ts'
import { jsonInSlices } from '../lib/json-slices.ts'
import { remembering } from '../lib/remember.ts'
import { inSlices } from '../lib/slices.ts'
import type { StreamEvent } from '../lib/sse.ts'
import { costOf } from '../providers/catalogue.ts'
import type { Session } from '../sessions/sessions.ts'
import type { AnswerEffects, TraceRecorder } from './recording.ts'
import { retryAfter } from './retry.ts'

/** What a step gives; `instead` when it fails by a bug, which is noted. */
export type GuardedStep = <Value>(step: () => Value, instead: Value) => Value

/** The answer as it is stored, and what it leaves. */
export interface StoredAnswer extends AnswerEffects {
  /** As JSON. */
  text: string
  /** The same, not to be changed. */
  value: unknown
}
const NO_EFFECTS: AnswerEffects = { usage: null, keep: [] }

/** Events that are put together in one turn: that takes some milliseconds. */
const FEW_EVENTS = 5_000

/** The answer that was given: a stream put together again, a long one in slices. */
export function storedAnswer(recording: TraceRecorder, guarded: GuardedStep): StoredAnswer | Promise<StoredAnswer> {
  const { answer, call } = recording
  if (!answer) return { text: 'null', value: null, ...NO_EFFECTS }
  const { content, complete } = answer
  const stored = (whole: WholeAnswer | undefined): StoredAnswer => {
    if (!whole) return { text: 'null', value: null, ...NO_EFFECTS }
    const { usage, keep } = complete ? guarded(() => answer.effects(whole.value), NO_EFFECTS) : NO_EFFECTS
    return { text: whole.text, value: whole.value, usage, keep }
  }
  if (content.kind === 'value') return stored(content)
  const assembly = content.events.length > FEW_EVENTS && call.operation.assembly?.()
  if (assembly) {
    const whole = assembledInSlices(assembly, [...content.events]).catch((error: unknown) =>
      guarded<WholeAnswer | undefined>(() => {
        throw error
      }, undefined),
    )
    return call.session.clock.work(whole.then(stored))
  }
  // What was composed here is known: nothing of it is read again.
  const whole = (complete && content.whole) || (() => call.operation.assemble(content.events))
  return stored(guarded(() => written(whole()), undefined))
}

interface WholeAnswer {
  value: unknown
  text: string
}
const written = (value: object): WholeAnswer => ({ value, text: JSON.stringify(value) })

async function assembledInSlices(assembly: AnswerAssembly, events: readonly StreamEvent[]): Promise<WholeAnswer> {
  await inSlices(events, assembly.add)
  const value = assembly.whole()
  return { value, text: await jsonInSlices(value) }
}

/** How a call ended, in the terms of its trace. */
export type TraceOutcome = Pick<TraceRecord, 'outcome' | 'status' | 'error'> & { headers: Record<string, string> }

const isoTime = remembering((time: number) => new Date(time).toISOString())

/** What a trace says of its session: which it is, where it lives, and whether it began by this call. */
export const sessionPart = (
  { name, slot: { instance, origin } }: Pick<Session, 'name' | 'slot'>,
  seq: number,
): Pick<TraceRecord, 'session' | 'instance' | 'new_session'> => ({
  session: name,
  ...(instance.traced !== undefined && { instance: instance.traced }),
  ...(seq === 1 && origin === 'called' && { new_session: true }),
})

/** The trace of a call that has ended. */
export function traceOf(
  recording: TraceRecorder,
  { headers, outcome, status, error }: TraceOutcome,
  { usage, guarded }: { usage: AnswerEffects['usage']; guarded: GuardedStep },
): TraceRecord {
  const { call, request, settings, steps } = recording
  const { operation, session, inner } = call
  const answer = recording.answer?.answer
  const asked = () => (request === undefined ? null : operation.model(request))
  const model = answer?.model ?? steps.attempts.at(-1)?.target ?? guarded(asked, null)
  const used = usage ?? answer?.from.usage ?? null
  // An answer from the cache costs nothing.
  const cost = () => (used && model ? (answer?.attempt ? costOf(model, used) : 0) : null)
  const attached = () => (request === undefined ? [] : [...(operation.attachments?.(request) ?? [])])
  const duration = recording.elapsed()
  const record: TraceRecord = {
    id: recording.id,
    ...sessionPart(session, recording.seq),
    operation: operation.name,
    parent: inner?.parent ?? null,
    inner: inner !== undefined,
    name: settings?.name ?? operation.name,
    model,
    stream: guarded(() => request !== undefined && operation.streams(request), false),
    status,
    outcome,
    started_at: isoTime(recording.started),
    duration_ms: duration,
    fixture: answer ? answer.from.fixture : (steps.attempts.at(-1)?.fixture ?? null),
    synthesized: answer?.from.synthesized ?? false,
    plan: steps.plan,
    scenario: steps.scenario,
    faults: steps.faults,
    attempts: steps.attempts,
    cache: steps.cache,
    guardrails: steps.guardrails,
    retrievals: steps.retrievals,
    retry_after_ms: guarded(() => retryAfter(headers, recording.started + duration) ?? null, null),
    usage: used,
    cost: guarded(cost, null),
    attachments: guarded(attached, []),
    metadata: request?.metadata ?? null,
    identity: settings?.identity ?? null,
    thread: settings?.thread ?? null,
    error,
  }
  if (recording.point !== undefined) record.point = recording.point
  if (call.assumed) record.assumed = call.assumed
  return record
}

const NOT_KEPT = 'not kept'
/** A record without what quotes the request or the answer. */
export const withoutContent = (record: TraceRecord): TraceRecord => ({
  ...record,
  attempts: record.attempts.map((attempt) => ({ ...attempt, error: attempt.error && NOT_KEPT })),
  guardrails: record.guardrails.map((verdict) => ({ ...verdict, reason: verdict.reason && NOT_KEPT })),
  retrievals: record.retrievals.map((search) => ({ ...search, query: NOT_KEPT, chunks: [] })),
  attachments: [],
  error: record.error && { ...record.error, message: NOT_KEPT },
})
