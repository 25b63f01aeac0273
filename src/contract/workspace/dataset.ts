// Datasets and their datapoints.

import { z } from 'zod'
import { describedObject } from '../core/described.ts'
import { Message } from '../router/chat-request.ts'
import { common, Path, timestamp, Ulid, Uuid } from './shared.ts'

const display_name = z.string().min(1).max(128).describe('1 to 128 characters.')
const datasetFields = {
  display_name,
  project_id: Uuid.optional().describe('The project of the record.'),
  path: Path.optional(),
}
/** The body that creates a dataset. */
export const DatasetBody = z.object(datasetFields)
/** The body that changes one. */
export const DatasetPatch = z.object(datasetFields).partial()
/** A dataset in a response. */
export const Dataset = z.object({
  _id: Uuid,
  display_name,
  project_id: Uuid,
  metadata: describedObject('Counts.', {
    total_versions: z.int().describe('Number of versions. Each change of the dataset or a datapoint creates one.'),
    datapoints_count: z.int().describe('Number of datapoints.'),
  }),
  ...common,
})

const PLAIN = ['string', 'number', 'boolean', 'null']
const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null
const Inputs = z
  .record(
    z.string(),
    z
      .unknown()
      .refine((value) => isPlain(value) || (Array.isArray(value) && value.every(isPlain)), {
        error: 'must be a text, a number, a boolean, null or a list of these: nested objects are not supported',
      })
      .meta({ anyOf: [{ type: PLAIN }, { type: 'array', items: { type: PLAIN } }] }),
  )
  .describe('Input values by name; nested objects are not supported.')
const review = {
  id: z.string().describe('Id of the evaluation.'),
  evaluation_type: z.literal('human_review'),
  human_review_id: Ulid.describe('Id of the human review definition.'),
  reviewed_by_id: z.string().describe('The reviewer.'),
  source: z.string().describe('Source of the evaluation: the name of the service options (`svc`), or `external`.'),
  reviewed_at: timestamp,
}
const description = 'What the reviewer entered.'
/** A human review of a datapoint. */
const HumanReview = z.discriminatedUnion('type', [
  z.looseObject({ ...review, type: z.literal('string'), value: z.string().describe(description) }),
  z.looseObject({ ...review, type: z.literal('number'), value: z.number().describe(description) }),
  z.looseObject({
    ...review,
    type: z.literal('string_array'),
    values: z.array(z.string()).describe('What the reviewer chose.'),
  }),
])
const datapointFields = {
  inputs: Inputs.optional(),
  messages: z.array(Message).optional().describe('The conversation so far.'),
  expected_output: z.string().describe('Expected output.').optional(),
}
/** The body that creates or changes a datapoint. */
export const DatapointBody = z.object(datapointFields)
/** A datapoint in a response. */
export const Datapoint = z.object({
  _id: Ulid,
  dataset_id: Uuid.describe('The dataset of the record.'),
  ...datapointFields,
  evaluations: z.array(HumanReview).optional().describe('Human reviews.'),
  snapshot_version: z.string().describe('The dataset version created by the last change.'),
  ...common,
})
