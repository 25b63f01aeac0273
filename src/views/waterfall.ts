// The timeline of a call as data, which the terminal, JSON and the page render.

import type { OutcomeKind } from '../contract/core/outcome-kind.ts'
import { outcomeText } from '../contract/core/outcome-text.ts'
import type { AttemptRecord, GuardrailRecord, TaskStep, TraceRecord } from '../contract/core/trace.ts'
import type { Waterfall, WaterfallRow, WaterfallTone } from '../contract/core/waterfall.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import { onceFor } from '../lib/once.ts'
import { counted } from '../lib/units.ts'
import { type ClientCall, clientCalls, pauseBetween } from '../verdict/client-call.ts'
import { judgeClient } from '../verdict/findings.ts'

/** A row without special properties. */
const plainRow = (row: Pick<WaterfallRow, 'kind' | 'title'> & Partial<WaterfallRow>): WaterfallRow => ({
  ...{ lane: 'gateway', depth: 0, subject: '', detail: '', notes: [], error: null, tone: 'plain' },
  ...{ span: null, faults: [], trace: null },
  ...row,
})

/** The steps of the gateway in a call, in order. */
export function gatewayRows(trace: TraceRecord): WaterfallRow[] {
  const { scenario, faults, retrievals, guardrails, cache, attempts, usage } = trace
  const checks = (checkStage: GuardrailRecord['stage']) =>
    guardrails.filter(({ stage }) => stage === checkStage).map(guardrailRow)
  const onTheWay = trace.task ? '' : 'on the way to the client: '
  return [
    ...(scenario === null ? [] : [plainRow({ kind: 'scenario', title: 'scenario', detail: scenario })]),
    ...retrievals.map((search) => {
      const { knowledge_id, search_type, chunks } = search
      const detail = `${search_type}, ${counted(chunks.length, 'chunk')}`
      return plainRow({ kind: 'knowledge', title: 'knowledge', subject: knowledge_id, detail, ...timesOf(search) })
    }),
    ...checks('input'),
    ...(cache ? [plainRow({ kind: 'cache', title: 'cache', detail: cacheText(cache), ...timesOf(cache) })] : []),
    ...attempts.map(attemptRow),
    ...checks('output'),
    ...(faults.length === 0
      ? []
      : [plainRow({ kind: 'faults', title: 'faults', detail: `${onTheWay}${faults.join(', ')}`, faults })]),
    ...(usage ? [plainRow({ kind: 'usage', title: 'usage', detail: spent(trace) })] : []),
  ]
}

const VERDICTS = { passed: 'good', blocked: 'bad', alerted: 'warning', unchecked: 'idle' } as const

/** The time span of a step, and its duration as text if it took any time. */
function timesOf({ started_ms: from, duration_ms: took = 0 }: { started_ms?: number; duration_ms?: number }) {
  if (from === undefined) return {}
  const notes = took > 0 ? [`took ${timeText(took)}`] : []
  return { span: { from, to: from + took, first: null, wait: 0 }, notes }
}

function guardrailRow(verdict: GuardrailRecord): WaterfallRow {
  const { id, stage, outcome, reason } = verdict
  const detail = reason === null ? outcome : `${outcome}: ${reason}`
  const tone = VERDICTS[outcome]
  return plainRow({ kind: 'guardrail', title: stage, subject: id, detail, tone, ...timesOf(verdict) })
}

const cacheText = ({ status, age_ms: age }: NonNullable<TraceRecord['cache']>) =>
  age === null ? status : `${status}, ${timeText(age)} old`

/** The tone of an outcome. */
const toneOf = (outcome: OutcomeKind): WaterfallTone =>
  outcome === 'succeeded' ? 'good' : outcome === 'canceled' ? 'warning' : 'bad'

/** An attempt as a line. */
function attemptRow(attempt: AttemptRecord): WaterfallRow {
  const { target, reason, outcome, status, duration_ms, started_ms, first_content_ms, wait_ms, faults, error } = attempt
  return plainRow({
    kind: 'attempt',
    title: reason,
    subject: target,
    detail: `${outcomeText(outcome)} ${status} in ${timeText(duration_ms)}`,
    notes: notesOf(attempt),
    error,
    tone: outcome === 'succeeded' ? 'good' : 'bad',
    span: { from: started_ms, to: started_ms + duration_ms, first: first_content_ms, wait: wait_ms },
    faults,
  })
}

