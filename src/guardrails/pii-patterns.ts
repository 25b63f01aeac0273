// Personal data with a fixed form: addresses and numbers, each with its own check if there is one. An ambiguous number
// counts only near a word that identifies it.
import { lazy } from '../lib/lazy.ts'

/** A range of a text; the end is exclusive. */
export interface Span {
  start: number
  end: number
}

/** Finds one kind of personal data. */
export interface Detector {
  /** Its name, with an article. */
  readonly kind: string
  /** With `byForm`, a form that nothing else has is enough: checking each of many takes long. */
  find(text: string, byForm?: boolean): Span[]
}

/** Letters, for patterns with the flag `v`; none of scripts without spaces between words, where a number stands between them. */
export const LETTER = String.raw`[\p{L}--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}]]`

type Validator = typeof import('validator').default
const load = lazy<typeof import('validator')>(() => require('validator'))

interface Pattern {
  kind: string
  /** Finds it, or a place before which it stands as the first group: what is found then may overlap. */
  pattern: RegExp
  /** Whether nothing else has the form. */
  isUnmistakable?: boolean
  /** Must occur shortly before or after it. */
  near?: RegExp
  /** Must not occur directly before it. */
  notAfter?: RegExp
  valid?(found: string, validator: Validator): boolean
}

/** Spaces and hyphens between the groups of a number, also as word processors and web pages write them. */
const GAP = String.raw`[ \u00a0\u2009\u202f\-\u2010-\u2015\u2212]`
const HYPHEN = String.raw`[\-\u2010-\u2015\u2212]`
/** The text with plain spaces and hyphens in place of the others. Everything stays where it is. */
export const plainGaps = (text: string): string =>
  text.replace(/[\u00a0\u2009\u202f]/g, ' ').replace(/[\u2010-\u2015\u2212]/g, '-')
const bare = (text: string) => text.replace(/[ .-]/g, '')
const taxId = (locale: string) => (found: string, validator: Validator) => validator.isTaxID(bare(found), locale)
const SSN = 'a US social security number'
const ssn = (found: string) => /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(found.replace(/\D/g, ''))
const NOBODYS_ADDRESS = /^(?:0\.0\.0\.0|127\.|255\.255\.255\.255|::1?$)/

const PATTERNS: readonly Pattern[] = [
  {
    kind: 'an e-mail address',
    // `git@host:path` is a location, and so is `scheme://user@host`; `react@18.2.0` is a version.
    pattern:
      /(?<![\p{L}\p{N}._%+/-]|[\p{L}\p{N}._%+/-]')[\p{L}\p{N}_%+][\p{L}\p{N}._%+'-]*@(?:[\p{L}\p{N}-]+\.)+\p{L}[\p{L}\p{N}-]+(?![\p{L}\p{N}-]|:\w)/gu,
    isUnmistakable: true,
    valid: (found, validator) => validator.isEmail(found, { allow_utf8_local_part: true }),
  },
  {
    kind: 'a credit card number',
    pattern: /(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)/g,
    valid: (found, validator) => validator.isCreditCard(found),
  },
  {
    // Beside other numbers, such as the date and the code of the card: in the groups that cards have.
    kind: 'a credit card number',
    pattern: new RegExp(
      String.raw`(?<![\w.-])(?=(\d{13,19}|\d{4}(?:${GAP}\d{4}){3}|\d{4}${GAP}\d{6}${GAP}\d{4,5})(?!\w|\.\d))`,
      'g',
    ),
    valid: (found, validator) => validator.isCreditCard(found.replace(/\D/g, '')),
  },
  {
    kind: 'an IP address',
    pattern: /(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)/g,
    notAfter: /(?:\bv|version|release|build)[ :]*$/i,
    valid: (found, validator) => validator.isIP(found, 4) && !NOBODYS_ADDRESS.test(found),
  },
  {
    kind: 'an IP address',
    pattern: /(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])/gi,
    // `a::b` is more often a name in a program.
    valid: (found, validator) =>
      validator.isIP(found, 6) && found.split(/:+/).filter((group) => group !== '').length > 2,
  },
  {
    kind: SSN,
    pattern: new RegExp(String.raw`(?<![\w-])\d{3}${HYPHEN}\d{2}${HYPHEN}\d{4}(?![\w-])`, 'g'),
    valid: ssn,
  },
  {
    kind: SSN,
    pattern: new RegExp(String.raw`(?<![\w-])\d{3}${GAP}?\d{2}${GAP}?\d{4}(?![\w-])`, 'g'),
    near: /\b(?:ssn|social security)\b/i,
    valid: ssn,
  },
  {
    kind: 'a UK national insurance number',
    pattern: /(?<!\w)(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?!\w)/g,
  },
  {
    kind: 'a Dutch citizen service number',
    pattern: /(?<![\w.])\d(?:[. ]?\d){8}(?!\w)/g,
    near: /\b(?:bsn|burgerservicenummer|sofi-?nummer|citizen service number)\b/i,
    valid: taxId('nl-NL'),
  },
  {
    kind: 'a German tax number',
    pattern: /(?<![\w.])\d(?: ?\d){10}(?!\w)/g,
    near: /\b(?:steuer-?id|steuer-?identifikationsnummer|idnr|german tax)\b/i,
    valid: taxId('de-DE'),
  },
  {
    kind: 'a Polish identity number',
    pattern: /(?<!\w)\d{11}(?!\w)/g,
    near: /\bpesel\b/i,
    valid: taxId('pl-PL'),
  },
  {
    kind: 'a Brazilian tax number',
    pattern: /(?<!\w)\d{3}\.\d{3}\.\d{3}-\d{2}(?!\w)/g,
    valid: (found, validator) => validator.isTaxID(found, 'pt-BR'),
  },
  {
    kind: 'a Spanish identity number',
    pattern: /(?<!\w)(?:\d{8}|[XYZ]\d{7})-?[A-Z](?!\w)/g,
    valid: (found, validator) => validator.isIdentityCard(bare(found), 'ES'),
  },
  {
    kind: 'an Italian tax code',
    pattern: /(?<!\w)[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z](?!\w)/g,
    valid: taxId('it-IT'),
  },
]

