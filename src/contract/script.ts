// What a fixture says under `reply` for operations that answer with text.
import { z } from 'zod'
import { FinishReason } from './chat.ts'
import { Duration } from './duration.ts'

/** How fast a reply comes, on the session's clock. */
export const Timing = z.strictObject({
  first_token: Duration.optional().describe('Wait before the first token: 300ms, 2s, or a number of milliseconds.'),
  tokens_per_second: z.number().positive().optional().describe('Pace of the tokens after the first.'),
})
export type Timing = z.infer<typeof Timing>

/** A text reply as a fixture writes it. */
export const TextScript = z
  .strictObject({
    content: z
      .string()
      .optional()
      .describe('The text; `{{captures.name}}`, `{{call.model}}` and `{{prompt.user}}` are filled in.'),
    tool_calls: z
      .array(
        z.strictObject({
          name: z.string().min(1),
          arguments: z
            .union([z.record(z.string(), z.unknown()), z.string()])
            .optional()
            .describe('An object, or the text as it is; {} when left out.'),
          input: z.string().optional().describe('The text for a custom tool, instead of arguments.'),
          id: z.string().optional(),
        }),
      )
      .optional(),
    refusal: z.string().optional(),
    reasoning: z.string().optional(),
    finish_reason: FinishReason.optional().describe('Worked out from the reply when left out.'),
    usage: z
      .strictObject({ prompt_tokens: z.int().min(0).optional(), completion_tokens: z.int().min(0).optional() })
      .optional()
      .describe('Token counts instead of the counted ones.'),
    timing: Timing.optional(),
  })
  .refine((script) => script.content !== undefined || script.tool_calls || script.refusal !== undefined, {
    error: "must have at least one of 'content', 'tool_calls' and 'refusal'",
  })
export type TextScript = z.infer<typeof TextScript>
