// Personal data in texts: by its form, and telephone numbers and names by the text around them. Findings name its kind
// and never quote it. Recognized data is removed before the next kind is searched, so that the digits of an IBAN are not
// also a telephone number.
import type { CountryCode } from 'libphonenumber-js/min'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import { withoutSpans } from '../lib/secrets.ts'
import type { BuiltIn } from './define.ts'
import { type Detector, LETTER, patternDetectors, plainGaps, type Span } from './pii-patterns.ts'

const phoneNumbers = lazy<typeof import('./phone-library.ts')>(() => require('./phone-library.ts'))

/** Countries whose numbers are recognized without a country code; those of the first one by their format. */
const COUNTRIES: readonly CountryCode[] = ['US', 'GB', 'NL', 'DE', 'FR']
const AMERICAN = /^(?:\(\d{3}\)|\(?\d{3}\)?[-. ])\d{3}[-. ]\d{4}$/
const AMERICAN_WITHIN = /\d{3}(?:\)[-. ]?|[-. ])\d{3}[-. ]\d{4}/
const PHONE_WORD =
  /(?<!\p{L})(?:phone|tel|telephone|telefoon\p{L}*|telefon\p{L}*|t[ée]l[ée]phone|call|dial|mobile?|mobiel|handy|cell|fax|whatsapp|sms|text me|bel|ring)(?:[^\p{L}\d+(]+(?:me|us|him|her|them|at|on|under|number|no|nummer|is|op|unter|my|our|the|mij|mich))*[^\p{L}\d]*$/iu
const BEFORE = 30
/** What may stand between two digits of a number. */
const BETWEEN = String.raw`[\-. \(\)\/]{0,3}`
/** Digits with few separators, as many as a number has; a longer run is a table. */
const CANDIDATE = new RegExp(
  String.raw`(?<![${LETTER}\d])[+\(]?\d(?:${BETWEEN}\d){6,16}(?![${LETTER}\d]|${BETWEEN}\d)`,
  'gv',
)
/** Numbers with a country code, or in North American format, although other digits stand beside them, such as a date. */
const BESIDE = new RegExp(
  String.raw`(?<![${LETTER}\d])\+\d(?:${BETWEEN}\d){6,14}(?!\d)|(?<![${LETTER}\d.\-])(?:\(\d{3}\) ?|\d{3}[\-.])\d{3}[\-.]\d{4}(?!\d|[\-.]\d)`,
  'gv',
)

/** The position of a number in a candidate. */
interface NumberFound {
  startsAt: number
  endsAt: number
}

/** Telephone numbers: with a country code, in North American format, or of some countries after a word like "call". */
export function phoneNumbersIn(written: string): Span[] {
  const text = plainGaps(written)
  const spans: Span[] = []
  // A list repeats the same number, and each takes a millisecond.
  const cached = new Map<string, readonly NumberFound[]>()
  const find = (candidate: string, index: number, isNamed: () => boolean): boolean => {
    const numbers = cached.get(candidate) ?? (cached.size < MAX_CHECKED ? numbersIn(candidate) : whole(candidate))
    cached.set(candidate, numbers)
    const found = numbers.find(({ startsAt, endsAt }) => {
      const number = candidate.slice(startsAt, endsAt)
      return number.startsWith('+') || AMERICAN.test(number) || isNamed()
    })
    if (found) spans.push({ start: index + found.startsAt, end: index + found.endsAt })
    return found !== undefined
  }
  for (const { 0: candidate, index } of text.matchAll(CANDIDATE)) {
    const isNamed = once(() => PHONE_WORD.test(text.slice(Math.max(0, index - BEFORE), index)))
    if (candidate.startsWith('+') || AMERICAN_WITHIN.test(candidate) || isNamed()) find(candidate, index, isNamed)
  }
  for (const { 0: run, index } of withoutSpans(text, spans).matchAll(BESIDE))
    beginnings(run).some((candidate) => find(candidate, index, () => false))
  return spans.sort((one, other) => one.start - other.start)
}

/** What may be a number with other digits behind it. The longest is the first. */
const beginnings = (run: string): string[] =>
  [...run.matchAll(/(?<=(?:\d\D*){7})(?!\d)/g)].map(({ index }) => run.slice(0, index)).reverse()

/** A number with its country code is the same for every country. */
const numbersIn = (candidate: string): readonly NumberFound[] =>
  (candidate.startsWith('+') ? COUNTRIES.slice(0, 1) : COUNTRIES).flatMap((country) =>
    phoneNumbers().findPhoneNumbersInText(candidate, country),
  )

/** A candidate that is not checked: a text with so many numbers is a list of them. */
const whole = (candidate: string): readonly NumberFound[] => [{ startsAt: 0, endsAt: candidate.length }]
const MAX_CHECKED = 50

const NAME_WORD = String.raw`(?:\p{Lu}['’])?\p{Lu}\p{Ll}+(?:['’-]\p{Lu}?\p{Ll}+)*`
const PARTICLES = "(?:(?:de|den|der|van|von|zu|la|le|di|da|dos|al|bin|ten|ter|mac|o’|o') ){0,3}"
const NEXT_WORD = String.raw`[ ](?:\p{Lu}\.[ ])?${PARTICLES}${NAME_WORD}`
const WHOLE = `${NAME_WORD}(?:${NEXT_WORD}){0,3}`
const FULL = `${NAME_WORD}(?:${NEXT_WORD}){1,3}`

/** Words before a name, in five languages; the first letter in either case. */
const INTRODUCED = `(?:[Mm]y name is|[Mm]y name's|[Tt]he name is|[Mm]ein Name ist|[Ii]ch hei(?:ß|ss)e|[Mm]ijn naam is|[Ii]k heet|[Jj]e m['’]appelle|[Mm]on nom est|[Mm]e llamo|[Mm]i nombre es)`
const TITLED = String.raw`(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Sir|Herr|Frau|Mevrouw|Monsieur|Madame|Señor|Señora)\.?`
const LABELLED = `(?:[Pp]atient|[Cc]ustomer|[Ee]mployee|[Cc]lient|[Nn]ame|[Ff]ull name|[Cc]ontact person)(?: name)?:`
const SIGNED = `(?:[Rr]egards|[Ss]incerely|[Cc]heers|[Ss]igned|Grüße|Groeten|[Cc]ordialement|[Ss]aludos),?`
const NAMES = [
  `(?:${INTRODUCED}|${TITLED})[ ]+${PARTICLES}${WHOLE}`,
  String.raw`(?:${LABELLED}|${SIGNED})\s+${FULL}`,
  // These need more context: people also describe themselves so.
  String.raw`(?:I am|I'm|I’m|[Ii]ch bin|[Ii]k ben|[Jj]e suis|[Ss]oy)[ ]${FULL}(?=[,.!;\n]|$| and | from | und | en | et | y )`,
].map((pattern) => new RegExp(String.raw`(?<!\p{L})${pattern}(?!\p{L})`, 'gu'))

/** Names of people in introductions, salutations, signatures and labels: a name alone is too ambiguous. */
export const namesIn = (text: string): Span[] =>
  NAMES.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ 0: found, index: start }) => ({ start, end: start + found.length })),
  )

const DETECTORS: readonly Detector[] = [
  ...patternDetectors,
  { kind: 'a telephone number', find: phoneNumbersIn },
  { kind: "a person's name", find: namesIn },
]

/** The text with a line break in place of each span; spans are in order. */
function without(text: string, spans: readonly Span[]): string {
  let end = 0
  const parts = spans.map((span) => {
    const before = text.slice(end, span.start)
    end = Math.max(end, span.end)
    return `${before}_`
  })
  return `${parts.join('')}${text.slice(end)}`
}

/** The built-in guardrail `svc_pii_detection`: names the kinds of personal data in texts, never their values. */
export const piiDetection: BuiltIn = {
  name: 'pii_detection',
  async check(texts) {
    const kinds = new Set<string>()
    for (const text of texts) {
      let rest = text
      for (const { kind, find } of DETECTORS) {
        const spans = find(rest)
        if (spans.length > 0) kinds.add(kind)
        rest = without(rest, spans)
      }
    }
    const found = DETECTORS.map(({ kind }) => kind).filter(
      (kind, index, all) => kinds.has(kind) && all.indexOf(kind) === index,
    )
    return found.length === 0 ? null : `it contains ${found.join(', ')}`
  },
}
