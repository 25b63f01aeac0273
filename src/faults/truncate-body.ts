// truncate-body: the body is shorter than it should be, and nothing on the wire says so.
import { z } from 'zod'
import { cutBytes } from './change.ts'
import { defineFault } from './define.ts'

export const truncateBody = defineFault({
  type: 'truncate-body',
  summary: 'The body ends too early, in a response that ends as it should.',
  points: ['provider', 'gateway'],
  options: {
    after_bytes: z.int().min(0).optional().describe('Bytes that still arrive.'),
    after_fraction: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('Share of the bytes that still arrives, 0.5 by default.'),
  },
  example: { after_fraction: 0.5 },
  apply({ after_bytes: bytes, after_fraction: fraction = bytes === undefined ? 0.5 : undefined }, next, context) {
    return cutBytes(next, context, { after_bytes: bytes, after_fraction: fraction, close: 'clean' })
  },
})
