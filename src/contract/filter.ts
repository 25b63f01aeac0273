// Which chunks of a knowledge base may be found: conditions on their fields.
import { z } from 'zod'

const value = z.union([z.string(), z.number()])
const condition = z.union(
  [
    value,
    z.strictObject({
      eq: value.optional(),
      ne: value.optional(),
      gt: value.optional(),
      gte: value.optional(),
      lt: value.optional(),
      lte: value.optional(),
      in: z.array(value).optional(),
      nin: z.array(value).optional(),
    }),
  ],
  { error: 'must be a string, a number, or an object of eq, ne, gt, gte, lt, lte, in and nin' },
)
const conditions = z.strictObject({
  chunk_id: condition.optional(),
  datasource_id: condition.optional(),
  datasource: condition.optional(),
  position: condition.optional(),
})
/** Conditions that must all hold. */
export type Conditions = z.infer<typeof conditions>

/** Conditions that must all hold, with others beside them of which all, or any, must hold. */
export const FilterBy = conditions
  .extend({ and: z.array(conditions).optional(), or: z.array(conditions).optional() })
  .describe(
    'Conditions that a chunk must meet; `datasource` is the display name of its datasource. A bare value means eq.',
  )
export type FilterBy = z.infer<typeof FilterBy>
export type Condition = z.infer<typeof condition>
