// Recognizes texts in which no detector finds anything, in one pass. Most texts are such, and searching them with all detectors takes
// twenty times as long.
import { mayNameSecret } from '../lib/secrets.ts'

/** How keys and other secrets begin, as patterns that start with two characters. What may be escaped in JSON is left out. */
const STARTS: readonly string[] = [
  ...['sk[-_]', 'pk[-_]', 'rk[-_]', 'ak[-_]', 'ek[-_]', 'whsec[-_]', 'api[-_][\\w-]{16}', 'key[-_][\\w-]{16}', 'sess-'],
  ...['AKIA', 'ASIA', 'ABIA', 'ACCA', 'ABSK', 'bedrock-api-key-', 'gh[a-z]_', 'github_pat_', 'hf_', 'gsk_', 'fw_'],
  ...[
    'r8_',
    'tgp_v1_',
    'xai-',
    'pplx-',
    'nvapi-',
    'csk-',
    'tvly-',
    'fc-[0-9a-f]{32}',
    'e2b_',
    're_[A-Za-z0-9]{6}',
    'pcsk_',
    'lsv2_',
    'pa-[\\w-]{40}',
    'al-[\\w-]{40}',
  ],
  ...[
    'npm_',
    'ntn_',
    'secret_',
    'figd_',
    'sb[ps]_',
    'sb_',
    'shp',
    'ph[cx]_',
    'gl(?:sa|c)_',
    'do[opr]_v1_',
    'gl[a-z]+-',
  ],
  ...[
    'GR1348941',
    'xox',
    'xapp-',
    'pypi-',
    'GOCSPX-',
    'AIza',
    'AQ\\.Ab',
    'ya29\\.',
    'SG\\.',
    'hv[sbr]\\.',
    'dapi',
    'lin_',
  ],
  ...['dckr_', 'vc[a-z]_', 'cf[a-z]+_', 'tskey-', 'sntry[su]_', 'dp\\.[a-z]+\\.', 'AT[AC]TT3', 'pat\\w{14}\\.', 'pat-'],
  ...['NR[A-Z]{2}-', 'PMAK-', 'nfp_', 'pscale_', 'rubygems_', 'SK[0-9a-f]{32}', 'AC[0-9a-f]{32}', 'sq0', 'EAA[A-Z]'],
  ...['AGE-SECRET-KEY-1', 'ops_', 'eyJ', 'BEGIN', 'discord', 'webhook\\.office'],
  // Spanish identity numbers of foreigners.
  ...['X', 'Y', 'Z'].flatMap((letter) => [...'0123456789'].map((digit) => `${letter}${digit}\\d{6}`)),
]
/** White space, also in escapes, and as the bytes of UTF-8. */
const SPACE = '(?:\\s|\\\\[a-z]|[^\\x00-\\x7f]){1,12}'
/** Words behind which a secret may stand, in either case, and what must follow them. */
const WORDS: readonly (readonly [word: string, rest: string])[] = [
  ...['bearer', 'basic'].map((word) => [word, SPACE] as const),
  ['hooks', '\\.slack'],
  ...[
    ...['password', 'passphrase', 'passcode', 'passwort', 'wachtwoord', 'pin', 'pin code', 'secret', 'secret key'],
    ...['api key', 'access key', 'token'],
  ].map((word) => [word, `(?:[_-]?\\d{1,3})?${SPACE}(?:is|was)`] as const),
  ['password', `${SPACE}\\\\{0,8}["'\`]`],
  ['identified', `${SPACE}(?:by|with|via)`],
]

/** The number of two characters, regardless of their case. */
const pairOf = (first: number, second: number): number => ((lower[first] ?? 0) << 7) | (lower[second] ?? 0)
const [UPPER_A, UPPER_Z] = [65, 90]
const lower = Uint8Array.from({ length: 128 }, (_, code) => (code >= UPPER_A && code <= UPPER_Z ? code | 32 : code))
const pairIn = (text: string): number => pairOf(text.charCodeAt(0), text.charCodeAt(1))

/** The number of three characters by five bits of each: upper and lower case are the same, and few others. */
const tripleOf = (first: number, second: number, third: number): number =>
  ((first & 31) << 10) | ((second & 31) << 5) | (third & 31)
const tripleIn = (text: string): number => tripleOf(text.charCodeAt(0), text.charCodeAt(1), text.charCodeAt(2))

