// The schema of a rule for volatile fields; apart from the rule, which no start should load zod for.
import { z } from 'zod'
import { rules } from './rules.ts'

const isPattern = (source: string): boolean => {
  try {
    new RegExp(source, 'gu')
    return true
  } catch {
    return false
  }
}

/** The path of a field of a body. */
export const FieldPath = z.string().refine(rules.isFieldPath, {
  message: "must be the path of a field, such as 'metadata.run_id' or 'messages[*].content'",
})

/** A rule, as `understudy.yaml` and the header of a cassette contain it. */
export const VolatileRuleSchema = z.strictObject({
  name: z.string().min(1).describe('Name of the rule, which reports use.'),
  path: FieldPath.describe(
    'Field of the body that changes from run to run, such as `metadata.run_id`; `[*]` is every item of a list.',
  ),
  pattern: z
    .string()
    .min(1)
    .refine(isPattern, { message: 'must be a regular expression' })
    .optional()
    .describe('Regular expression for the part of the text that changes. Without it, the whole value is not compared.'),
  operation: z
    .string()
    .min(1)
    .optional()
    .describe('Operation that the rule applies to, such as `chat.completions`; default: all.'),
})
