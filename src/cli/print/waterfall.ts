// A trace as a timeline: a line per step, a bar per attempt, with its wait before it.

import { outcomeText } from '../../contract/core/outcome-text.ts'
import type { AttemptRecord, TaskStep, TaskTrace, TraceRecord } from '../../contract/core/trace.ts'
import type { WaterfallRow, WaterfallSpan } from '../../contract/core/waterfall.ts'
import { gatewayRows, STEP_TITLES, timeText } from '../../views/waterfall.ts'
import { type Format, fitText, paint, wrapText } from './output.ts'

/** Minimum and maximum length of the time axis. */
const [MIN_AXIS_LENGTH, MAX_AXIS_LENGTH] = [10, 40]
/** Minimum useful length of a target's name. */
const MIN_LABEL_LENGTH = 12
/** Columns of a step's name and the spaces around it. */
const STEP = 13
/** Columns of an attempt's kind and the spaces around it and the target's name. */
const LABEL = 13
const WAIT = '·'
/** Before and after the first content. An attempt without content has only the first kind. */
const SILENT = '░'
const RECEIVING = '█'

const COLOURS = { good: 'green', bad: 'red', warning: 'yellow', idle: 'dim' } as const

/** The lines of a call's timeline, in order, fitted to the width. */
export function waterfall(trace: TraceRecord, width: number): string[] {
  const rows = gatewayRows(trace)
  const attempts = rows.filter(isAttempt)
  const [before, after] = [rows.findIndex(isAttempt), rows.findLastIndex(isAttempt)]
  const steps = (some: readonly WaterfallRow[]) => some.flatMap((row) => stepOf(row, width))
  if (attempts.length === 0) return steps(rows)
  return [
    ...steps(rows.slice(0, before)),
    ...['', ...bars(attempts, trace.duration_ms, width), ''],
    ...steps(rows.slice(after + 1)),
  ]
}

/** A row with its time span. */
type Bar = WaterfallRow & { span: WaterfallSpan }
const isAttempt = (row: WaterfallRow): row is Bar => row.kind === 'attempt' && row.span !== null

function stepOf({ title, subject, detail, notes, tone }: WaterfallRow, width: number): string[] {
  const about = subject === '' ? '' : `${subject} `
  const shown = tone === 'plain' ? detail : paint(COLOURS[tone], detail)
  const more = notes.map((note) => `, ${note}`).join('')
  const text = `${about}${detail}${more}`
  // Only the first line has the name.
  const lines = text.length + STEP <= width ? [`${about}${shown}${more}`] : wrapText(text, width - STEP)
  return lines.map((line, index) => `  ${paint('bold', (index === 0 ? title : '').padEnd(STEP - 3))} ${line}`)
}

const colourOf = ({ tone }: Bar) => (tone === 'good' ? 'green' : 'red')

function bars(attempts: readonly Bar[], duration: number, width: number): string[] {
  const total = Math.max(1, duration, ...attempts.map(({ span }) => span.to))
  const rest = width - LABEL - Math.max(...attempts.map(({ detail }) => detail.length)) - 1
  if (rest < MIN_LABEL_LENGTH + MIN_AXIS_LENGTH) return stackedBars(attempts, total, width)
  const label = Math.min(
    Math.max(...attempts.map(({ subject }) => subject.length)),
    Math.max(MIN_LABEL_LENGTH, rest - MIN_AXIS_LENGTH),
  )
  const axis = Math.max(MIN_AXIS_LENGTH, Math.min(MAX_AXIS_LENGTH, rest - label))
  const indent = ' '.repeat(label + LABEL)
  const under = (text: string) => wrapText(text, width - indent.length).map((line) => `${indent}${paint('dim', line)}`)
  return [
    `${indent}${paint('dim', `0${timeText(total).padStart(axis - 1)}`)}`,
    ...attempts.flatMap((attempt) => {
      const { subject, title, detail, error } = attempt
      const begin = `  ${fitText(subject, label)} ${title.padEnd(9)} ${barOf(attempt, { total, axis })}`
      const line = `${begin} ${paint(colourOf(attempt), detail)}`
      const notes = attempt.notes.join(', ')
      const fits = notes === '' || label + LABEL + axis + detail.length + notes.length + 3 <= width
      return [
        fits ? [line, ...(notes === '' ? [] : [notes])].join(', ') : line,
        ...(fits ? [] : under(notes)),
        ...(error === null ? [] : under(error)),
      ]
    }),
  ]
}

/** Each bar below its name, if there is no room beside it. */
function stackedBars(attempts: readonly Bar[], total: number, width: number): string[] {
  const indent = '    '
  const axis = Math.min(MAX_AXIS_LENGTH, width - indent.length)
  const under = (text: string, format: Format) =>
    wrapText(text, width - indent.length).map((line) => `${indent}${paint(format, line)}`)
  return [
    `${indent}${paint('dim', `0${timeText(total).padStart(axis - 1)}`)}`,
    ...attempts.flatMap((attempt) => {
      const { subject, title, detail, notes, error } = attempt
      return [
        `  ${fitText(subject, Math.min(subject.length, width - title.length - 3))} ${title}`,
        `${indent}${barOf(attempt, { total, axis })}`,
        ...under(detail, colourOf(attempt)),
        ...under(notes.join(', '), 'dim'),
        ...(error === null ? [] : under(error, 'dim')),
      ]
    }),
  ]
}

