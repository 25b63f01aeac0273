// Reads the input that embeddings and legacy completions share: texts, or the tokens of texts.
import { countCached } from '../answers/text-answer.ts'
import { ApiError } from '../contract/core/error.ts'
import type { CountTokens, Prompt } from '../contract/core/operation.ts'
import type { TextInput } from '../contract/core/texts.ts'
import { decodeTokens, VOCABULARIES } from '../lib/tokens.ts'
import { sumOf } from '../lib/values.ts'
import { vocabularyOf } from '../providers/catalogue.ts'
import { formatPath } from '../schema/validation.ts'
import { userPrompt } from './common.ts'

/** A text of a call, with its number of tokens if it was sent as tokens. */
export interface InputText {
  text: string
  tokens?: number
}

/** The input of a request, its field, and the model. */
interface TextField {
  input: TextInput
  field: string
  model: string
}

/** The texts of lists, for which a call asks several times: to decode 380,000 tokens takes 20 ms. */
const known = new WeakMap<object, { model: string; texts: readonly InputText[] }>()

/** The texts of an input in their order; tokens are decoded, with a 400 for one that the model's vocabulary has not. */
export function inputTextsOf({ input, field, model }: TextField): readonly InputText[] {
  if (typeof input === 'string') return [{ text: input }]
  const before = known.get(input)
  if (before?.model === model) return before.texts
  const texts = listedTexts({ input, field, model })
  known.set(input, { model, texts })
  return texts
}

function listedTexts({ input, field, model }: TextField & { input: object }): InputText[] {
  if (typeof input[0] === 'number') return [decoded(input as number[], [field], model)]
  return (input as (string | number[])[]).map((item, index) =>
    typeof item === 'string' ? { text: item } : decoded(item, [field, index], model),
  )
}

function decoded(ids: readonly number[], path: PropertyKey[], model: string): InputText {
  const vocabulary = vocabularyOf(model)
  const last = VOCABULARIES[vocabulary] - 1
  const wrong = ids.findIndex((id) => id > last)
  if (wrong < 0) return { text: decodeTokens(ids, vocabulary), tokens: ids.length }
  const param = formatPath([...path, wrong])
  const message = `'${param}' must be a token of the ${vocabulary} vocabulary, which ${model} has (0 to ${last}), got ${ids[wrong]}`
  throw new ApiError(400, 'invalid_value', message, { param })
}

/** Returns the total number of tokens, which is billed. */
export const totalTokens = (texts: readonly InputText[]): number =>
  sumOf(texts, ({ text, tokens = countCached(text) }) => tokens)

/** Returns the tokens of the longest text, since a model reads each text separately; `count` counts the texts. */
export const longestTokens = (texts: readonly InputText[], count: CountTokens = countCached): number =>
  texts.reduce((longest, { text, tokens = count(text) }) => Math.max(longest, tokens), 0)

/** The prompt that fixtures match; several texts are one line each. */
export const textsPrompt = (texts: readonly InputText[]): Prompt => userPrompt(texts.map(({ text }) => text).join('\n'))
