// The timeline of a call as data, which the terminal, JSON and the page render.

import type { OutcomeKind } from '../contract/core/outcome-kind.ts'
import { outcomeText } from '../contract/core/outcome-text.ts'
import type { AttemptRecord, GuardrailRecord, TraceRecord } from '../contract/core/trace.ts'
import type { WaterfallRow, WaterfallTone } from '../contract/core/waterfall.ts'
import { counted } from '../lib/units.ts'

/** A row without special properties. */
export const plainRow = (row: Pick<WaterfallRow, 'kind' | 'title'> & Partial<WaterfallRow>): WaterfallRow => ({
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
export const toneOf = (outcome: OutcomeKind): WaterfallTone =>
  outcome === 'succeeded' ? 'good' : outcome === 'canceled' ? 'warning' : 'bad'

/** An attempt as a line. */
export function attemptRow(attempt: AttemptRecord): WaterfallRow {
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
