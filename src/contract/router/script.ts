// Fixture replies of operations that respond with text.
import { z } from 'zod'
import { Duration } from '../core/duration.ts'
import { ResponseHeaders } from '../core/response-headers.ts'
import { rules } from '../core/rules.ts'

/** Why a choice ended. */
export const FinishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
export type FinishReason = z.infer<typeof FinishReason>

/** A file of a fixture. */
export const FileName = z.strictObject({ file: z.string().min(1).describe('Name of a file beside the fixture.') })

/** Timing of a reply, on the session's clock. */
export const Timing = z.strictObject({
  first_token: Duration.optional().describe('Wait before the first token: 300ms, 2s, or a number of milliseconds.'),
  tokens_per_second: z.number().positive().optional().describe('Speed after the first token.'),
})
export type Timing = z.infer<typeof Timing>

/** An error reply of a fixture, for any operation. */
export const ErrorScript = z.strictObject({
  error: z
    .strictObject({
      status: z.int().min(400).max(599).describe('Retries and fallbacks treat it as an error of a provider.'),
      type: z.string().min(1).optional().describe('Error type. Default: that of the status.'),
      code: z.string().min(1).optional().describe('Default: the error type.'),
      message: z.string().min(1).optional().describe('Default: the message of the status.'),
      param: z.string().optional().describe('Path of the field that the error names.'),
      headers: ResponseHeaders.default({}).describe('Such as `retry-after: 7`.'),
    })
    .describe('The error response.'),
  timing: Timing.optional().describe('How fast the reply comes.'),
})
export type ErrorScript = z.infer<typeof ErrorScript>

/**
 * A text reply of a fixture.
 * @example
 * TextScript.safeParse({ content: 'Hello' }).success // => true
 * TextScript.safeParse({}).success // => false
 */
export const TextScript = z
  .strictObject({
    content: z
      .string()
      .optional()
      .describe('The text; `{{captures.name}}`, `{{call.model}}` and `{{prompt.user}}` are filled in.'),
    tool_calls: z
      .array(
        z.strictObject({
          name: z.string().min(1).describe('Name of the tool.'),
          arguments: z
            .union([z.record(z.string(), z.unknown()), z.string()])
            .optional()
            .describe('An object, or a string that is used unchanged. Default: {}.'),
          input: z.string().optional().describe('The text for a custom tool, instead of arguments.'),
          id: z.string().optional().describe('Id of the call. Default: generated.'),
        }),
      )
      .optional()
      .describe('Tools that the model calls.'),
    refusal: z.string().optional().describe('Text with which the model refuses.'),
    audio: z
      .union([z.base64(), FileName])
      .optional()
      .describe('The sound of `content`, for calls that want audio: a file as base64, or by name beside the fixture.'),
    reasoning: z.string().optional().describe('Thinking that precedes the response.'),
    finish_reason: FinishReason.optional().describe('Default: derived from the reply.'),
    usage: z
      .strictObject({
        prompt_tokens: z.int().min(0).optional().describe('Tokens of the request.'),
        completion_tokens: z.int().min(0).optional().describe('Tokens of the response.'),
      })
      .optional()
      .describe('Token counts instead of the counted ones.'),
    timing: Timing.optional().describe('How fast the reply comes.'),
  })
  .refine(rules.saysSomething, {
    error: "must have at least one of 'content', 'tool_calls' and 'refusal'",
  })
export type TextScript = z.infer<typeof TextScript>
