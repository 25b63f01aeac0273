// Human review sets: which spans people review, and for what.
import { z } from 'zod'
import { common, Ulid, Uuid } from './shared.ts'

const fields = {
  display_name: z.string().min(1).max(255).describe('1 to 255 characters.'),
  human_eval_ids: z.array(Ulid).min(1).describe('The human reviews, at least one.'),
  description: z.string().optional(),
  project_id: Uuid.optional().describe('Restricts the set to a project.'),
}
const filterValues = z.array(z.string()).min(1).describe('The span types to match, at least one.')
const filterValue = z.string().min(1).describe('Pattern of the name to match.')

/** The body that creates a review set. */
export const ReviewSetBody = z.discriminatedUnion('filter_type', [
  z.object({ ...fields, filter_type: z.literal('span_type'), filter_values: filterValues }),
  z.object({ ...fields, filter_type: z.literal('name'), filter_value: filterValue }),
])
const filter = {
  filter_type: z.enum(['span_type', 'name']).describe('The field of the span to compare.'),
  filter_values: filterValues.optional(),
  filter_value: filterValue.optional(),
}
/** The body that changes one. */
export const ReviewSetPatch = z.object({ ...fields, ...filter }).partial()
/** A review set in a response. */
export const ReviewSet = z.object({ _id: Ulid, ...fields, ...filter, ...common })
