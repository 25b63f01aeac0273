// A trace drawn over time: a line for each step, a bar for each attempt, with its wait before it.
import type { styleText } from 'node:util'
import type { AttemptRecord, TraceRecord } from '../contract/trace.ts'
import { fitText, wrapText } from './terminal.ts'

type Format = Extract<Parameters<typeof styleText>[0], string>
/** Colours a text, or leaves it as it is where colours do not belong. */
export type Paint = (format: Format, text: string) => string

/** Characters of the time axis: as many as there is room for. */
const [SHORTEST_AXIS, LONGEST_AXIS] = [10, 40]
/** Fewest characters of a target's name that still say something. */
const SHORTEST_LABEL = 12
/** Columns of a step's name and the spaces around it. */
const STEP = 13
/** Columns beside the name of an attempt's target: its kind, and the spaces around both. */
const LABEL = 13
const WAIT = '·'
/** Before and after the first content; an attempt without any is the first kind alone. */
const SILENT = '░'
const HEARD = '█'

/** Where and how wide it is drawn. */
interface Canvas {
  paint: Paint
  /** Columns. */
  width: number
}

/** The lines that show what happened in a call, in the order in which it happened, each no longer than there is room for. */
export function waterfall(trace: TraceRecord, paint: Paint, width: number): string[] {
  const { scenario, faults, retrievals, guardrails, cache, attempts } = trace
  const canvas = { paint, width }
  const step = (name: string, text: string, shown = text) => stepLines(name, { text, shown }, canvas)
  const colours = { passed: 'green', blocked: 'red', alerted: 'yellow', unchecked: 'dim' } as const
  const verdict = ({ id, stage, outcome, reason }: TraceRecord['guardrails'][number]) => {
    const text = reason === null ? outcome : `${outcome}: ${reason}`
    return step(stage, `${id} ${text}`, `${id} ${paint(colours[outcome], text)}`)
  }
  const checks = (wanted: string) => guardrails.filter(({ stage }) => stage === wanted).flatMap(verdict)
  return [
    ...(scenario === null ? [] : step('scenario', scenario)),
    ...retrievals.flatMap(({ knowledge_id, search_type, chunks }) =>
      step('knowledge', `${knowledge_id} ${search_type}, ${counted(chunks.length, 'chunk')}`),
    ),
    ...checks('input'),
    ...(cache
      ? step('cache', cache.age_ms === null ? cache.status : `${cache.status}, ${time(cache.age_ms)} old`)
      : []),
    ...(attempts.length === 0 ? [] : ['', ...bars(trace, canvas), '']),
    ...checks('output'),
    ...(faults.length === 0
      ? []
      : step('faults', `${trace.task ? '' : 'on the way to the client: '}${faults.join(', ')}`)),
    ...(trace.usage ? step('usage', spent(trace)) : []),
  ]
}

/** A step with its name; a text that is too long goes on under its beginning. */
function stepLines(name: string, { text, shown }: { text: string; shown: string }, { paint, width }: Canvas): string[] {
  const lines = text.length + STEP <= width ? [shown] : wrapText(text, width - STEP)
  return lines.map((line, index) => `  ${paint('bold', (index === 0 ? name : '').padEnd(STEP - 3))} ${line}`)
}

const endOf = ({ outcome, status, duration_ms }: AttemptRecord) => `${outcome} ${status} in ${time(duration_ms)}`

