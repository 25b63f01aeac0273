// Texts that several patterns accept at once, of a wanted length. Loads what reads patterns, so it is loaded when it is needed.
import { automatonOfAll } from './all-patterns.ts'
import { PatternTooLarge } from './automaton.ts'
import { SchemaError, TooLarge } from './prepare.ts'
import type { PatternOptions } from './types.ts'
import { type Sampler, samplerOf, TooMuchWork } from './walk.ts'

/** Texts that are made of one set of patterns for one place. */
const MOST_TEXTS = 40

const TIME = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{3})?(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9])'
/** What texts of formats look like, to be had together with a pattern. */
const FORMAT_PATTERNS: Record<string, string> = {
  date: '^20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])$',
  time: `^${TIME}$`,
  'date-time': `^20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T${TIME}$`,
  email: '^[a-z0-9]+(?:[._-][a-z0-9]+)*@[a-z0-9]+(?:-[a-z0-9]+)*(?:\\.[a-z]{2,})+$',
  hostname: '^[a-z0-9]+(?:[.-][a-z0-9]+)*$',
  uri: '^https?://[a-z0-9]+(?:[.-][a-z0-9]+)*(?:/[A-Za-z0-9._~-]*)*(?:\\?[A-Za-z0-9=&]*)?$',
  uuid: '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
  ipv6: '^[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){7}$|^[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,3}::[0-9a-f]{1,4}$',
  duration: '^P(?:[0-9]+Y)?(?:[0-9]+M)?[0-9]+D(?:T[0-9]+H)?$|^PT(?:[0-9]+H)?(?:[0-9]+M)?[0-9]+S$',
  ipv4: '^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\\.(?!$)|$)){4}$',
}

/**
 * A function that makes texts of patterns, short ones first, and remembers the automata that it needed. Some texts may not
 * match (see `automaton.ts`): each is to be tried.
 * @throws SchemaError (from that function) when no text can be made, or the patterns are too large.
 */
export function patternTexts(): (patterns: readonly string[], options: PatternOptions) => Generator<string> {
  const samplers = new Map<string, Sampler | PatternTooLarge>()
  const samplerFor = (patterns: readonly string[]): Sampler | PatternTooLarge => {
    const key = JSON.stringify(patterns)
    const known = samplers.get(key)
    if (known) return known
    const made = attempt(patterns)
    samplers.set(key, made)
    return made
  }
  return function* (patterns, options) {
    const format = FORMAT_PATTERNS[options.format ?? '']
    const both = format === undefined ? undefined : samplerFor([...patterns, format])
    if (both && !(both instanceof PatternTooLarge)) yield* texts(both, options)
    const sampler = samplerFor(patterns)
    if (sampler instanceof PatternTooLarge) {
      throw new TooLarge(`the pattern is too large: ${sampler.message}`, options.path)
    }
    let some = false
    try {
      for (const text of texts(sampler, options)) {
        some = true
        yield text
      }
    } catch (error) {
      if (!(error instanceof TooMuchWork)) throw error
      throw new TooLarge(
        'the pattern is too large: looking for a text takes more work than is done for one',
        options.path,
      )
    }
    if (!some) throw new SchemaError(`no text ${lengthWords(options)} matches ${quoted(patterns)}`, options.path)
  }
}

function attempt(patterns: readonly string[]): Sampler | PatternTooLarge {
  try {
    return samplerOf(automatonOfAll(patterns))
  } catch (error) {
    if (error instanceof PatternTooLarge) return error
    throw error
  }
}

function* texts(sampler: Sampler, { shortest, longest, turn, luck }: PatternOptions): Generator<string> {
  for (let round = 0; round < MOST_TEXTS; round++) {
    const room = round < 4 ? 2 : Math.min(2 ** (round >> 1), Math.max(8, shortest))
    const text = sampler.text({
      shortest,
      longest,
      room,
      luck: (purpose) => luck(`pattern ${turn} ${round} ${purpose}`),
    })
    if (text === undefined) return
    yield text
  }
}

const quoted = (patterns: readonly string[]) => patterns.map((pattern) => JSON.stringify(pattern)).join(' and ')

function lengthWords({ shortest, longest }: PatternOptions): string {
  if (Number.isFinite(longest)) return `of ${shortest} to ${longest} characters`
  return shortest > 0 ? `of at least ${shortest} characters` : 'at all'
}
