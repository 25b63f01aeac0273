// What an agent did in a turn of its task, as lines over time.
import type { AttemptRecord, TaskStep, TraceRecord } from '../contract/trace.ts'
import type { WaterfallRow } from '../contract/waterfall.ts'
import { plainRow, timeText } from './waterfall.ts'

/** Traces by id, as far as they are known. */
export type TraceFinder = (id: string) => TraceRecord | undefined

/** Tasks inside of tasks that are drawn. */
const DEEPEST = 5
const TONES = { answered: 'good', failed: 'bad', waiting: 'warning' } as const
/** What a step is called, by its kind. */
export const STEP_TITLES = { model: 'model', tool: 'tool', wait: 'waits for', task: 'agent' } as const

/** The lines of the turn that a trace is of, on the time of that trace; none when it is of no agent. */
export function taskRows(trace: TraceRecord, find: TraceFinder): WaterfallRow[] {
  return trace.task ? stepsOf(trace, { find, zero: Date.parse(trace.started_at), depth: 0 }) : []
}

interface Drawn {
  find: TraceFinder
  /** Milliseconds since the epoch at which the whole began. */
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
  if (inner.task) return drawn.depth < DEEPEST ? [row, ...stepsOf(inner, deeper)] : [row]
  return [row, ...triesOf(inner, deeper)]
}

/** The attempts of a model call; a single one that went well says nothing that its step does not. */
function triesOf({ attempts, started_at }: TraceRecord, { zero, depth }: Drawn): WaterfallRow[] {
  if (attempts.length === 1 && attempts[0]?.outcome === 'answered' && attempts[0].faults.length === 0) return []
  const begin = Date.parse(started_at) - zero
  return attempts.map((attempt) => tryOf(attempt, { begin, depth }))
}

function tryOf(attempt: AttemptRecord, { begin, depth }: { begin: number; depth: number }): WaterfallRow {
  const {
    target,
    why,
    outcome,
    status,
    started_ms,
    duration_ms,
    first_content_ms: first,
    wait_ms,
    faults,
    error,
  } = attempt
  const from = begin + started_ms
  return plainRow({
    lane: 'agent',
    kind: 'attempt',
    depth,
    title: why,
    subject: target,
    detail: `${outcome} ${status} in ${timeText(duration_ms)}`,
    notes: wait_ms > 0 ? [`after ${timeText(wait_ms)}`] : [],
    error,
    tone: outcome === 'answered' ? 'good' : 'bad',
    span: { from, to: from + duration_ms, first: first === null ? null : begin + first, wait: wait_ms },
    faults,
  })
}