/** The keys by their first two characters. */
const keys = new Map<number, RegExp>()
for (const [pair, all] of Map.groupBy(STARTS, pairIn)) keys.set(pair, new RegExp(all.join('|'), 'y'))
/** The words by their first three characters. */
const words = new Map<number, { length: number; pattern: RegExp }[]>()
for (const [word, rest] of WORDS)
  words.getOrInsert(tripleIn(word), []).push({ length: word.length, pattern: new RegExp(word + rest, 'iy') })

/** Whether a key or word may begin with three characters. Most words that begin like one differ in the third. */
const isStart = new Uint8Array(1 << 15)
for (const triple of words.keys()) isStart[triple] = 1
for (const pattern of STARTS) {
  const [first, second, third] = [pattern.charCodeAt(0), pattern.charCodeAt(1), pattern.charCodeAt(2)]
  const isAny = !/^..[\w-](?![?*+{|])/.test(pattern)
  for (let code = 0; code < 32; code++) if (isAny || code === (third & 31)) isStart[tripleOf(first, second, code)] = 1
}

/** A table by character code, with 1 for the ASCII characters of which something is true. */
function tableOf(is: (character: string) => boolean): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => (is(String.fromCharCode(code)) ? 1 : 0))
}

/** The last two characters of names of secrets. */
const isNameEnd = new Uint8Array(1 << 14)
for (const end of [
  ...['rd', 'ds', 'ss', 'wd', 'se', 'es', 'de', 'rt', 'ts', 'ey', 'ys', 'id', 'et', 'al', 'ls', 'ng', 'gs', 'en', 'ns'],
  ...['on', 'ie', 'in', 'vv', 'v2', 'vc', 'c2', 'tp', 'sn', 'ty', 'er', 'th', 'wt'],
])
  isNameEnd[pairIn(end)] = 1

/** What characters are for the pass. All others separate words. */
const [SEPARATOR, LETTER, DIGIT, SEARCHED, ESCAPE] = [0, 1, 2, 3, 4]
const [COLON, HYPHEN, DOT, TAG, JSON_START, FOREIGN] = [5, 6, 7, 8, 9, 10]
const kinds = new Uint8Array(128)
for (const [characters, kind] of [
  ['abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ', LETTER],
  ['0123456789', DIGIT],
  // Addresses, parameters, percent-encoding, colors of a terminal: such texts are searched.
  ['@%=\u001b', SEARCHED],
  ['\\', ESCAPE],
  [':', COLON],
  ['-', HYPHEN],
  ['.', DOT],
  ['<', TAG],
  ['{[', JSON_START],
] as const)
  for (const character of characters) kinds[character.charCodeAt(0)] = kind

const BACKSLASH = 92

/**
 * Whether a text certainly contains nothing that `detect` finds, neither as it stands nor in any JSON inside it, however deep. It may be
 * the text of a body, or the bytes of one with a character each, but not events, which send a text in pieces.
 * @example
 * isPlain('{"messages":[{"role":"user","content":"Hi"}]}') // => true
 * isPlain('{"metadata":{"password":"x"}}') // => false
 */
export function isPlain(text: string): boolean {
  const { length } = text
  let before = SEPARATOR
  let escaped = -1
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at)
    const kind = code < 128 ? (kinds[code] ?? SEPARATOR) : FOREIGN
    // The letter of an escape may be part of a word instead, so that a word may begin with it, or behind it.
    const follows = at === escaped ? SEPARATOR : before
    before = kind
    if (kind === SEPARATOR) continue
    if (kind === LETTER) {
      if (follows !== LETTER && isSuspicious(text, at) && beginsSecret(text, at, follows !== DIGIT)) return false
      while (at + 1 < length && at + 1 !== escaped && isLetter(text.charCodeAt(at + 1))) at++
    } else if (kind === DIGIT) {
      if (follows !== DIGIT && mayBeNumber(text, at, follows)) return false
      while (at + 1 < length && at + 1 !== escaped && isDigit(text.charCodeAt(at + 1))) at++
    } else if (kind === ESCAPE) {
      if (!isUsualEscape(text, at)) return false
      escaped = at + 2
    } else if (mayFind(text, at, kind, follows)) return false
  }
  return true
}

/** Whether a digit begins a number that is found, or stands in a key: those of Azure have their mark in the middle. */
function mayBeNumber(text: string, at: number, follows: number): boolean {
  return follows === LETTER ? text[at] === '9' && text.startsWith('JQQJ9', at - 4) : beginsNumber(text, at)
}

