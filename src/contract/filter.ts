// Which chunks of a knowledge base may be found: conditions on their fields and their metadata.
import { z } from 'zod'

const value = z.union([z.string(), z.number(), z.boolean()])
const condition = z.union(
  [
    value,
    z.strictObject({
      eq: value.optional().describe('Equal to this.'),
      ne: value.optional().describe('Not equal to this.'),
      gt: value.optional().describe('Greater than this.'),
      gte: value.optional().describe('Greater than or equal to this.'),
      lt: value.optional().describe('Less than this.'),
      lte: value.optional().describe('Less than or equal to this.'),
      in: z.array(value).optional().describe('One of these.'),
      nin: z.array(value).optional().describe('None of these.'),
      exists: z.boolean().optional().describe('Whether the chunk has the field.'),
    }),
  ],
  { error: 'must be a string, a number, a boolean, or an object of eq, ne, gt, gte, lt, lte, in, nin and exists' },
)
const conditions = z.record(z.string(), condition)
/** Conditions that must all hold, by the field that they are on. */
export type Conditions = z.infer<typeof conditions>

/** Conditions that must all hold, with others beside them of which all, or any, must hold. */
export const FilterBy = z
  .object({
    and: z.array(conditions).optional().describe('All of these must hold.'),
    or: z.array(conditions).optional().describe('One of these must hold.'),
  })
  .catchall(condition)
  .describe(
    'Conditions that a chunk must meet, by a name of its metadata or by `chunk_id`, `datasource_id`, `datasource` (display name) or `position`. A bare value means eq.',
  )
export type FilterBy = z.infer<typeof FilterBy>
export type Condition = z.infer<typeof condition>
