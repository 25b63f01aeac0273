// The schema of OpenAI's errors, for documents.
import { z } from 'zod'

/** The body of every error. */
export const OpenaiError = z.looseObject({
  error: z
    .looseObject({
      message: z.string().describe('Error message.'),
      type: z.string().describe('Error type.'),
      param: z.string().nullable().describe('The invalid field.'),
      code: z.string().nullable().describe('Machine-readable error details.'),
    })
    .optional()
    .describe('The error. Providers with their own error format, such as Cohere, send that instead.'),
})
