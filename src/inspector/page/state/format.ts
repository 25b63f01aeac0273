// Numbers and times as text.

/**
 * A duration; negative for a time before.
 * @example
 * spanText(0.4) // => '0.4 ms'
 * spanText(1_500) // => '1.5 s'
 */
export function spanText(ms: number): string {
  if (ms < 0) return `-${spanText(-ms)}`
  if (ms < 1) return ms === 0 ? '0 ms' : `${ms.toFixed(1)} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(ms < 10_000 ? 2 : 1))} s`
  if (ms < 3_600_000) return `${Number((ms / 60_000).toFixed(1))} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}

/** A round time at an axis, to the second unless it is a whole number of minutes. */
export function tickText(ms: number): string {
  if (ms < 60_000 || ms >= 3_600_000 || ms % 60_000 === 0) return spanText(ms)
  return `${Math.floor(ms / 60_000)}:${String(Math.round((ms % 60_000) / 1_000)).padStart(2, '0')} min`
}

/** The time of day, with milliseconds. */
export const clockText = (ms: number): string => {
  const at = new Date(ms)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
  return `${day}.${String(at.getMilliseconds()).padStart(3, '0')}`
}

/** Day and time of day. */
export const instantText = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').replace('Z', ' UTC')

/**
 * A number with thousands separators. By hand, since the first use of the browser's locales takes longer than rendering
 * the whole list.
 */
export const countText = (value: number): string => {
  const [whole = '', part] = String(value).split('.')
  const separated = whole.replace(/\B(?=(?:\d{3})+$)/g, ',')
  return part === undefined ? separated : `${separated}.${part}`
}

/** A cost in USD, to three digits. */
export const costText = (value: number): string =>
  `$${value.toLocaleString('en', { maximumSignificantDigits: 3, useGrouping: false })}`

/**
 * A number and its noun.
 * @example
 * countedText(1, 'call') // => '1 call'
 * countedText(2, 'call') // => '2 calls'
 */
export const countedText = (count: number, noun: string): string =>
  `${countText(count)} ${noun}${count === 1 ? '' : 's'}`