const notesOf = ({ wait_ms, first_content_ms, started_ms, faults, request_id, history }: AttemptRecord): string[] => [
  ...(wait_ms > 0 ? [`after ${timeText(wait_ms)}`] : []),
  ...(first_content_ms === null ? [] : [`first content after ${timeText(first_content_ms - started_ms)}`]),
  ...(faults.length === 0 ? [] : [`faults: ${faults.join(', ')}`]),
  ...(request_id ? [`request ${request_id}`] : []),
  ...(history ? historyNotes(history) : []),
]

/** Why a provider rejects the conversation, where its ids come from, and how it is accepted. */
function historyNotes({ rule, rejected, path, ids, traces, hint }: NonNullable<AttemptRecord['history']>): string[] {
  const about = ids.length > 0 ? ` (${ids.join(', ')})` : ''
  return [
    `conversation ${rejected ? 'rejected' : 'would be rejected'} at ${path}: ${rule}${about}`,
    ...traces.map((trace) => `ids from the response of ${trace}`),
    ...(rejected ? [hint] : []),
  ]
}

/** A duration, in whole milliseconds or in seconds. */
export const timeText = (ms: number): string => (ms < 10_000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`)

/** The numeric token counts, and the cost of the call. */
function spent({ usage, cost }: TraceRecord): string {
  const counts = Object.entries(usage ?? {}).flatMap(([name, value]) =>
    typeof value === 'number' ? [`${value} ${name.replaceAll('_', ' ')}`] : [],
  )
  return [...counts, ...(cost === null ? [] : [`$${Number(cost.toPrecision(3))}`])].join(', ')
}

/** The context of a call. */
interface CallSurroundings {
  /** The neighboring calls in its session, in order. */
  calls: readonly TraceEvidence[]
  /** Finds the trace of an internal call. */
  find(id: string): TraceRecord | undefined
}

/** The timeline of a call and its context. */
export function callWaterfall(trace: TraceRecord, { calls, find }: CallSurroundings): Waterfall {
  const steps = stepsOf(trace, { find, zero: Date.parse(trace.started_at), depth: 0 })
  const rows = [...gatewayRows(trace), ...steps, ...(trace.internal ? [] : clientRows(trace.id, calls))]
  const spans = rows.flatMap(({ span }) => span ?? [])
  return {
    trace: trace.id,
    from: spans.reduce((least, { from, wait }) => Math.min(least, from - wait), 0),
    to: spans.reduce((most, { to }) => Math.max(most, to), trace.duration_ms),
    rows,
  }
}

/** Maximum depth of sub-tasks that are drawn. */
const MAX_DEPTH = 5
const TONES = { succeeded: 'good', failed: 'bad', waiting: 'warning' } as const
/** The titles of steps, by kind. */
export const STEP_TITLES = { model: 'model', tool: 'tool', wait: 'waits for', task: 'agent' } as const

interface Drawn extends Pick<CallSurroundings, 'find'> {
  /** Start of the whole, in milliseconds since the epoch. */
  zero: number
  depth: number
}

function stepsOf({ task }: TraceRecord, drawn: Drawn): WaterfallRow[] {
  const rows: WaterfallRow[] = []
  let iteration = -1
  for (const step of task?.steps ?? []) {
    if (step.iteration !== iteration) {
      iteration = step.iteration
      const title = `iteration ${iteration}`
      rows.push(plainRow({ lane: 'agent', kind: 'iteration', title, depth: drawn.depth }))
    }
    rows.push(...stepRows(step, { ...drawn, depth: drawn.depth + 1 }))
  }
  return rows
}

function stepRows(step: TaskStep, drawn: Drawn): WaterfallRow[] {
  const { kind, name, outcome, duration_ms, error, faults = [], trace, evaluations = [] } = step
  const from = Date.parse(step.started_at) - drawn.zero
  const inner = trace === null ? undefined : drawn.find(trace)
  const row = plainRow({
    lane: 'agent',
    kind,
    depth: drawn.depth,
    title: STEP_TITLES[kind],
    subject: name,
    detail: kind === 'wait' ? '' : `${outcome} in ${timeText(duration_ms)}`,
    notes: [
      ...(faults.length === 0 ? [] : [`faults: ${faults.join(', ')}`]),
      ...evaluations.map(({ id, value }) => `evaluator ${id}: ${value}`),
    ],
    error,
    tone: TONES[outcome],
    span: { from, to: from + duration_ms, first: null, wait: 0 },
    faults,
    trace,
  })
  const deeper = { ...drawn, depth: drawn.depth + 1 }
  if (!inner) return [row]
  if (inner.task) return drawn.depth < MAX_DEPTH ? [row, ...stepsOf(inner, deeper)] : [row]
  return [row, ...triesOf(inner, deeper)]
}

/** The attempts of a model call. A single successful one adds nothing to its step. */
function triesOf({ attempts, started_at }: TraceRecord, { zero, depth }: Drawn): WaterfallRow[] {
  if (attempts.length === 1 && attempts[0]?.outcome === 'succeeded' && attempts[0].faults.length === 0) return []
  const begin = Date.parse(started_at) - zero
  return attempts.map((attempt) => {
    const { started_ms, duration_ms, first_content_ms: first, wait_ms: wait } = attempt
    const from = begin + started_ms
    const span = { from, to: from + duration_ms, first: first === null ? null : begin + first, wait }
    const notes = wait > 0 ? [`after ${timeText(wait)}`] : []
    return { ...attemptRow(attempt), lane: 'agent', depth, notes, span }
  })
}

/**
 * Calls of a client, each with those that repeat it, by the list of calls: a report draws each of them, and pairing takes
 * most of that time.
 */
const chainsIn = onceFor(
  (evidence: readonly TraceEvidence[]): readonly (readonly ClientCall[])[] =>
    judgeClient(clientCalls(evidence.filter(({ trace }) => !trace.internal))).pairing.chains,
)

/**
 * The rows of the client's attempts that include a call, on the time of that call; only the call itself if there are no
 * others.
 */
function clientRows(id: string, evidence: readonly TraceEvidence[]): WaterfallRow[] {
  const chain = chainsIn(evidence).find((tries) => tries.some(({ trace }) => trace === id)) ?? []
  const own = chain.findIndex(({ trace }) => trace === id)
  const begins = startsOf(chain)
  const zero = begins[own] ?? 0
  return chain.map((call, index) => {
    const before = chain[index - 1]
    const row = tryRow(call, { from: (begins[index] ?? 0) - zero, pause: before ? pauseBetween(before, call) : 0 })
    return { ...row, title: index === 0 ? 'call' : 'again', trace: call.trace === id ? null : call.trace }
  })
}

/**
 * When each attempt started. Pauses of clients pass on their own clock or on that of the session, whichever advanced.
 */
function startsOf(chain: readonly ClientCall[]): number[] {
  const starts: number[] = []
  let at = 0
  for (const [index, call] of chain.entries()) {
    const before = chain[index - 1]
    if (before) at += before.ended - before.began + pauseBetween(before, call)
    starts.push(at)
  }
  return starts
}

function tryRow(call: ClientCall, { from, pause }: { from: number; pause: number }): WaterfallRow {
  const { outcome, status, began, ended, wait, disturbed } = call
  return plainRow({
    lane: 'client',
    kind: 'call',
    title: 'call',
    subject: 'client',
    detail: `${outcomeText(outcome)} ${status} in ${timeText(ended - began)}`,
    notes: [
      ...(pause > 0 ? [`after ${timeText(Math.round(pause))}`] : []),
      ...(wait === null ? [] : [`Retry-After ${timeText(wait)}`]),
      ...(disturbed ? ['affected by a transport fault'] : []),
    ],
    tone: toneOf(outcome),
    span: { from, to: from + (ended - began), first: null, wait: Math.max(0, pause) },
  })
}
