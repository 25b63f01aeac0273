// The schema of a text match in fixtures and scenarios.
import { z } from 'zod'
import { type RegexBudget, RegexLimit, regexBudget } from '../../lib/bounded-regex.ts'
import { matchText, type TextMatch } from '../../lib/match.ts'
import { ApiError } from './error.ts'
import { rules } from './rules.ts'

/** A text as a whole, or an object that defines the comparison. */
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

/** Names separated by dots, list indexes in brackets. */
const BODY_PATH = /^(?!\$\.)[^.[\]]+(?:\.[^.[\]]+|\[\d+\])*$/

/** Required values of a body, by path. */
export const bodyMatchSchema = z.record(
  z.string().regex(BODY_PATH, { error: 'must be a path such as metadata.tier or messages[0].content' }),
  z.unknown(),
)

/** The remaining steps of regular expressions for a call or an attempt, shared by all of them. */
const budgets = new WeakMap<object, RegexBudget>()

/**
 * The captures of a text that matches; undefined if it does not.
 * @param call what it is matched for: its expressions share a number of steps
 * @throws ApiError 400 if they take more
 */
export function matchedText(match: TextMatch, text: string, call: object): Record<string, string> | undefined {
  try {
    return matchText(match, text, () => budgets.getOrInsertComputed(call, regexBudget))
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
