// A text that is taken for plain is not searched: no detector may find anything in it.
import { describe, expect } from 'bun:test'
import fc from 'fast-check'
import validator from 'validator'
import { detectAll } from '../../src/cassettes/detect.ts'
import { isPlain } from '../../src/cassettes/plain.ts'
import { gatherTexts } from '../../src/cassettes/plain-stream.ts'
import { createRedactor } from '../../src/cassettes/redact.ts'
import { KEY_FORMS, NAMES_OF_SECRETS } from '../../src/lib/secrets.ts'
import { character } from '../support/arbitrary.ts'
import { PLANTED } from '../support/planted-secrets.ts'
import { property, runs, test } from '../support/property.ts'

const detected = (text: string) => detectAll(text, { personalNames: false })

/** Personal data, and secrets that are recognized by the words around them. */
const OTHERS = [
  ...['jo@example.org', '4111 1111 1111 1111', '4111111111111111', 'NL91 ABNA 0417 1643 00', 'gb82west12345698765432'],
  ...['123-45-6789', 'ssn 123 45 6789', 'AB 12 34 56 C 7', 'bsn 111222333', 'pesel 44051401359', '390.533.447-05'],
  ...['X1234567L', '12345678Z', 'RSSMRA85T10A562S', '+31 20 123 4567', '(212) 555-0123', 'call me at 020 123 4567'],
  ...['Bearer abc123def456', 'Basic dXNlcjpwYXNzd29yZA==', 'Authorization: Token abcdef123', 'Set-Cookie: a=b; c=d'],
  ...['https://user:hunter2x@example.org/', 'https://abcdefghijklmnop1234@example.org', 'mongodb://a:hunter2x@b/c'],
  ...[
    'password: hunter22',
    'the PASSWORD is hunter22',
    'api key is now abc123def',
    'pin code was 1234',
    'db-password : "x y z"',
  ],
  ...['my public key: ab12cd34ef56gh78', 'secretAccessKey: x1', `mysecretaccesskey: ${'a1B2'.repeat(10)}`],
  ...[
    '--password hunter22',
    '-u admin:hunter22',
    '--api-key abc123def',
    '<password>hunter22</password>',
    'token => a1b2c3d4e5f6g7h8',
  ],
  ...[
    'connectionString: Server1',
    'identified by "x1"'.toUpperCase(),
    "create user a\u00a0identified\u00a0by 'abc1'",
    "ALTER USER a IDENTIFIED WITH 'p' AS 'abc1'",
    "create role a with login password 'abc1'",
    "WITH PASSWORD\u00a0'abc1'",
    "alter user a identified by 'b' replace 'abc1'",
    '--password2 hunter22',
    'password2 is hunter22',
    'api key-1 was hunter22',
    '+31\u2009\u2009\u200920\u2009\u2009\u2009624\u2009\u2009\u20091111',
    'call 020\u00a07946\u00a00958',
    'NL91\u2009ABNA\u20090417\u20091643\u200900',
    'ssn 123\u202f45\u202f6789',
    '123\u201145\u20116789',
    'api-key-1: abc1',
    'password_12 : "x y z"',
    'apiKey345=abc1',
    'client-secret: abc1',
    'xsk-proj-'.concat('a1'.repeat(37), 'T3BlbkFJ', 'b2'.repeat(37)),
  ],
  ...[
    `https://discord.com/api/webhooks/${'1a'.repeat(12)}`,
    `${'ab'.repeat(16)}-us12`,
    `${'ab'.repeat(7)}.atlasv1.${'xy'.repeat(12)}`,
  ],
  ...[`M${'ab'.repeat(12)}.abcdef.${'ab'.repeat(14)}`],
]
const SECRETS = [...Object.values(PLANTED), ...OTHERS]

const json = (value: unknown) => JSON.stringify(value)
/** How a text stands in a body. */
const PLACES: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `a ${text} b`,
  (text) => `é${text}é`,
  (text) => `\n\t${text}\n`,
  (text) => json({ note: text }),
  (text) => json({ [text]: 1 }),
  (text) => json([[{ a: [`x\n${text}\ny`] }]]),
  (text) => json({ a: json({ b: `x "${text}"`, c: json([text]) }) }),
  (text) => json({ a: `C:\\new\\${text}` }),
  (text) => json({ a: text }).replaceAll('/', '\\/'),
  (text) => json({ a: text }).replace(/[a-z]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`),
  (text) => `see /x?a=1&q=${encodeURIComponent(text)}#y`,
  (text) => `q=${encodeURIComponent(text)}&a=b`,
]

