// The calls of a run on one time axis, with a link to each. Those into which a fault was injected are marked.
import type { CallRow } from '../../../contract/core/call-row.ts'
import { outcomeText } from '../../../contract/core/outcome-text.ts'
import type { WaterfallRow } from '../../../contract/core/waterfall.ts'
import { axisOf } from '../call/axis.ts'
import { Line, LineTable } from '../call/waterfall.tsx'
import { toneClass } from '../calls/list.tsx'
import { countedText, spanText } from '../state/format.ts'

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
    tone: TONES[toneClass(row)] ?? 'plain',
    span: { from, to: from + duration, first: null, wait: 0 },
  }
}

const TONES: Readonly<Record<string, WaterfallRow['tone']>> = { good: 'good', bad: 'bad', warning: 'warning' }
