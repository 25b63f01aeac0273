// Filters for chunks of a knowledge base: conditions on their fields and their metadata.
import { z } from 'zod'

const value = z.union([z.string(), z.number(), z.boolean()])
const condition = z.union(
  [
    value,
    z.strictObject({
      eq: value.describe('Equal to this.').optional(),
      ne: value.describe('Not equal to this.').optional(),
      gt: value.describe('Greater than this.').optional(),
      gte: value.describe('Greater than or equal to this.').optional(),
      lt: value.describe('Less than this.').optional(),
      lte: value.describe('Less than or equal to this.').optional(),
      in: z.array(value).describe('One of these.').optional(),
      nin: z.array(value).describe('None of these.').optional(),
      exists: z.boolean().describe('Whether the chunk has the field.').optional(),
    }),
  ],
  { error: 'must be a string, a number, a boolean, or an object of eq, ne, gt, gte, lt, lte, in, nin and exists' },
)
const conditions = z.record(z.string(), condition)
/** Conditions that must all hold, by field. */
export type Conditions = z.infer<typeof conditions>

/** The `filter_by` of a search: conditions that must all hold, plus groups combined by `and` and `or`. */
export const FilterBy = z
  .object({
    and: z.array(conditions).describe('All of these must hold.').optional(),
    or: z.array(conditions).describe('One of these must hold.').optional(),
  })
  .catchall(condition)
  .describe(
    'Conditions on chunks, by metadata key or by `chunk_id`, `datasource_id`, `datasource` (display name), or `position`. A plain value means `eq`.',
  )
export type FilterBy = z.infer<typeof FilterBy>
/** One condition on a field: a value, or an operator with its operand. */
export type Condition = z.infer<typeof condition>
