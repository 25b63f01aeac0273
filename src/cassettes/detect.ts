// Finds what is redacted in a text: secrets by their form or name, and personal data with a fixed form.

import { namesIn, phoneNumbersIn } from '../guardrails/pii-detection.ts'
import { patternDetectors } from '../guardrails/pii-patterns.ts'
import { placeholdersIn } from '../lib/placeholders.ts'
import { type SecretFound, secretsIn, withoutSpans } from '../lib/secrets.ts'
import { isPlain } from './plain.ts'
import { presetSecretsIn } from './preset.ts'

/** What is redacted in a text, and by which rule. The end is exclusive. */
export interface Detected extends SecretFound {
  rule: string
}

/** Kinds of the personal data that is redacted. Addresses of machines are not. */
const PERSONAL: Readonly<Record<string, string>> = {
  'an IBAN': 'iban',
  'an e-mail address': 'email',
  'a credit card number': 'card-number',
  'a US social security number': 'ssn',
  'a UK national insurance number': 'national-id',
  'a Dutch citizen service number': 'national-id',
  'a German tax number': 'national-id',
  'a Polish identity number': 'national-id',
  'a Brazilian tax number': 'national-id',
  'a Spanish identity number': 'national-id',
  'an Italian tax code': 'national-id',
}

interface Search {
  rule: string
  /** Whether a text can contain any of it. */
  may(text: string): boolean
  find(text: string): readonly SecretFound[]
}

const NUMBER = /\d(?:\D{0,3}\d){6}/
const digits = (text: string) => NUMBER.test(text)

const SEARCHES: readonly Search[] = [
  { rule: 'known secrets', may: () => true, find: secretsIn },
  { rule: 'secretlint', may: () => true, find: presetSecretsIn },
  ...patternDetectors.flatMap(({ kind, find }): Search[] => {
    const name = PERSONAL[kind]
    if (name === undefined) return []
    return [
      {
        rule: 'personal data',
        may: name === 'email' ? (text) => text.includes('@') : digits,
        find: (text) => find(text, true).map(({ start, end }) => ({ start, end, kind: name })),
      },
    ]
  }),
  {
    rule: 'personal data',
    may: digits,
    find: (text) => phoneNumbersIn(text).map(({ start, end }) => ({ start, end, kind: 'phone' })),
  },
]

const NAMES: Search = {
  rule: 'personal names',
  may: () => true,
  find: (text) =>
    namesIn(text)
      .sort((one, other) => one.start - other.start)
      .map(({ start, end }) => ({ start, end, kind: 'person' })),
}

/** Shorter texts contain none of it. */
export const MIN_LENGTH = 6

/** What is redacted in a text, in order, without overlaps. Placeholders in it stay. It takes linear time. */
export function detect(text: string, options: { personalNames: boolean }): readonly Detected[] {
  const isSearched = text.length >= MIN_LENGTH && (options.personalNames || !isPlain(text))
  return isSearched ? detectAll(text, options) : NOTHING
}

const NOTHING: readonly Detected[] = []

/**
 * White space that is escaped, as in the source of a program or in a value that a program has printed, and colors of a terminal: their letters
 * are no part of the word behind them.
 */
const ESCAPED_SPACE = /(?<!\\)\\+[nrtbfv]|\p{Cc}\[[\d;]{0,20}m/gu

/** The same by all detectors, whatever the text is. */
export function detectAll(text: string, options: { personalNames: boolean }): readonly Detected[] {
  const taken = placeholdersIn(text)
  const spaced = text.replace(ESCAPED_SPACE, (found) => ' '.repeat(found.length))
  const found = foundIn(withoutSpans(spaced, taken), options)
  if (spaced === text) return inOrder(found)
  // In a path of Windows, the letter is part of the word.
  const rest = withoutSpans(text, inOrder([...taken, ...found]))
  return inOrder([...found, ...foundIn(rest, options)])
}

const inOrder = <Span extends { start: number }>(spans: readonly Span[]): Span[] =>
  spans.toSorted((one, other) => one.start - other.start)

function foundIn(text: string, { personalNames }: { personalNames: boolean }): Detected[] {
  const found: Detected[] = []
  let rest = text
  for (const { rule, may, find } of personalNames ? [...SEARCHES, NAMES] : SEARCHES) {
    if (!may(rest)) continue
    const spans = find(rest)
    if (spans.length === 0) continue
    let last = 0
    for (const span of spans) {
      if (span.start >= last && span.end > span.start && !rest.slice(span.start, span.end).includes('\0'))
        found.push({ ...span, rule })
      last = Math.max(last, span.end)
    }
    rest = withoutSpans(rest, spans)
  }
  return found
}
