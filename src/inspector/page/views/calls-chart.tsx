// Calls, failures and waits of a session over time, with the phases of its scenario in the background.
import { useComputed } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import type { CallRow } from '../../../contract/core/call-row.ts'
import type { Verification } from '../../../contract/core/verification.ts'
import { STEPS } from '../call/axis.ts'
import { allCalls, calmChanges, usesVirtualClock } from '../state/call-list.ts'
import { countedText, tickText } from '../state/format.ts'
import { theme } from '../state/theme.ts'
import { chart } from '../ui/part.ts'

/** What the server reports about the active scenario. */
export interface ScenarioState {
  scenario: string | null
  from: string | null
  text: string | null
  problem: string | null
  warnings: string[]
  state: string | null
  started_at: string | null
  rules: Verification['rules']
  phases: { rule: string; phase: string; from_ms: number; to_ms: number | null }[]
}

const HEIGHT = 200
const SLOTS = 120

/** The chart. */
export function CallsChart({ session, state }: { session: string; state: ScenarioState | undefined }) {
  const element = useRef<HTMLDivElement>(null)
  // Colors on a canvas are those of the time when it was drawn.
  const now = useComputed(() => ({ theme: theme.value, changes: calmChanges.value, calls: [...allCalls()] })).value
  const rows = useMemo(() => now.calls.filter((row) => row.session === session), [now, session])
  useEffect(() => {
    const place = element.current
    if (!place || rows.length === 0) return
    const plot = draw(place, rows, state)
    const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }))
    observer.observe(place)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [rows, state])
  if (rows.length === 0) return null
  const failed = rows.filter(({ outcome }) => outcome !== 'succeeded').length
  return (
    <figure class="card chart">
      <figcaption>
        <h2>Calls over time</h2>
        <span class="note">
          {countedText(rows.length, 'call')}, {failed} failed, in {rows.some(usesVirtualClock) ? 'virtual' : 'real'}{' '}
          time
        </span>
      </figcaption>
      <div ref={element} role="img" aria-label={`${rows.length} calls over time, ${failed} of them failed`} />
    </figure>
  )
}

/** Counts per time slot. */
function slotsOf(rows: readonly CallRow[]) {
  const from = rows.reduce((least, { started }) => Math.min(least, started), Number.POSITIVE_INFINITY)
  const to = rows.reduce((most, { started, duration }) => Math.max(most, started + duration), from + 1)
  const step = Math.max(1, Math.ceil((to - from) / SLOTS))
  const count = Math.floor((to - from) / step) + 2
  const empty = () => new Array<number>(count).fill(0)
  const [answered, failed] = [empty(), empty()]
  const waited = new Array<number | null>(count).fill(null)
  for (const row of rows) {
    const at = Math.floor((row.started - from) / step)
    const series = row.outcome === 'succeeded' ? answered : failed
    series[at] = (series[at] ?? 0) + 1
    if (row.waited > 0) waited[at] = Math.max(waited[at] ?? 0, row.waited)
  }
  return { from, times: answered.map((_, index) => index * step), answered, failed, waited }
}

/** An axis of whole calls has no ticks in between. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000]

/** The page's colors, for a canvas. */
function coloursIn(place: HTMLElement, names: readonly string[]): string[] {
  const style = getComputedStyle(place)
  return names.map((name) => {
    place.style.color = `var(--${name})`
    const value = style.color
    place.style.color = ''
    return value
  })
}

function draw(place: HTMLElement, rows: readonly CallRow[], state: ScenarioState | undefined) {
  const { uPlot: Plot } = chart()
  const { from, times, answered, failed, waited } = slotsOf(rows)
  const [good = '', bad = '', wait = '', text = '', line = ''] = coloursIn(place, COLOURS)
  const bars = Plot.paths.bars?.({ size: [0.9, 40, 1], align: 1 })
  const bar = { points: { show: false }, ...(bars && { paths: bars }) }
  const axis = {
    stroke: text,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    size: 34,
    font: '10px system-ui',
  }
  const spans = (_: uPlot, all: readonly number[]) => all.map(tickText)
  const marks = (_: uPlot, series: number) => [text, good, bad, wait][series] ?? text
  const fromNothing = { range: (_: uPlot, __: number, most: number): [number, number] => [0, Math.max(1, most)] }
  return new Plot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      legend: { live: false, markers: { fill: marks, stroke: marks } },
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false }, waits: fromNothing, y: fromNothing },
      axes: [
        { ...axis, size: 24, incrs: STEPS, values: spans },
        { ...axis, incrs: WHOLE },
        { ...axis, size: 56, incrs: STEPS, scale: 'waits', side: 1, grid: { show: false }, values: spans },
      ],
      series: [
        {},
        { label: 'succeeded', fill: good, ...bar },
        { label: 'failed', fill: bad, ...bar },
        {
          ...{ label: 'longest wait', stroke: wait, scale: 'waits', width: 0 },
          points: { show: true, size: 7, fill: wait, stroke: line },
        },
      ],
      hooks: { drawClear: [(plot) => drawPhases(plot, { from, state })] },
    },
    [times, answered.map((count, index) => count + (failed[index] ?? 0)), failed, waited],
    place,
  )
}

const COLOURS = ['good', 'bad', 'warn', 'text-3', 'line']
const PHASES: Record<string, number> = { healthy: 0, degrading: 0.06, down: 0.12, recovering: 0.06 }

/** Bands behind the bars. */
function drawPhases(plot: uPlot, { from, state }: { from: number; state: ScenarioState | undefined }): void {
  const start = state?.started_at ? Date.parse(state.started_at) - from : undefined
  if (start === undefined) return
  const { ctx, bbox } = plot
  for (const { phase, from_ms, to_ms } of state?.phases ?? []) {
    const left = Math.max(bbox.left, plot.valToPos(start + from_ms, 'x', true))
    const end = to_ms === null ? bbox.left + bbox.width : plot.valToPos(start + to_ms, 'x', true)
    const right = Math.min(bbox.left + bbox.width, end)
    if (right <= left) continue
    ctx.fillStyle = `rgba(220, 60, 60, ${PHASES[phase] ?? 0})`
    ctx.fillRect(left, bbox.top, right - left, bbox.height)
  }
}
