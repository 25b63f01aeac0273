// The time axis of a waterfall. Long waits are folded.
import type { Waterfall } from '../../../contract/core/waterfall.ts'
import { sumOf } from '../../../lib/values.ts'

/** The scale of a timeline. */
export type Axis = ReturnType<typeof axisOf>

/** Minimum duration of a folded wait in ms, and its minimum share of the whole. */
const [MIN_FOLD_MS, MIN_PART] = [400, 0.3]
/** Width of a fold, as a share of the whole. */
const FOLD_PART = 0.07
const MAX_TICKS = 5

interface Stretch {
  from: number
  to: number
  folded: boolean
}

/** The axis of a waterfall. */
export function axisOf({ rows, from, to }: Pick<Waterfall, 'rows' | 'from' | 'to'>) {
  const end = Math.max(to, from + 1)
  const busy = rows
    .flatMap(({ span, lane }) => (span && lane !== 'client' ? [span] : []))
    .concat(rows.flatMap(({ span, lane, trace }) => (span && lane === 'client' && trace !== null ? [span] : [])))
    .toSorted((one, other) => one.from - other.from)
  const stretches = stretchesOf(busy, from, end)
  const open = stretches.filter(({ folded }) => !folded)
  const folds = stretches.length - open.length
  const foldWidth = folds === 0 ? 0 : Math.min(FOLD_PART, 0.5 / folds) * 100
  const scale = (100 - folds * foldWidth) / Math.max(1, lengthOf(open))
  const drawn: (Stretch & { x: number; width: number })[] = []
  let x = 0
  for (const stretch of stretches) {
    const width = stretch.folded ? foldWidth : (stretch.to - stretch.from) * scale
    drawn.push({ ...stretch, x, width })
    x += width
  }
  /** A time in ms as percent of the width. */
  const at = (ms: number): number => {
    const one = drawn.find((stretch) => ms <= stretch.to) ?? drawn.at(-1)
    if (!one) return 0
    const part = (ms - one.from) / Math.max(1, one.to - one.from)
    return Math.max(0, Math.min(100, one.x + Math.min(1, part) * one.width))
  }
  return {
    at,
    /** Waits that are drawn shorter than they were: their time in ms, and their place in percent of the width. */
    folds: drawn.filter(({ folded }) => folded).map(({ from, to, x, width }) => ({ from, to, x, width })),
    ticks: ticksOf(open, from, end).map((ms) => ({ ms, x: at(ms) })),
  }
}

/** The whole time, split into busy spans and long waits. */
function stretchesOf(busy: readonly { from: number; to: number }[], from: number, to: number): Stretch[] {
  const gaps: { from: number; to: number }[] = []
  let reached = from
  for (const span of busy) {
    if (span.from > reached) gaps.push({ from: reached, to: span.from })
    reached = Math.max(reached, span.to)
  }
  // If everything is waiting, folding gains nothing.
  if (to - from - lengthOf(gaps) < 1) return [{ from, to, folded: false }]
  const long = gaps.filter((gap) => gap.to - gap.from >= Math.max(MIN_FOLD_MS, (to - from) * MIN_PART))
  const stretches: Stretch[] = []
  let at = from
  for (const gap of long) {
    if (gap.from > at) stretches.push({ from: at, to: gap.from, folded: false })
    stretches.push({ ...gap, folded: true })
    at = gap.to
  }
  if (to > at) stretches.push({ from: at, to, folded: false })
  return stretches
}

/** Round times in ms: 1, 2 and 5 times each power of ten, and clock units from a minute on. */
export const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000],
  ...[1, 2, 5, 10, 20, 30, 60, 120, 360, 720, 1_440].map((minutes) => minutes * 60_000),
]

const lengthOf = (spans: readonly Pick<Stretch, 'from' | 'to'>[]) => sumOf(spans, ({ from, to }) => to - from)

/** Round times outside of folds. */
function ticksOf(open: readonly Stretch[], from: number, to: number): number[] {
  const length = lengthOf(open)
  const step = STEPS.find((one) => one >= length / MAX_TICKS) ?? length
  const ticks: number[] = []
  for (let ms = Math.ceil(from / step) * step; ms <= to && ticks.length < 200; ms += step) ticks.push(ms)
  return ticks.filter((ms) => open.some((one) => ms >= one.from && ms <= one.to)).slice(0, MAX_TICKS * 4)
}