/** Whether something may be found that a character begins, or that is recognized by it. */
function mayFind(text: string, at: number, kind: number, follows: number): boolean {
  switch (kind) {
    case SEARCHED:
      return true
    case COLON:
      return followsName(text, at)
    case HYPHEN:
      if ((text[at - 1] === 'k' || text[at + 1] === 'u') && isMatch(KEY_PART, text, at)) return true
      return follows !== LETTER && follows !== DIGIT && isMatch(FLAG, text, at)
    case DOT:
      return (text[at + 7] === '.' || text[at + 8] === '.') && isMatch(AFTER_DOT, text, at)
    case TAG:
      return text[at + 1] === '/' || text[at + 1] === '\\'
    case JSON_START:
      return followsJson(text, at)
    default:
      return foldsToAscii(text.charCodeAt(at), text.charCodeAt(at + 1))
  }
}

function isMatch(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}
/** Keys of OpenAI, of which other letters may stand in front, and the end of those of Mailchimp. */
const KEY_PART = /(?<=sk)-(?:proj|svcacct|admin|\w{20}T3Blbk)|-us\d/y
/** Parameters of commands. */
const FLAG = /--?(?:pass|token|secret|api-key|access-token|auth-token|u)/y
/** Tokens of Terraform and Discord, which begin with any letters. */
const AFTER_DOT = /\.(?:atlasv1\.|[\w-]{6}\.[\w-]{27})/y
/** The countries whose account numbers are found. Ids begin like those of others, too: one of a hundred would be searched for nothing. */
const IBAN_COUNTRIES =
  'AD AE AL AT AZ BA BE BG BH BR BY CH CR CY CZ DE DK DO DZ EE EG ES FI FO FR GB GE GI GL GR GT HR HU IE IL IQ IR IS IT JO KW KZ LB LC LI LT LU LV MA MC MD ME MK MR MT MU MZ NL NO PK PL PS PT QA RO RS SA SC SE SI SK SM SV TL TN TR UA VA VG XK'.split(
    ' ',
  )
/** Account numbers, and numbers of persons with letters in front. */
const IBAN = new RegExp(`(?:${IBAN_COUNTRIES.join('|')})\\d\\d`, 'iy')
const PERSONAL = /[A-Z]{2} ?\d\d|[A-Z]{6}\d\d/y

/** Whether to look at a word with `beginsSecret`: most words are ruled out by their first three characters. */
function isSuspicious(text: string, at: number): boolean {
  if (at + 2 >= text.length) return true
  const second = text.charCodeAt(at + 1)
  const third = text.charCodeAt(at + 2)
  return isStart[tripleOf(text.charCodeAt(at), second, third)] !== 0 || second <= UPPER_Z || isDigit(third)
}

function beginsSecret(text: string, at: number, mayBePersonal: boolean): boolean {
  const first = text.charCodeAt(at)
  const second = text.charCodeAt(at + 1)
  if (!(second < 128)) return false
  const third = text.charCodeAt(at + 2)
  const triple = tripleOf(first, second, third)
  if (isStart[triple] !== 0) {
    const key = keys.get(pairOf(first, second))
    if (key && isMatch(key, text, at)) return true
    for (const { length, pattern } of words.get(triple) ?? [])
      if (!isLetter(text.charCodeAt(at + length)) && isMatch(pattern, text, at)) return true
  }
  if (!mayBePersonal) return false
  if (isDigit(third) && isMatch(IBAN, text, at)) return true
  return first <= UPPER_Z && second <= UPPER_Z && isMatch(PERSONAL, text, at)
}
const isDigit = (code: number): boolean => code >= 48 && code <= 57
const isLetter = (code: number): boolean => (code | 32) >= 97 && (code | 32) <= 122

/** Digits of the shortest number that is found, and what may stand between two of them. */
const MIN_DIGITS = 7
const MAX_GAP = 4
const isInNumber = new Uint8Array(0x2213)
for (const character of '-. ()/\\') isInNumber[character.charCodeAt(0)] = 1
/** Other spaces and hyphens between the groups of a number, and the bytes of UTF-8 that they consist of. */
const FOREIGN_GAPS = '\u00a0\u2009\u202f\u2010\u2011\u2012\u2013\u2014\u2015\u2212'
for (const text of [FOREIGN_GAPS, Buffer.from(FOREIGN_GAPS).toString('latin1')])
  for (let at = 0; at < text.length; at++) isInNumber[text.charCodeAt(at)] = 1
/** The times of responses, which are not telephone numbers. */
const CREATED = /(?<="created(?:_at)?": ?)\d{10}(?=[,}])/y

