// How fixtures and scenarios write a text to match.
import { z } from 'zod'
import { type RegexBudget, RegexLimit, regexBudget } from '../../lib/bounded-regex.ts'
import { matchText, type TextMatch } from '../../lib/match.ts'
import { ApiError } from './error.ts'
import { rules } from './rules.ts'

/** A text as a whole, or an object that says how to compare. */
export const textMatchSchema: z.ZodType<TextMatch> = z.union([
  z.string(),
  z
    .strictObject({
      equals: z.string().optional(),
      contains: z.string().optional(),
      regex: z
        .string()
        .check(rules.regex)
        .optional()
        .describe('Named groups are captures: `(?<city>\\w+)` is `{{captures.city}}` in the reply.'),
      ignore_case: z.boolean().optional(),
    })
    .refine(rules.hasOneComparison, {
      error: "must have exactly one of 'equals', 'contains' and 'regex'",
    }),
])

/** Steps by name with dots between them, places of a list in brackets. */
const BODY_PATH = /^(?!\$\.)[^.[\]]+(?:\.[^.[\]]+|\[\d+\])*$/

/** Values that a body must have, by their paths in it. */
export const bodyMatchSchema = z.record(
  z.string().regex(BODY_PATH, { error: 'must be a path such as metadata.tier or messages[0].content' }),
  z.unknown(),
)

/** What regular expressions may still do for a call or an attempt, all of them together. */
const budgets = new WeakMap<object, RegexBudget>()

/**
 * The captures of a text that matches, else undefined.
 * @param call what it is matched for: its expressions share a number of steps
 * @throws ApiError 400 when they take more
 */
export function matchedText(match: TextMatch, text: string, call: object): Record<string, string> | undefined {
  try {
    return matchText(match, text, budgets.getOrInsertComputed(call, regexBudget))
  } catch (error) {
    if (!(error instanceof RegexLimit)) throw error
    const source = typeof match === 'object' ? (match.regex ?? '') : ''
    const shown = source.length > MAX_SHOWN ? `${source.slice(0, MAX_SHOWN)}...` : source
    throw new ApiError(
      400,
      'pattern_limit',
      `the regular expression /${shown}/ is given up on a text of ${text.length} characters: with those tried before it, ${error.message}; make it simpler, or anchor it with ^`,
    )
  }
}
const MAX_SHOWN = 200
