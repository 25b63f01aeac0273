// The timeline of a call: what the gateway or the provider did, and below it what the client received; and the calls of a
// run on one time axis, with a link to each.
import type { RenderableProps } from 'preact'
import type { CallRow } from '../../../contract/core/call-row.ts'
import { outcomeText } from '../../../contract/core/outcome-text.ts'
import type { TraceRecord } from '../../../contract/core/trace.ts'
import type { Waterfall, WaterfallRow } from '../../../contract/core/waterfall.ts'
import { toneClass } from '../calls/list.tsx'
import { callOf, usesVirtualClock } from '../state/call-list.ts'
import { countedText, spanText, tickText } from '../state/format.ts'
import { hashOf, here } from '../state/route.ts'
import { type Axis, axisOf } from './axis.ts'

/** The clock of a call's times; undefined if unknown. */
export function callClock(id: string): 'real' | 'virtual' | undefined {
  const row = callOf(id)
  if (!row || row.arrived === 0) return undefined
  return usesVirtualClock(row) ? 'virtual' : 'real'
}

/** The properties of a timeline. */
interface WaterfallProps {
  waterfall: Waterfall
  route: TraceRecord['route']
  /** The clock of its times, if known. */
  clock?: 'real' | 'virtual' | undefined
  /** A shared axis; default: its own. */
  axis?: Axis
}

/** The timeline. */
export function WaterfallChart({ waterfall, route, clock, axis = axisOf(waterfall) }: WaterfallProps) {
  const titles = { gateway: route === 'direct' ? 'Provider' : 'Gateway', agent: 'Agent', client: 'Client' }
  const lanes = (['gateway', 'agent', 'client'] as const)
    .map((lane) => ({ lane, rows: waterfall.rows.filter((row) => row.lane === lane && row.kind !== 'usage') }))
    .filter(({ rows }) => rows.length > 0)
  if (lanes.length === 0) return <p class="note">The call was rejected before processing.</p>
  return (
    <LineTable label="Timeline of the call" axis={axis} clock={clock}>
      {lanes.map(({ lane, rows }) => (
        <div key={lane} class={`lane ${lane}`} role="rowgroup" aria-label={titles[lane]}>
          <div class="lane-name" role="row">
            <span role="rowheader">{titles[lane]}</span>
          </div>
          {rows.map((row, index) => (
            <Line key={index} row={row} axis={axis} />
          ))}
        </div>
      ))}
    </LineTable>
  )
}

/** Lines on one axis. If it is wide, its labels have more room. */
function LineTable(
  props: RenderableProps<{ label: string; axis: Axis; clock: WaterfallProps['clock']; isWide?: boolean }>,
) {
  const { label, axis, clock, children, isWide = false } = props
  return (
    <div class={`waterfall${isWide ? ' wide' : ''}`} role="table" aria-label={label}>
      <div class="axis">
        {clock && (
          <span class={`tag ${clock}`} title={CLOCK_TITLES[clock]}>
            {clock} time
          </span>
        )}
        <svg role="presentation" aria-hidden="true">
          {axis.ticks.map(({ ms, x }) => (
            <g key={ms}>
              <line class="tick" x1={`${x}%`} x2={`${x}%`} y1="12" y2="18" />
              <text x={`${x}%`} y="9" text-anchor={x < 4 ? 'start' : x > 96 ? 'end' : 'middle'}>
                {tickText(ms)}
              </text>
            </g>
          ))}
        </svg>
      </div>
      {children}
    </div>
  )
}

const CLOCK_TITLES = {
  virtual: "The session's virtual clock: waits are skipped, so that they took no real time.",
  real: 'The system clock.',
} as const

/** The properties of a line. */
interface LineProps {
  row: WaterfallRow
  axis: Axis
  /** Address of the row's trace; default: the trace in the current view. */
  href?: string
  /** A class that marks it. */
  mark?: string
  tags?: readonly string[]
}

/** A row with its bar. */
function Line({ row, axis, href, mark = '', tags = [] }: LineProps) {
  const { title, subject, detail, error, tone, trace, depth } = row
  const about = subject === '' || row.kind === 'call' ? '' : subject
  return (
    <div class={`line ${tone} ${row.kind} ${mark}`} role="row">
      <div class="label" role="rowheader" style={{ paddingLeft: `${depth * 12}px` }}>
        <span class="title">{title}</span>
        {trace === null ? (
          <span class="subject" title={about}>
            {about}
          </span>
        ) : (
          <a class="subject" href={href ?? hashOf(here.value.view, withCall(trace))} title={about}>
            {about === '' ? 'trace' : about}
          </a>
        )}
      </div>
      <div class="bar" role="cell">
        {row.span && <Bar row={row} axis={axis} />}
      </div>
      <div class="detail" role="cell">
        <span class="outcome">{detail}</span>
        {notesOf(row).map((note) => (
          <span key={note} class="note">
            {note}
          </span>
        ))}
        {[...row.faults, ...tags].map((text) => (
          <span key={text} class="tag fault">
            {text}
          </span>
        ))}
        {error !== null && <span class="error">{error}</span>}
      </div>
    </div>
  )
}

/** Faults have their own marks. */
const notesOf = ({ notes }: WaterfallRow) => notes.filter((note) => !note.startsWith('faults: '))

function withCall(id: string): URLSearchParams {
  const params = new URLSearchParams(here.value.params)
  params.set('call', id)
  return params
}

const [TOP, HEIGHT] = [6, 12]

