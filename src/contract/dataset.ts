// Datasets and their datapoints.
import { z } from 'zod'
import { Message } from './chat-request.ts'
import { common, Path, Ulid, Uuid } from './workspace.ts'

const datasetFields = {
  display_name: z.string().min(1).max(128).describe('1 to 128 characters.'),
  project_id: z.string().optional().describe('The project it belongs to.'),
  path: Path.optional(),
}
/** What makes a dataset. */
export const DatasetBody = z.object(datasetFields)
/** What changes one. */
export const DatasetPatch = z.object(datasetFields).partial()
/** A dataset as it is answered. */
export const Dataset = z.object({
  _id: Uuid,
  display_name: z.string(),
  project_id: Uuid,
  metadata: z.object({
    total_versions: z.int().describe('Versions so far: each change of the dataset or of a datapoint makes one.'),
    datapoints_count: z.int(),
  }),
  ...common,
})

const isNested = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (!Array.isArray(value) || value.some((item) => typeof item === 'object'))
const Inputs = z
  .record(
    z.string(),
    z.unknown().refine((value) => !isNested(value), {
      error: 'must be a text, a number, a boolean, null or a list of these: nested objects are not supported',
    }),
  )
  .describe('Input values by name; nested objects are not supported.')
const datapointFields = {
  inputs: Inputs.optional(),
  messages: z.array(Message).optional().describe('The conversation so far.'),
  expected_output: z.string().optional(),
}
/** What makes or changes a datapoint. */
export const DatapointBody = z.object(datapointFields)
/** A datapoint as it is answered. */
export const Datapoint = z.object({
  _id: Ulid,
  dataset_id: Uuid,
  ...datapointFields,
  evaluations: z.array(z.looseObject({})).optional().describe('Human reviews.'),
  snapshot_version: z.string().describe("The dataset's version that the last change made."),
  ...common,
})