/** An attempt on the time axis, at least one character long. */
function barOf(attempt: Bar, { total, axis }: { total: number; axis: number }): string {
  const { from: start, to: end, first, wait } = attempt.span
  const at = (ms: number) => Math.min(axis, Math.round((ms / total) * axis))
  const from = Math.min(at(start), axis - 1)
  const to = Math.max(from + 1, at(end))
  const firstAt = first === null ? to : Math.min(at(first), to - 1)
  const waited = Math.min(at(start - wait), from)
  const bar = SILENT.repeat(Math.max(0, firstAt - from)) + RECEIVING.repeat(to - Math.max(firstAt, from))
  return `${' '.repeat(waited)}${paint('dim', WAIT.repeat(from - waited))}${paint(colourOf(attempt), bar)}${' '.repeat(axis - to)}`
}

interface TreeNode {
  text: string
  format?: Format | undefined
  children: TreeNode[]
}

/** Known traces by id. */
type RelatedTraces = ReadonlyMap<string, TraceRecord>

/** Maximum number of traces that are read for one tree. Others are drawn without their own steps. */
const MAX_RELATED = 200
/** Minimum columns of a text, however deep it is. */
const NARROWEST_TEXT = 12
/** Indentation of a continuation line. */
const HANGING = 2

/** The traces of the steps of a task, and of its sub-tasks. Deleted ones are omitted. */
export async function relatedTraces(
  trace: TraceRecord,
  get: (id: string) => Promise<TraceRecord>,
): Promise<RelatedTraces> {
  const found = new Map<string, TraceRecord>()
  const waiting = idsOf(trace)
  for (let id = waiting.shift(); id !== undefined && found.size < MAX_RELATED; id = waiting.shift()) {
    if (found.has(id)) continue
    const one = await get(id).catch(() => undefined)
    if (!one) continue
    found.set(id, one)
    waiting.push(...idsOf(one))
  }
  return found
}

const idsOf = ({ task }: TraceRecord): string[] =>
  (task?.steps ?? []).flatMap(({ trace }) => (trace === null ? [] : [trace]))

/** The lines of the tree, wrapped to the width. */
export function taskTree(task: TaskTrace, related: RelatedTraces, width: number): string[] {
  const root: TreeNode = {
    text: `task ${task.id} of ${task.agent}, turn ${task.turn}: ${endOf(task)}`,
    format: 'bold',
    children: iterations(task, related, new Set()),
  }
  const draw = ({ text, format, children }: TreeNode, first: string, rest: string): string[] => [
    ...wrapText(text, Math.max(NARROWEST_TEXT, width - first.length - HANGING)).map(
      (line, index) => `${index === 0 ? first : under(rest, children)}${format ? paint(format, line) : line}`,
    ),
    ...children.flatMap((child, index) =>
      index === children.length - 1 ? draw(child, `${rest}└ `, `${rest}  `) : draw(child, `${rest}├ `, `${rest}│ `),
    ),
  ]
  return draw(root, '  ', '  ')
}

/** A continuation line keeps the branch to its children. */
const under = (rest: string, children: readonly TreeNode[]) => (children.length > 0 ? `${rest}│ ` : `${rest}  `)

const endOf = ({ state, finish_reason: reason }: TaskTrace) =>
  reason === null || reason === 'stop' || reason === state ? state : `${state} (${reason})`

/** `above` are the enclosing traces. */
function iterations(task: TaskTrace, related: RelatedTraces, above: ReadonlySet<string>): TreeNode[] {
  const nodes: (TreeNode & { iteration: number })[] = []
  for (const step of task.steps) {
    const last = nodes.at(-1)
    const node = stepNode(step, related, above)
    if (last?.iteration === step.iteration) last.children.push(node)
    else nodes.push({ iteration: step.iteration, text: `iteration ${step.iteration}`, children: [node] })
  }
  return nodes
}

const FORMATS: Record<TaskStep['outcome'], Format> = { succeeded: 'green', failed: 'red', waiting: 'yellow' }

function stepNode(step: TaskStep, related: RelatedTraces, above: ReadonlySet<string>): TreeNode {
  const { kind, name, outcome, duration_ms, error, fixture, late, faults = [], trace, evaluations = [] } = step
  const own = trace === null || above.has(trace) ? undefined : related.get(trace)
  const lines = [
    ...(kind === 'wait' ? [] : [`${outcome} in ${timeText(duration_ms)}`]),
    ...(own?.task ? [endOf(own.task)] : []),
    ...(error === null ? [] : [error]),
    ...(late ? ['late'] : []),
    ...(fixture === undefined ? [] : [`fixture ${fixture}`]),
    ...(faults.length === 0 ? [] : [`faults: ${faults.join(', ')}`]),
    ...evaluations.map(({ id, value }) => `evaluator ${id}: ${value}`),
  ]
  const inside = trace === null ? above : new Set([...above, trace])
  return {
    text: [`${STEP_TITLES[kind]} ${name}`, lines.join(', ')].filter((part) => part !== '').join(' '),
    format: FORMATS[outcome],
    children: own?.task ? iterations(own.task, related, inside) : attemptNodes(own?.attempts ?? []),
  }
}

/** A single successful attempt adds nothing to its step. */
function attemptNodes(attempts: readonly AttemptRecord[]): TreeNode[] {
  if (attempts.length === 1 && attempts[0]?.outcome === 'succeeded' && attempts[0].faults.length === 0) return []
  return attempts.map(({ target, reason: why, outcome, status, duration_ms, wait_ms, faults, error }) => ({
    text: [
      `${why} ${target} ${outcomeText(outcome)} ${status} in ${timeText(duration_ms)}`,
      ...(wait_ms > 0 ? [`after ${timeText(wait_ms)}`] : []),
      ...(faults.length === 0 ? [] : [`faults: ${faults.join(', ')}`]),
      ...(error === null ? [] : [error]),
    ].join(', '),
    format: outcome === 'succeeded' ? 'green' : 'red',
    children: [],
  }))
}