function Bar({ row, axis }: { row: WaterfallRow; axis: Axis }) {
  const { span, faults } = row
  if (!span) return null
  const [start, end] = [axis.at(span.from), axis.at(span.to)]
  const waited = axis.at(span.from - span.wait)
  const first = span.first === null ? null : axis.at(span.first)
  const percent = (value: number) => `${value}%`
  return (
    <svg role="img" aria-label={differenceText(row)}>
      {axis.folds.map(({ x, width, from, to }) => (
        <g key={x} class="fold">
          <rect x={percent(x)} y="0" width={percent(width)} height="24" />
          {row.kind !== 'call' && from >= span.from - span.wait - 1 && to <= span.from + 1 && (
            <text x={percent(x + width / 2)} y="9" text-anchor="middle">
              {spanText(to - from)}
            </text>
          )}
        </g>
      ))}
      {span.wait > 0 && (
        <line class="wait" x1={percent(waited)} x2={percent(start)} y1={TOP + HEIGHT / 2} y2={TOP + HEIGHT / 2} />
      )}
      <rect class="whole" x={percent(start)} y={TOP} width={percent(Math.max(0, end - start))} height={HEIGHT} rx="2" />
      {first !== null && (
        <rect
          class="content"
          x={percent(first)}
          y={TOP}
          width={percent(Math.max(0, end - first))}
          height={HEIGHT}
          rx="2"
        />
      )}
      <rect class="least" x={percent(Math.min(start, 99.6))} y={TOP} width="3" height={HEIGHT} rx="1" />
      {faults.length > 0 && <circle class="fault" cx={percent(Math.min(99, end))} cy={TOP + HEIGHT / 2} r="4" />}
    </svg>
  )
}

/** The text of a bar, for screen readers. */
function differenceText({ title, subject, detail, notes, error, span }: WaterfallRow): string {
  const when = span ? `from ${spanText(span.from)} to ${spanText(span.to)}` : ''
  return [`${title} ${subject}`.trim(), detail, when, ...notes, ...(error === null ? [] : [error])]
    .filter((part) => part !== '')
    .join(', ')
}

/** A call of a run. */
interface TimedCall {
  row: CallRow
  /** Whether a fault was injected into it. */
  broken: boolean
  /** Short remarks about it. */
  tags?: readonly string[]
}

/**
 * A longer run is drawn in part: both ends, and the marked calls with some before and after each. There is a maximum of
 * drawn calls.
 */
const [LONG, AROUND, MAX_DRAWN] = [15, 2, 60]

interface RunTimelineProps {
  calls: readonly TimedCall[]
  /** The address of a call. */
  href(id: string): string
  clock?: 'real' | 'virtual'
}

/** The timeline of a run. */
export function RunTimeline({ calls, href, clock = 'real' }: RunTimelineProps) {
  if (calls.length === 0) return <p class="note">No calls.</p>
  const drawn = drawnCalls(calls)
  const zero = Math.min(...drawn.map(({ row }) => row.started))
  const lines = drawn.map((call) => ({ ...call, line: lineOf(call, zero) }))
  const axis = axisOf({
    rows: lines.map(({ line }) => line),
    from: 0,
    to: Math.max(...drawn.map(({ row }) => row.started + row.duration - zero)),
  })
  return (
    <>
      <LineTable isWide label="Timeline of the run" axis={axis} clock={clock}>
        {lines.map(({ row, line, broken, tags = [] }) => (
          <Line
            key={row.id}
            row={line}
            axis={axis}
            href={href(row.id)}
            mark={broken ? 'broken' : ''}
            tags={[...(broken ? [`fault injected: ${row.faults.map(modeOf).join(', ') || 'in a tool'}`] : []), ...tags]}
          />
        ))}
      </LineTable>
      {drawn.length < calls.length && (
        <p class="note">{countedText(calls.length - drawn.length, 'other call')} not drawn.</p>
      )}
    </>
  )
}

/** The calls to draw, in order. */
function drawnCalls(calls: readonly TimedCall[]): readonly TimedCall[] {
  if (calls.length <= LONG) return calls
  const isMarked = ({ broken, tags = [] }: TimedCall) => broken || tags.length > 0
  const marked = calls.flatMap((call, index) => (index === 0 || isMarked(call) ? [index] : []))
  const near = [...marked, calls.length - 1].flatMap((index) =>
    calls.slice(Math.max(0, index - AROUND), index + AROUND + 1),
  )
  const chosen = new Set(near)
  return calls.filter((call) => chosen.has(call)).slice(0, MAX_DRAWN)
}

/** The failure mode in the name of a rule of an exploration: `timeout at chat.completions-1a.1`. */
const modeOf = (rule: string): string => rule.replace(/ at \S+$/, '')

function lineOf({ row }: TimedCall, zero: number): WaterfallRow {
  const { operation, stream, prompt, status, outcome, duration, error, started, id, model } = row
  const from = started - zero
  return {
    ...{
      lane: 'client',
      kind: 'model',
      depth: 0,
      faults: [],
      trace: id,
      error: outcome === 'succeeded' ? null : error,
    },
    title: `${operation}${stream ? ' stream' : ''}`,
    subject: prompt ?? row.requested_model ?? model ?? 'call',
    detail: `${outcomeText(outcome)} (${status}) in ${spanText(duration)}`,
    notes: [],
    tone: toneClass(row),
    span: { from, to: from + duration, first: null, wait: 0 },
  }
}
