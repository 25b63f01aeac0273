// The timeline of a call: what the gateway or the provider did, and below it what the client received.
import type { ComponentChildren } from 'preact'
import type { TraceRecord } from '../../../contract/core/trace.ts'
import type { Waterfall, WaterfallRow } from '../../../contract/core/waterfall.ts'
import { callOf, usesVirtualClock } from '../state/call-list.ts'
import { spanText, tickText } from '../state/format.ts'
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

interface LineTableProps extends Pick<WaterfallProps, 'clock'> {
  label: string
  axis: Axis
  /** Whether its labels have more room. */
  isWide?: boolean
  children: ComponentChildren
}

/** Lines on one axis. */
export function LineTable({ label, axis, clock, children, isWide = false }: LineTableProps) {
  return (
    <div class={`waterfall${isWide ? ' wide' : ''}`} role="table" aria-label={label}>
      <AxisLine axis={axis} clock={clock} />
      {children}
    </div>
  )
}

const CLOCK_TITLES = {
  virtual: "The session's virtual clock: waits are skipped, so that they took no real time.",
  real: 'The system clock.',
} as const

function AxisLine({ axis, clock }: { axis: Axis; clock: WaterfallProps['clock'] }) {
  return (
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
  )
}

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
export function Line({ row, axis, href, mark = '', tags = [] }: LineProps) {
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