function beginsNumber(text: string, start: number): boolean {
  let digits = 0
  let gap = 0
  for (let at = start; at < text.length && digits < MIN_DIGITS && gap < MAX_GAP; at++) {
    const code = text.charCodeAt(at)
    if (isDigit(code)) {
      digits++
      gap = 0
    } else if (isInNumber[code] === 1) gap += isFurtherByte(code) ? 0 : 1
    else break
  }
  return digits >= MIN_DIGITS && !isMatch(CREATED, text, start)
}

/** Whether a code is that of a byte of UTF-8 behind the first one of a character. */
const isFurtherByte = (code: number): boolean => code >= 0x80 && code <= 0xbf

/** Whether backslashes escape a quotation mark, a slash or white space, so that words around stay what they are. */
function isUsualEscape(text: string, at: number): boolean {
  const next = text[at + 1] ?? ''
  if (next === '\\') return true
  const isFirst = text.charCodeAt(at - 1) !== BACKSLASH
  return next === '"' || next === '/' || (isFirst && next !== '' && 'nrtbf'.includes(next))
}

/** The position of the last character that is no white space, quotation mark or asterisk, escaped or not. */
function skipSpace(text: string, end: number): number {
  let at = end
  while (at > 0 && (isSkipped[text.charCodeAt(at)] !== 0 || text.charCodeAt(at - 1) === BACKSLASH)) at--
  return at
}
const isSkipped = tableOf((character) => character <= ' ' || '\\"\'`*'.includes(character))

const MAX_NAME = 80
/** Letters, digits, `_`, and what separates words. */
const isInName = tableOf((character) => character <= ' ' || /[\w.-]/.test(character))
const SECRET_ACCESS_KEY = /secret_?access_?key$/i

const endsName = (text: string, last: number): boolean =>
  last > 0 && isNameEnd[pairOf(text.charCodeAt(last - 1), text.charCodeAt(last))] === 1

/** The position before the number at the end of a name, as in `password_2`. */
function skipNumber(text: string, last: number): number {
  let at = last
  while (last - at < MAX_NAME_DIGITS && isDigit(text.charCodeAt(at))) at--
  return at < last && '_-'.includes(text.charAt(at)) ? at - 1 : at
}
const MAX_NAME_DIGITS = 3

/** Whether a colon follows a name that may be that of a secret. */
function followsName(text: string, colon: number): boolean {
  const last = skipSpace(text, colon - 1)
  const end = isDigit(text.charCodeAt(last)) && !endsName(text, last) ? skipNumber(text, last) : last
  if (!endsName(text, end)) return false
  let start = last
  while (start > 0 && last - start < MAX_NAME && isInName[text.charCodeAt(start - 1)] === 1) start--
  // White space that is escaped is part of a name, too.
  const outside = text.charCodeAt(start - 1)
  if (outside === BACKSLASH || outside >= 128) return true
  const place = placeOf(text, start, last)
  const cached = names[place]
  if (cached?.name.length === last + 1 - start && text.startsWith(cached.name, start)) return cached.may
  const name = text.slice(start, last + 1)
  const may = mayBeName(name)
  names[place] = { name, may }
  return may
}

/** Names by their length and three of their characters: bodies repeat few names. */
const MAX_NAMES = 512
const placeOf = (text: string, start: number, last: number): number =>
  ((last - start) * 31 +
    text.charCodeAt(start) * 7 +
    text.charCodeAt((start + last) >> 1) * 5 +
    text.charCodeAt(last) * 3) &
  (MAX_NAMES - 1)
const names = new Array<{ name: string; may: boolean } | undefined>(MAX_NAMES).fill(undefined)

/** Whether a name, or its last word, may be that of a secret. Lists of tokens are one text in pieces. */
function mayBeName(name: string): boolean {
  const word = name.slice(name.search(/[\w-]+$/))
  return name === 'tokens' || mayNameSecret(name) || mayNameSecret(word) || SECRET_ACCESS_KEY.test(name)
}

/** Whether another JSON value ends before one begins: lines of JSON may send a text in pieces. */
function followsJson(text: string, start: number): boolean {
  if (start === 0) return false
  const last = text[skipSpace(text, start - 1)]
  return last === '}' || last === ']'
}

/** Whether a character, or the first two bytes of one, is a letter for patterns: U+017F is an `s`, and U+212A a `k`. */
const foldsToAscii = (code: number, next: number): boolean =>
  code === 0x17f || code === 0x212a || (code === 0xc5 && next === 0xbf) || (code === 0xe2 && next === 0x84)