/** What is redacted in a body by all detectors: where names are redacted, none takes the shortcut. */
const isRedacted = (body: string) => {
  const redactor = createRedactor({ paths: ['no.such.field'], personalNames: true, keys: [] })
  return redactor.text(body) !== body
}

/** Words and marks that patterns look for, and parts of secrets. */
const MARKS = [
  ...[
    'password',
    'Password',
    'api',
    'key',
    'token',
    'tokens',
    'secret',
    'connection',
    'string',
    'pin',
    'code',
    'auth',
    'cookie',
    'identified',
    'by',
    'with',
    'create user',
    'password2',
    'key_1',
    'replace',
    'login',
    'WITH PASSWORD ',
    '--password',
    'NL91\u2009ABNA',
  ],
  ...[
    'is',
    'was',
    'sk',
    'sk-',
    'gh',
    'ghp_',
    'SK',
    'eyJ',
    'Bearer',
    'Basic',
    'BEGIN',
    '-----',
    'PRIVATE KEY',
    '--',
    '-u',
    '</',
    '<',
  ],
  ...[
    ':',
    ' : ',
    '=',
    '=>',
    ' ',
    '\n',
    '\t',
    '\u00a0',
    '\u2009',
    '\u202f',
    '\u2013',
    '\u2212',
    '"',
    "'",
    '\\',
    '\\n',
    '\\"',
    '/',
    '//',
    '.',
    '-',
    '_',
    '@',
    '%41',
    '+',
    '&',
    '?',
  ],
  ...[
    '1',
    '12',
    '1234',
    '1234567',
    '4111',
    '1111',
    'a1b2c3d4',
    'abcdef',
    'AB',
    'ABCDEF',
    'NL91',
    'é',
    '\u017f',
    '\u212a',
    '{',
    '}',
    '[',
    ']',
    ',',
  ],
  ...['"created":1764136000', '"password":', '"key":"', '"tokens":[', 'call', 'ssn', 'bsn'],
]
const part = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...MARKS) },
  { weight: 1, arbitrary: fc.constantFrom(...SECRETS) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...SECRETS).chain((text) => fc.nat(text.length).map((end) => text.slice(0, end))),
  },
  { weight: 2, arbitrary: fc.string({ unit: character, maxLength: 8 }) },
)
const anyText = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''))
const anyBody = fc.tuple(anyText, fc.constantFrom(...PLACES)).map(([text, place]) => place(text))

/** Events of several APIs that send a text, or several in turns, in pieces. */
const EVENTS: readonly ((piece: string, number: number) => string)[] = [
  (content, number) =>
    `data: ${json({ id: 'c1', choices: [{ index: number % 2, delta: { content } }], obfuscation: 'x'.repeat(number) })}`,
  (content) => `data: ${json({ choices: [{ delta: { content }, index: 0 }], usage: null })}`,
  (args) =>
    `data: ${json({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: args } }] } }] })}`,
  (text, index) =>
    `event: content_block_delta\ndata: ${json({ type: 'content_block_delta', index: index % 2, delta: { type: 'text_delta', text } })}`,
  (delta, number) =>
    `event: x.delta\ndata: ${json({ type: 'x.delta', item_id: `m${number % 2}`, output_index: 0, delta, sequence_number: number * 999_983 })}`,
  (text, number) =>
    `data: ${json({ candidates: [{ content: { parts: [{ text }] } }], usageMetadata: { total: number } })}`,
  (text, number) => `id: ${number}\ndata: ${json([text, { text, note: text }])}`,
  (text) => `data: ${json({ token: { text }, logprobs: { tokens: [text] } })}`,
  (text) => `data: ${text.replace(/[\r\n]/g, ' ')}`,
  (text) => `: ${text.replace(/[\r\n]/g, ' ')}`,
  () => 'data: [DONE]',
]
/** A text cut into pieces, which are sent by one kind of events, with others between them. */
const anyStream = fc
  .record({
    pieces: fc.oneof(
      fc.array(part, { maxLength: 6 }),
      fc.tuple(fc.constantFrom(...SECRETS), fc.integer({ min: 1, max: 9 })).map(([text, size]) => {
        const cut = text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []
        return ['so ', ...cut, ' and']
      }),
    ),
    event: fc.constantFrom(...EVENTS),
    others: fc.array(fc.tuple(fc.nat(8), fc.constantFrom(...EVENTS), anyText), { maxLength: 2 }),
    separator: fc.constantFrom('\n\n', '\n\n', '\n\n', '\r\n\r\n', '\n\n\n'),
    start: fc.constantFrom('', '', '', '\ufeff', '\n', ':\n'),
    end: fc.nat(40),
  })
  .map(({ pieces, event, others, separator, start, end }) => {
    const events = pieces.map((piece, index) => event(piece, index))
    for (const [at, other, text] of others) events.splice(at, 0, other(text, at))
    const stream = start + events.map((one) => one + separator).join('')
    // Some are truncated.
    return end < 30 ? stream : stream.slice(0, 30 - end)
  })

