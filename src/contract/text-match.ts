// How fixtures and scenarios write a text to match.
import { z } from 'zod'
import type { TextMatch } from '../lib/match.ts'

/** A text as a whole, or an object that says how to compare. */
export const textMatchSchema: z.ZodType<TextMatch> = z.union([
  z.string(),
  z
    .strictObject({
      equals: z.string().optional(),
      contains: z.string().optional(),
      regex: z
        .string()
        .superRefine((source, context) => {
          const wrong = regexProblem(source)
          if (wrong) context.addIssue({ code: 'custom', message: `must be a regular expression: ${wrong}` })
        })
        .optional()
        .describe('Named groups are captures: `(?<city>\\w+)` is `{{captures.city}}` in the reply.'),
      ignore_case: z.boolean().optional(),
    })
    .refine((match) => [match.equals, match.contains, match.regex].filter((one) => one !== undefined).length === 1, {
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

/** Why a text is not a regular expression, undefined when it is one. */
function regexProblem(source: string): string | undefined {
  try {
    new RegExp(source, 'u')
    return undefined
  } catch (error) {
    return (error as Error).message.replace(/^Invalid regular expression: /, '')
  }
}
