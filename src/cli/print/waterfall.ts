// A trace as a timeline: a line per step, a bar per attempt, with its wait before it.
import type { TraceRecord } from '../../contract/core/trace.ts'
import type { WaterfallRow, WaterfallSpan } from '../../contract/core/waterfall.ts'
import { gatewayRows, timeText } from '../../views/waterfall.ts'
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