describe('plain text', () => {
  test.each(SECRETS)('never contains %p, in any place', (secret) => {
    expect(detected(secret)).not.toEqual([])
    for (const place of PLACES) {
      const body = place(secret)
      if (isRedacted(body)) expect({ body, isPlain: isPlain(body) }).toEqual({ body, isPlain: false })
    }
  })

  property.each(KEY_FORMS)('never contains a key of the kind %s', (_, form) => {
    // The generator knows no conditions on what follows.
    const source = form.source.replace(/\(\?[=!].*?\)/g, '')
    fc.assert(
      fc.property(fc.stringMatching(new RegExp(`^(?:${source})$`)), fc.constantFrom(...PLACES), (key, place) => {
        const body = place(key)
        if (isPlain(body)) expect({ body, isRedacted: isRedacted(body) }).toEqual({ body, isRedacted: false })
      }),
    )
  })

  property.each(NAMES_OF_SECRETS)('never contains a name of the kind %s', (_, name) => {
    const names = fc.stringMatching(new RegExp(`^(?:${name})$`))
    fc.assert(
      fc.property(
        names,
        fc.constantFrom('', 'x_', 'x-', 'x ', 'x.', 'x\n', 'The '),
        fc.constantFrom('', '_', ' ', '-'),
        fc.constantFrom('', '', '1', '_2', '-12', '345', '_6789'),
        (words, first, gap, number) => {
          const named = first + words.replaceAll('_', gap) + number
          for (const body of [
            json({ [named]: 'abc123def456' }),
            `${named}: abc123def456`,
            json({ a: `${named}: "abc123def456"` }),
          ])
            if (isPlain(body)) expect({ body, isRedacted: isRedacted(body) }).toEqual({ body, isRedacted: false })
        },
      ),
    )
  })

  test('never contains what begins like an account number of any country', () => {
    for (const country of validator.ibanLocales)
      for (const begin of [country, country.toLowerCase()]) expect(isPlain(`a ${begin}12 3456`)).toBe(false)
  })

  property('contains nothing that a detector finds', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        if (isPlain(text)) expect({ text, found: detected(text) }).toEqual({ text, found: [] })
      }),
      { numRuns: runs(10_000) },
    )
  })

  property('contains nothing that is redacted when it is a body, as text and as bytes', () => {
    fc.assert(
      fc.property(anyBody, (body) => {
        const bytes = Buffer.from(body).toString('latin1')
        if (!/^\ufeff?[\r\n]*(?:data|event|id|retry)?:/.test(body) && (isPlain(body) || isPlain(bytes)))
          expect({ body, isRedacted: isRedacted(body) }).toEqual({ body, isRedacted: false })
      }),
      { numRuns: runs(10_000) },
    )
  })

  property('contains nothing that is redacted in a stream, as text and as bytes', () => {
    let plain = 0
    fc.assert(
      fc.property(anyStream, (stream) => {
        const bytes = Buffer.from(stream).toString('latin1')
        const isPlainStream = [stream, bytes].some((text) => isPlain(gatherTexts(text) ?? '='))
        if (!isPlainStream) return
        plain++
        expect({ stream, isRedacted: isRedacted(stream) }).toEqual({ stream, isRedacted: false })
      }),
      { numRuns: runs(5_000) },
    )
    expect(plain).toBeGreaterThan(runs(5_000) / 50)
  })

  test.each([
    json({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Say "hello",\nplease.' }],
      max_completion_tokens: 40,
    }),
    json({
      id: 'chatcmpl-BxTq9Zk4',
      created: 1_764_136_000,
      usage: { prompt_tokens: 23, total_tokens: 43 },
      logprobs: null,
    }),
    '/v1/chat/completions',
  ])('is recognized when no word is suspicious: %s', (text) => {
    expect(isPlain(text)).toBe(true)
    expect(isRedacted(text)).toBe(false)
  })
})
