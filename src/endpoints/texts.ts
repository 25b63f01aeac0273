// Reads the one input that embeddings and legacy completions share: texts, or the tokens of texts.
import { countCached } from '../answers/text-answer.ts'
import { ApiError } from '../contract/error.ts'
import type { Prompt } from '../contract/operation.ts'
import type { TextInput } from '../contract/texts.ts'
import { formatPath } from '../contract/validation.ts'
import { decodeTokens, VOCABULARIES } from '../lib/tokens.ts'
import { vocabularyOf } from '../providers/catalogue.ts'

/** One text of a call with its number of tokens. */
export interface CountedText {
  text: string
  tokens: number
}

/** Where the texts of a request stand, and the model that they are for. */
interface TextField {
  input: TextInput
  field: string
  model: string
}

/** The texts of an input in their order; tokens are decoded, with a 400 for one that the model's vocabulary has not. */
export function inputTextsOf({ input, field, model }: TextField): CountedText[] {
  if (typeof input === 'string') return [counted(input)]
  if (typeof input[0] === 'number') return [decoded(input as number[], [field], model)]
  return (input as (string | number[])[]).map((item, index) =>
    typeof item === 'string' ? counted(item) : decoded(item, [field, index], model),
  )
}

/** Counted when somebody asks: who only reads the text need not wait for it. */
const counted = (text: string): CountedText => ({
  text,
  get tokens() {
    return countCached(text)
  },
})

function decoded(ids: readonly number[], path: PropertyKey[], model: string): CountedText {
  const vocabulary = vocabularyOf(model)
  const last = VOCABULARIES[vocabulary] - 1
  const wrong = ids.findIndex((id) => id > last)
  if (wrong < 0) return { text: decodeTokens(ids, vocabulary), tokens: ids.length }
  const param = formatPath([...path, wrong])
  const message = `'${param}' must be a token of the ${vocabulary} vocabulary, which ${model} has (0 to ${last}), got ${ids[wrong]}`
  throw new ApiError(400, 'invalid_value', message, { param })
}

/** Tokens of all texts together, which is what they cost. */
export const tokensOf = (texts: readonly CountedText[]): number =>
  texts.reduce((total, { tokens }) => total + tokens, 0)

/** Tokens of the longest text: a model reads each of them by itself. */
export const longestOf = (texts: readonly CountedText[]): number =>
  texts.reduce((longest, { tokens }) => Math.max(longest, tokens), 0)

/** What fixtures match on: several texts are a line each. */
export const textsPrompt = (texts: readonly CountedText[]): Prompt => ({
  system: '',
  user: texts.map(({ text }) => text).join('\n'),
  turn: 1,
  tools: [],
  toolResult: false,
})