function bars(trace: TraceRecord, canvas: Canvas): string[] {
  const { attempts, duration_ms } = trace
  const total = Math.max(1, duration_ms, ...attempts.map((one) => one.started_ms + one.duration_ms))
  const rest = canvas.width - LABEL - Math.max(...attempts.map((attempt) => endOf(attempt).length)) - 1
  if (rest < SHORTEST_LABEL + SHORTEST_AXIS) return stackedBars(trace, total, canvas)
  const { paint, width } = canvas
  const label = Math.min(
    Math.max(...attempts.map(({ target }) => target.length)),
    Math.max(SHORTEST_LABEL, rest - SHORTEST_AXIS),
  )
  const axis = Math.max(SHORTEST_AXIS, Math.min(LONGEST_AXIS, rest - label))
  const indent = ' '.repeat(label + LABEL)
  const under = (text: string) => wrapText(text, width - indent.length).map((line) => `${indent}${paint('dim', line)}`)
  return [
    `${indent}${paint('dim', `0${time(total).padStart(axis - 1)}`)}`,
    ...attempts.flatMap((attempt) => {
      const { target, why, outcome, error } = attempt
      const end = endOf(attempt)
      const begin = `  ${fitText(target, label)} ${why.padEnd(9)} ${barOf(attempt, { total, axis, paint })}`
      const line = `${begin} ${paint(outcome === 'answered' ? 'green' : 'red', end)}`
      const notes = notesOf(attempt).join(', ')
      const fits = notes === '' || label + LABEL + axis + end.length + notes.length + 3 <= width
      return [
        fits ? [line, ...(notes === '' ? [] : [notes])].join(', ') : line,
        ...(fits ? [] : under(notes)),
        ...(error === null ? [] : under(error)),
      ]
    }),
  ]
}

/** Each bar under its name, where there is no room beside it. */
function stackedBars({ attempts }: TraceRecord, total: number, { paint, width }: Canvas): string[] {
  const indent = '    '
  const axis = Math.min(LONGEST_AXIS, width - indent.length)
  const under = (text: string, format: Format) =>
    wrapText(text, width - indent.length).map((line) => `${indent}${paint(format, line)}`)
  return [
    `${indent}${paint('dim', `0${time(total).padStart(axis - 1)}`)}`,
    ...attempts.flatMap((attempt) => {
      const { target, why, outcome, error } = attempt
      return [
        `  ${fitText(target, Math.min(target.length, width - why.length - 3))} ${why}`,
        `${indent}${barOf(attempt, { total, axis, paint })}`,
        ...under(endOf(attempt), outcome === 'answered' ? 'green' : 'red'),
        ...under(notesOf(attempt).join(', '), 'dim'),
        ...(error === null ? [] : under(error, 'dim')),
      ]
    }),
  ]
}

const notesOf = ({ wait_ms, first_content_ms, started_ms, faults, request_id }: AttemptRecord): string[] => [
  ...(wait_ms > 0 ? [`after ${time(wait_ms)}`] : []),
  ...(first_content_ms === null ? [] : [`first content after ${time(first_content_ms - started_ms)}`]),
  ...(faults.length === 0 ? [] : [`faults: ${faults.join(', ')}`]),
  ...(request_id ? [`request ${request_id}`] : []),
]

/** An attempt on the time axis; what is short is still one character. */
function barOf(attempt: AttemptRecord, { total, axis, paint }: { total: number; axis: number; paint: Paint }): string {
  const { started_ms: start, wait_ms: wait, first_content_ms: first, duration_ms: duration, outcome } = attempt
  const at = (ms: number) => Math.min(axis, Math.round((ms / total) * axis))
  const from = Math.min(at(start), axis - 1)
  const to = Math.max(from + 1, at(start + duration))
  const heard = first === null ? to : Math.min(at(first), to - 1)
  const waited = Math.min(at(start - wait), from)
  const bar = SILENT.repeat(Math.max(0, heard - from)) + HEARD.repeat(to - Math.max(heard, from))
  const colour = outcome === 'answered' ? 'green' : 'red'
  return `${' '.repeat(waited)}${paint('dim', WAIT.repeat(from - waited))}${paint(colour, bar)}${' '.repeat(axis - to)}`
}

/** A length of time, in whole milliseconds or in seconds. */
export const time = (ms: number): string => (ms < 10_000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`)
const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** The counts that are numbers, and what the call would have cost. */
function spent({ usage, cost }: TraceRecord): string {
  const counts = Object.entries(usage ?? {}).flatMap(([name, value]) =>
    typeof value === 'number' ? [`${value} ${name.replaceAll('_', ' ')}`] : [],
  )
  return [...counts, ...(cost === null ? [] : [`$${Number(cost.toPrecision(3))}`])].join(', ')
}
