// The format of the file of known failures.
import { z } from 'zod'
import { FAILURE_MODES, VERDICTS } from '../contract/core/exploration.ts'
import { suggestion } from '../lib/likely-name.ts'
import { globRegex } from '../lib/match.ts'

/** One accepted failure. */
export const KnownFailureSchema = z.strictObject({
  injection_point: z.string().min(1).describe('Id of the injection point; `*` matches any characters.'),
  failure_mode: z
    .string()
    .min(1)
    .superRefine((text, context) => {
      const unknown = text.split('+').find((name) => !FAILURE_MODES.some((one) => globRegex(name).test(one)))
      if (unknown === undefined) return
      const message = `must be a failure mode${suggestion(unknown, FAILURE_MODES)}; valid: ${FAILURE_MODES.join(', ')}`
      context.addIssue({ code: 'custom', message, params: { choices: FAILURE_MODES } })
    })
    .describe('Name of the failure mode; for a pair, both names joined with +; `*` matches any characters.'),
  result: z.enum(VERDICTS).optional().describe('The accepted result; any result by default.'),
  reason: z.string().min(1).describe('Why it is accepted.'),
})
/** The file of known failures. */
export const KnownFailures = z.strictObject({ accepted: z.array(KnownFailureSchema) })
