// Parses and formats durations and sizes as people write them in files and flags, and the words of messages.

const DURATION_UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const SIZE_UNITS: Record<string, number> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 }

const parse = (text: string, units: Record<string, number>, bare: string): number | undefined => {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim()) ?? []
  const factor = units[(unit || bare).toLowerCase()]
  return amount === undefined || factor === undefined ? undefined : Number(amount) * factor
}

/** Milliseconds of `300ms`, `2s`, `5m`, `1h`. A bare number is milliseconds. Undefined for anything else. */
export const parseDuration = (text: string | number): number | undefined => parse(String(text), DURATION_UNITS, 'ms')

/** Bytes of `512KiB`, `32MiB`, `1GB`. A bare number is bytes. Undefined for anything else. */
export const parseSize = (text: string | number): number | undefined => parse(String(text), SIZE_UNITS, 'b')

/**
 * Words of which one is meant.
 * @example
 * alternatives(['a', 'b', 'c']) // => 'a, b or c'
 */
export const alternatives = (words: readonly string[]): string => `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`

/** A duration for people: `300 ms`, `30 s`, `12.2 s`. */
export const durationText = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${Number((ms / 1_000).toFixed(1))} s`

/**
 * A number with its noun: `1 call`, `2 calls`.
 * @example
 * counted(1, 'call') // => '1 call'
 * counted(2, 'call') // => '2 calls'
 */
export const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

/**
 * A text that begins with a capital.
 * @example
 * capital('session not found') // => 'Session not found'
 */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
