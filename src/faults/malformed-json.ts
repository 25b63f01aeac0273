// malformed-json: a whole answer is no JSON.
import { z } from 'zod'
import { changeWhole } from './change.ts'
import { defineFault } from './define.ts'

export const malformedJson = defineFault({
  type: 'malformed-json',
  summary: 'A whole answer is not valid JSON.',
  points: ['provider', 'gateway'],
  options: {
    text: z
      .string()
      .optional()
      .describe('The body instead; the answer without its first quotation mark when left out.'),
  },
  example: {},
  apply: ({ text }, next, context) => changeWhole(next, context, (json) => text ?? json.replace('"', '')),
})
