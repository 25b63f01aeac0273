// malformed-json: the body of a non-streamed response is not valid JSON.
import { z } from 'zod'
import { changeWhole } from './change.ts'
import { defineFault } from './define.ts'

/** Tests that a client handles a success whose body is invalid JSON. */
export const malformedJson = defineFault({
  type: 'malformed-json',
  summary: 'The body of a non-streamed response is not valid JSON.',
  options: {
    text: z
      .string()
      .optional()
      .describe('The body to send. If omitted, the response without its first quotation mark.'),
  },
  apply: ({ text }, next, context) => changeWhole(next, context, (json) => text ?? json.replace('"', '')),
})
