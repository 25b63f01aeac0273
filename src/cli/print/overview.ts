// A summary of many calls, before they are listed one by one.

import { outcomeText } from '../../contract/core/outcome-text.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import { fitText, paint } from './output.ts'

/** Calls from which on a summary is shown. */
export const MANY_CALLS = 24

const NONE = ' '
const [ALL_WELL, SOME_FAILED, ALL_FAILED] = ['█', '▒', '░']
const LABEL = 30

/** The outcomes of many calls, by model and over time. */
export function overviewLines(traces: readonly TraceRecord[], width: number): string[] {
  const starts = traces.map(({ started_at }) => Date.parse(started_at))
  const begin = starts.reduce((least, start) => Math.min(least, start), Number.POSITIVE_INFINITY)
  const end = traces.reduce((most, { duration_ms }, index) => Math.max(most, (starts[index] ?? 0) + duration_ms), begin)
  const groups = [...Map.groupBy(traces, nameOf)].sort(([, one], [, other]) => other.length - one.length)
  const label = Math.min(LABEL, width - 24, Math.max(...groups.map(([name]) => name.length)))
  const axis = Math.max(20, Math.min(80, width - 14))
  const total = Math.max(1, end - begin)
  // One character per time slot: the outcome of the calls that began in it.
  const buckets = Array.from({ length: axis }, () => ({ calls: 0, failed: 0 }))
  for (const [index, { outcome }] of traces.entries()) {
    const bucket = buckets[Math.min(axis - 1, Math.floor((((starts[index] ?? 0) - begin) / total) * axis))]
    if (!bucket) continue
    bucket.calls++
    if (outcome !== 'succeeded') bucket.failed++
  }
  const bar = buckets.map(({ calls, failed }) =>
    calls === 0 ? NONE : failed === 0 ? ALL_WELL : failed < calls ? SOME_FAILED : ALL_FAILED,
  )
  const cut = (text: string) => (text.length > width ? fitText(text, width) : text)
  return [
    paint('bold', cut(`${traces.length} calls in ${lengthOf(end - begin)}: ${outcomesOf(traces)}`)),
    ...groups.map(([name, calls]) =>
      cut(`  ${fitText(name, label)} ${String(calls.length).padStart(5)}  ${outcomesOf(calls)}`),
    ),
    `  ${'over time'.padEnd(10)} ${bar.join('')}`,
    `  ${''.padEnd(10)} ${paint('dim', `0${lengthOf(end - begin).padStart(axis - 1)}`)}`,
    paint('dim', cut(`  ${''.padEnd(10)} ${ALL_WELL} answered  ${SOME_FAILED} some  ${ALL_FAILED} none`)),
  ]
}

const nameOf = ({ operation, model }: TraceRecord) => model ?? operation

function outcomesOf(traces: readonly TraceRecord[]): string {
  const counts = Map.groupBy(traces, ({ outcome, status }) =>
    outcome === 'http_error' ? `HTTP ${status}` : outcomeText(outcome),
  )
  return [...counts]
    .sort(([, one], [, other]) => other.length - one.length)
    .map(([outcome, calls]) => `${calls.length} ${outcome}`)
    .join(', ')
}

/** A duration for people. */
export function lengthOf(ms: number): string {
  if (ms < 10_000) return `${Math.round(ms)} ms`
  if (ms < 600_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.round(ms / 60_000)} min`
}
