// A trace as one line of a list, fitted to the width.

import { outcomeText } from '../../contract/core/outcome-text.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import { type Format, fitText, paint } from './output.ts'

/** How lines are printed. */
interface LineOptions {
  /** Columns; unlimited if undefined. */
  width: number | undefined
  /** Whether the session is shown, which is only useful if there are several. */
  sessions: boolean
}

/** A text, and its color. */
type ExploreCase = [string, Format | undefined]

interface Column {
  text: string
  /** Maximum width. */
  most: number
  cut: 'end' | 'start'
  colour: Format | undefined
}
/** Minimum useful width of a column. */
const MIN_COUNT = 12
/** Widths from which on there is room for milliseconds, and for two spaces between columns. */
const [WIDE, MIDDLING] = [100, 50]

const statusColour = (status: number) => (status < 400 ? 'green' : status < 500 ? 'yellow' : 'red')

/** One line for a call. Its id comes last and is never cut. */
export function traceLine(record: TraceRecord, { width, sessions }: LineOptions): string {
  const { started_at, status, outcome, duration_ms, id } = record
  const time = width === undefined || width >= WIDE ? started_at.slice(11, 23) : started_at.slice(11, 19)
  const gap = width !== undefined && width < MIDDLING ? ' ' : '  '
  const always: ExploreCase[] = [
    [time, 'dim'],
    [String(status), statusColour(status)],
    [outcomeText(outcome).padEnd(MIN_COUNT), undefined],
    [`${duration_ms} ms`.padStart(9), undefined],
  ]
  const roomFor = (cells: readonly ExploreCase[]) =>
    cells.reduce((sum, [text]) => sum + text.length + gap.length, id.length)
  // If there is hardly any room, the last columns are dropped first.
  while (width !== undefined && always.length > 1 && roomFor(always) > width) always.pop()
  const columns = columnsOf(record, sessions)
  const widths = width === undefined ? undefined : widthsOf(columns, width - roomFor(always), gap.length)
  const cells = columns.flatMap(({ text, most, cut, colour }, index): ExploreCase[] => {
    if (widths === undefined) return [[index === columns.length - 1 ? text : text.padEnd(most), colour]]
    const room = widths[index]
    return room === undefined ? [] : [[fitText(text, room, cut), colour]]
  })
  const all: ExploreCase[] = [...always, ...cells, [id, 'dim']]
  return all.map(([text, colour]) => (colour ? paint(colour, text) : text)).join(gap)
}

/** The columns that share the remaining width, the most important first. */
function columnsOf(
  { session, model, operation, stream, fixture, generated }: TraceRecord,
  sessions: boolean,
): Column[] {
  const column = (text: string, most: number, more: Partial<Column> = {}): Column => ({
    ...{ text, most, cut: 'end', colour: undefined },
    ...more,
  })
  return [
    ...(sessions ? [column(session, 20)] : []),
    column(model ?? '-', 24),
    column(`${operation}${stream ? ' stream' : ''}`, 24),
    column(fixture ?? (generated ? 'generated' : ''), 40, { cut: 'start', colour: 'cyan' }),
  ]
}

/** The widths of as many columns as fit: each at least its minimum, the rest goes to the first ones. */
function widthsOf(columns: readonly Column[], room: number, gap: number): number[] {
  const fit = Math.min(columns.length, Math.max(0, Math.floor(room / (MIN_COUNT + gap))))
  let remaining = room - fit * (MIN_COUNT + gap)
  return columns.slice(0, fit).map(({ most }) => {
    const more = Math.min(remaining, most - MIN_COUNT)
    remaining -= more
    return MIN_COUNT + more
  })
}
