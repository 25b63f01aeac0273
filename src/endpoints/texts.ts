// Reads the one input that embeddings and legacy completions share: texts, or the tokens of texts.
import { countCached } from '../backends/fixture/text-answer.ts'
import { ApiError } from '../contract/error.ts'
import type { Prompt } from '../contract/operation.ts'
import type { Texts } from '../contract/texts.ts'
import { formatPath } from '../contract/validation.ts'
import { decodeTokens, VOCABULARIES, type Vocabulary } from '../lib/tokens.ts'
import { vocabularyOf } from '../providers/catalogue.ts'

/** One text of a call with its number of tokens. */
export interface Text {
  text: string
  tokens: number
}

/** The texts of an input in their order; tokens are decoded from the vocabulary of `model`. */
export function textsOf(input: Texts, model: string): Text[] {
  const vocabulary = vocabularyOf(model)
  return itemsOf(input).map((item) => (typeof item === 'string' ? counted(item) : decoded(item, vocabulary)))
}

const isOne = (input: Texts): input is string | number[] => typeof input === 'string' || typeof input[0] === 'number'
const itemsOf = (input: Texts): (string | number[])[] => (isOne(input) ? [input] : input)
const counted = (text: string): Text => ({ text, tokens: countCached(text) })
const decoded = (ids: readonly number[], vocabulary: Vocabulary): Text => ({
  text: decodeTokens(ids, vocabulary),
  tokens: ids.length,
})

/** 400 when a token is not in the vocabulary of `model`; `param` is the field that the input stands in. */
export function checkTokens(input: Texts, model: string, param: string): void {
  const vocabulary = vocabularyOf(model)
  const last = VOCABULARIES[vocabulary] - 1
  for (const [index, item] of itemsOf(input).entries()) {
    const wrong = typeof item === 'string' ? -1 : item.findIndex((id) => id > last)
    if (wrong < 0) continue
    const at = formatPath([param, ...(isOne(input) ? [wrong] : [index, wrong])])
    const message = `'${at}' must be a token of the ${vocabulary} vocabulary, which ${model} has (0 to ${last}), got ${item[wrong]}`
    throw new ApiError(400, 'invalid_value', message, { param: at })
  }
}

/** Tokens of all texts together, which is what they cost. */
export const tokensOf = (texts: readonly Text[]): number => texts.reduce((total, { tokens }) => total + tokens, 0)

/** Tokens of the longest text: a model reads each of them by itself. */
export const longestOf = (texts: readonly Text[]): number =>
  texts.reduce((longest, { tokens }) => Math.max(longest, tokens), 0)

/** What fixtures match on: several texts are a line each. */
export const promptOf = (input: Texts, model: string): Prompt => ({
  system: '',
  user: textsOf(input, model)
    .map(({ text }) => text)
    .join('\n'),
  turn: 1,
  tools: [],
  toolResult: false,
})
