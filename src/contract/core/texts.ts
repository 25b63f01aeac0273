// The input of embeddings and legacy completions: a text, several texts, or the tokens of either.
import { z } from 'zod'
import { VOCABULARIES } from '../../lib/tokens.ts'
import type { Problem } from './problem.ts'

/** One text, several texts, or the token ids of one or several (the specification, "Create embeddings"). */
export type TextInput = string | string[] | number[] | number[][]

// For the largest vocabulary: that of the model is not known here.
const LAST_TOKEN = VOCABULARIES.o200k - 1
/** Maximum number of texts of one call. */
const MAX_TEXTS = 2048

/**
 * Schema of a text, an array of texts, an array of tokens or an array of such arrays. A text must have at least
 * `shortest` characters or tokens. Written by hand, since a union of the four cannot tell which item of an array is
 * invalid.
 */
export const textsSchema = (shortest: 0 | 1) =>
  z
    .custom<TextInput>()
    .superRefine((value, context) => {
      const problem = problemOf(value, shortest)
      if (problem) context.addIssue({ code: 'custom', ...problem })
    })
    .meta(jsonSchemaOf(shortest))

const problemOf = (value: unknown, shortest: number): Problem | undefined => {
  if (typeof value === 'string') return ofText([], value, shortest)
  if (!Array.isArray(value)) return { path: [], message: 'must be a string, an array of strings, or tokens' }
  const items: unknown[] = value
  if (typeof items[0] === 'number') return ofTokens([], items, 1)
  if (items.length === 0) return { path: [], message: 'must have at least 1 item' }
  if (items.length > MAX_TEXTS) return { path: [], message: `must have at most ${MAX_TEXTS} items` }
  for (const [index, item] of items.entries()) {
    const problem = ofItem([index], item, { first: items[0], shortest })
    if (problem) return problem
  }
}

function ofItem(path: number[], item: unknown, { first, shortest }: { first: unknown; shortest: number }) {
  if (typeof first === 'string' && typeof item === 'string') return ofText(path, item, shortest)
  if (Array.isArray(first) && Array.isArray(item)) return ofTokens(path, item, shortest)
  if (typeof first === 'string') return { path, message: 'must be a string like the first item' }
  if (Array.isArray(first)) return { path, message: 'must be an array of tokens like the first item' }
  return { path, message: 'must be a string or an array of tokens' }
}

const ofText = (path: number[], text: string, shortest: number): Problem | undefined =>
  text.length < shortest ? { path, message: 'must have at least 1 character' } : undefined

function ofTokens(path: number[], tokens: unknown[], shortest: number): Problem | undefined {
  if (tokens.length < shortest) return { path, message: 'must have at least 1 token' }
  const wrong = tokens.findIndex((id) => !(Number.isInteger(id) && Number(id) >= 0 && Number(id) <= LAST_TOKEN))
  if (wrong < 0) return undefined
  return { path: [...path, wrong], message: `must be a token (0 to ${LAST_TOKEN})` }
}

function jsonSchemaOf(shortest: number) {
  const text = { type: 'string', minLength: shortest }
  const tokens = { type: 'array', items: { type: 'integer', minimum: 0, maximum: LAST_TOKEN }, minItems: shortest }
  const several = (items: object) => ({ type: 'array', items, minItems: 1, maxItems: MAX_TEXTS })
  return { anyOf: [text, several(text), { ...tokens, minItems: 1 }, several(tokens)] }
}
