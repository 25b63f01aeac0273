import { expect, spyOn, test } from 'bun:test'
import * as older from 'gpt-tokenizer/encoding/cl100k_base'
import * as reference from 'gpt-tokenizer/encoding/o200k_base'
import { countTokens, decodeTokens, encodeTokens, splitTokens, VOCABULARIES } from '../../src/lib/tokens.ts'

const texts = [
  '',
  'Hello, world!',
  '你好 👩‍👩‍👧 naïve\n\n  x',
  '<|endoftext|> is text',
  `${' '.repeat(9)}${'a'.repeat(50)}`,
  '23456°C in Zürich',
]
// The tokenizer package has its own idea of this character.
const marked = '\ufeffa byte order mark'

test.each(texts)('tokens of %j: are those of the tokenizer package', (text) => {
  expect(encodeTokens(text)).toEqual(reference.encode(text, { disallowedSpecial: new Set() }))
})

test.each([...texts, marked])('tokens of %j: decode to it', (text) => {
  expect(decodeTokens(encodeTokens(text))).toBe(text)
})

test.each(texts)('cl100k tokens of %j: decode to it', (text) => {
  expect(decodeTokens(older.encode(text, { disallowedSpecial: new Set() }), 'cl100k')).toBe(text)
})

test.each([['o200k', reference] as const, ['cl100k', older] as const])(
  '%s vocabulary: ends where that of the tokenizer package does',
  (name, { decode }) => {
    const last = VOCABULARIES[name] - 1
    expect(decodeTokens([last], name)).toBe(decode([last]))
    expect(() => decode([last + 1])).toThrow('not in the byte pair encoder')
  },
)

test.each([...texts, marked])('chunks of %j: join to the text, and their tokens to its count', (text) => {
  const pieces = splitTokens(text)
  expect(pieces.map((piece) => piece.text).join('')).toBe(text)
  expect(pieces.reduce((sum, piece) => sum + piece.tokens, 0)).toBe(countTokens(text))
})

test('decodeTokens: decodes the bytes of all tokens at once', () => {
  const decode = spyOn(TextDecoder.prototype, 'decode')
  const text = decodeTokens(encodeTokens('Grüße 👋 '.repeat(1_000)))
  const calls = decode.mock.calls.length
  decode.mockRestore()
  expect(text).toBe('Grüße 👋 '.repeat(1_000))
  expect(calls).toBe(1)
})

test('decodeTokens: gives replacement characters for half of a character', () => {
  const [first = 0] = encodeTokens('🦜')
  expect(decodeTokens([first])).toBe('\ufffd')
})
