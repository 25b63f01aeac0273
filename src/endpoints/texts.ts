// Reads the one input that embeddings and legacy completions share: texts, or the tokens of texts.
import { countCached } from '../backends/fixture/text-answer.ts'
import type { Prompt } from '../contract/operation.ts'
import type { Texts } from '../contract/texts.ts'
import { decodeTokens } from '../lib/tokens.ts'

/** One text of a call with its number of tokens. */
export interface Text {
  text: string
  tokens: number
}

/** The texts of an input in their order; tokens are decoded. */
export function textsOf(input: Texts): Text[] {
  if (typeof input === 'string') return [counted(input)]
  if (typeof input[0] === 'number') return [decoded(input as number[])]
  return (input as (string | number[])[]).map((item) => (typeof item === 'string' ? counted(item) : decoded(item)))
}

const counted = (text: string): Text => ({ text, tokens: countCached(text) })
const decoded = (ids: readonly number[]): Text => ({ text: decodeTokens(ids), tokens: ids.length })

/** Tokens of all texts together, which is what they cost. */
export const tokensOf = (texts: readonly Text[]): number => texts.reduce((total, { tokens }) => total + tokens, 0)

/** Tokens of the longest text: a model reads each of them by itself. */
export const longestOf = (texts: readonly Text[]): number =>
  texts.reduce((longest, { tokens }) => Math.max(longest, tokens), 0)

/** What fixtures match on: several texts are a line each. */
export const promptOf = (input: Texts): Prompt => ({
  system: '',
  user: textsOf(input)
    .map(({ text }) => text)
    .join('\n'),
  turn: 1,
  tools: [],
  toolResult: false,
})