/** Maximum distance of the identifying word, in characters. */
const BEFORE = 40
const BEHIND = 20

const detectorOf = ({ kind, pattern, near, notAfter, valid, isUnmistakable }: Pattern): Detector => ({
  kind,
  find(text, byForm = false) {
    const found = [...text.matchAll(pattern)].map(({ 0: whole, 1: match = whole, index: start }) => ({
      match,
      start,
      end: start + match.length,
    }))
    if (found.length === 0 || (byForm && isUnmistakable)) return found
    const validator: Validator = load()
    return found.filter(({ match, start, end }) => {
      const before = text.slice(Math.max(0, start - BEFORE), start)
      if (near && !near.test(before) && !near.test(text.slice(end, end + BEHIND))) return false
      return !notAfter?.test(before) && (valid?.(match, validator) ?? true)
    })
  },
})

const IBAN_BEGIN = new RegExp(String.raw`(?<![${LETTER}\p{N}])[a-z]{2}\d{2}(?=${GAP}?[a-z0-9])`, 'giv')
const IBAN_GROUP = new RegExp(`([a-z0-9]+)${GAP}?`, 'giy')
/** Length of the longest IBAN, with a space after each character. */
const MAX_IBAN_LENGTH = 2 * 34

/**
 * IBANs, with or without groups: groups are added until the length for that country is reached and the check digits are
 * right.
 */
function ibansIn(text: string): Span[] {
  const spans: Span[] = []
  for (const { 0: begin, index: start } of text.matchAll(IBAN_BEGIN)) {
    const validator: Validator = load()
    if (!validator.ibanLocales.includes(begin.slice(0, 2).toUpperCase() as IbanCountry)) continue
    let number = ''
    for (const { 1: group = '', index } of text.slice(start, start + MAX_IBAN_LENGTH).matchAll(IBAN_GROUP)) {
      number += group
      if (number.length > MAX_IBAN_LENGTH / 2) break
      if (hasCheckDigits(number) && validator.isIBAN(number.toUpperCase()))
        spans.push({ start, end: start + index + group.length })
    }
  }
  return spans
}
type IbanCountry = Validator['ibanLocales'][number]

/** Whether the check digits of an IBAN are right (ISO 7064, mod 97-10). Checking its form takes ten times as long. */
function hasCheckDigits(number: string): boolean {
  if (number.length < MIN_IBAN_LENGTH) return false
  let rest = 0
  for (let index = 0; index < number.length; index++) {
    // The first four characters count last. Letters are 10 to 35.
    const code = number.charCodeAt((index + 4) % number.length)
    rest = (code < LETTERS ? rest * 10 + code - ZERO : rest * 100 + (code & 31) + 9) % 97
  }
  return rest === 1
}
const ZERO = 48
const LETTERS = 64
const MIN_IBAN_LENGTH = 15

/** The patterns, in the order in which they are searched. */
export const patternDetectors: readonly Detector[] = [{ kind: 'an IBAN', find: ibansIn }, ...PATTERNS.map(detectorOf)]
