// Generates numbers for a schema: small and round where the limits allow it.
import type { Keywords } from './prepare.ts'

/** Multiples of a step between two limits. */
interface NumberRange {
  low: number
  high: number
  /** Distance of neighbors; undefined if any fraction is valid. */
  step: number | undefined
}

const decimalsOf = (value: number): number => {
  const [digits = '', exponent = '0'] = String(value).split('e')
  return Math.max(0, (digits.split('.')[1]?.length ?? 0) - Number(exponent))
}
const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))

/** The smallest step that is a multiple of all `steps`. */
function commonStep(steps: number[]): number | undefined {
  if (steps.length === 0) return undefined
  const scale = 10 ** Math.max(...steps.map(decimalsOf))
  const whole = steps.map((step) => Math.round(step * scale))
  return whole.reduce((a, b) => (a / divisor(a, b)) * b) / scale
}

/** The range that all parts allow. */
export function rangeOf(parts: Keywords[], whole: boolean): NumberRange {
  const all = (name: 'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum' | 'multipleOf') =>
    parts.flatMap((part) => part[name] ?? [])
  return {
    low: Math.max(...all('minimum'), ...all('exclusiveMinimum'), Number.NEGATIVE_INFINITY),
    high: Math.min(...all('maximum'), ...all('exclusiveMaximum'), Number.POSITIVE_INFINITY),
    step: commonStep(whole ? [1, ...all('multipleOf')] : all('multipleOf')),
  }
}

/** A step small enough to find numbers inside a range, a half if there is room. */
function roundStep({ low, high }: NumberRange): number {
  const room = high - low
  return room >= 4 ? 0.5 : room > 0 ? 10 ** Math.floor(Math.log10(room) - 1) : 1
}

/** The start of likely numbers: people count from 1, if the range allows it. */
function likelyLow({ low, high }: NumberRange, step: number): number {
  if (low < 1 && high >= 10) return 1
  return low === Number.NEGATIVE_INFINITY && high >= step ? Math.max(step, Math.min(1, high)) : low
}

/** A number in steps; rounding errors of binary fractions are removed. */
function turnsOf(value: number, step: number): number {
  const turns = value / step
  return Number.isInteger(turns) ? turns : Number(turns.toPrecision(15))
}

/**
 * Numbers of a range, some at a limit, which an exclusive limit forbids. `random` in [0, 1) selects among the small ones;
 * each `turn` gives different numbers.
 */
export function* numbersIn(range: NumberRange, random: number, turn: number): Generator<number> {
  const step = range.step ?? roundStep(range)
  const decimals = Math.min(decimalsOf(step), 20)
  const at = (index: number) => Number((index * step).toFixed(decimals))
  const first = Math.ceil(turnsOf(likelyLow(range, step), step))
  const last = Math.floor(turnsOf(range.high, step))
  const likely: number[] = []
  if (Number.isFinite(first)) {
    const room = Number.isFinite(last) ? Math.max(0, last - first + 1) : Number.POSITIVE_INFINITY
    const start = Math.floor(random * Math.min(room, 10)) + turn
    for (let more = 0; more < Math.min(room, 25); more++) likely.push(at(first + ((start + more) % room)))
    if (room > 25) likely.push(at(last), at(Math.ceil(range.low / step)))
  } else if (Number.isFinite(last)) {
    for (let more = 0; more < 25; more++) likely.push(at(last - Math.floor(random * 10) - turn - more))
  }
  // Some validators divide without tolerance for binary fractions.
  const clean = likely.filter((value) => Number.isInteger(value / step))
  yield* [...clean, ...likely].filter(Number.isFinite)
  if (range.step !== undefined) return
  const { low, high } = range
  yield* [low, high, (low + high) / 2, low * 1.5, low / 2, high / 2].filter(Number.isFinite)
}
