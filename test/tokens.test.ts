import { expect, test } from 'bun:test'
import * as reference from 'gpt-tokenizer/encoding/o200k_base'
import { countTokens, encodeTokens, splitTokens } from '../src/lib/tokens.ts'

const texts = [
  '',
  'Hello, world!',
  '你好 👩‍👩‍👧 naïve\n\n  x',
  '<|endoftext|> is text',
  `${' '.repeat(9)}${'a'.repeat(50)}`,
  '23456°C in Zürich',
]

test.each(texts)('tokens of %j are those of the tokenizer package', (text) => {
  expect(encodeTokens(text)).toEqual(reference.encode(text, { disallowedSpecial: new Set() }))
})

test.each(texts)('pieces of %j join to the text and their tokens to its count', (text) => {
  const pieces = splitTokens(text)
  expect(pieces.map((piece) => piece.text).join('')).toBe(text)
  expect(pieces.reduce((sum, piece) => sum + piece.tokens, 0)).toBe(countTokens(text))
})
