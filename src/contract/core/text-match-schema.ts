// The schema of a text match in fixtures and scenarios; apart from the comparison, which no start should load zod for.
import { z } from 'zod'
import type { TextMatch } from '../../lib/match.ts'
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
