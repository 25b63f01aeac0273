// Feedback on generations, and the events that carry it.
import { z } from 'zod'
import { common, Ulid } from './shared.ts'

/** What feedback may be about. */
const Product = z.enum([
  'remoteconfigs',
  'deployments',
  'experiments',
  'playgrounds',
  'spreadsheets',
  'spreadsheet_run',
  'llm_evaluator',
  'knowledge',
  'router',
  'workflows',
  'external_events',
  'agents',
  'memory-stores',
  'generic',
  'evaluators',
  'otel',
  'ai-chat',
])

const id = z.string().min(1).describe('Unique id of the feedback.')
const fields = {
  property: z.string().min(1).describe('What is rated.'),
  value: z
    .union([z.string(), z.number(), z.array(z.string())])
    .describe('Texts for choices, a text for a correction, or a number.'),
  trace_id: z.string().min(1).describe('The trace that is rated.'),
}
/** What submits feedback. */
export const FeedbackBody = z.object({
  ...fields,
  id: id.optional().describe('Made when left out.'),
  product: Product.default('deployments'),
})
/** The answer to it. */
export const FeedbackAnswer = z.object({ ...fields, id, product: Product })
/** What removes feedback, and the answer. */
export const FeedbackRemoval = z.object({ id, trace_id: fields.trace_id, product: Product })
/** Feedback as it is kept once its event has been applied. */
export const Feedback = z.object({ _id: z.string(), ...fields, id, product: Product, ...common })

/** Something that was dispatched, and is applied in its turn. */
export const Event = z.object({
  _id: Ulid,
  type: z.string().describe('What happens, such as `feedback.submitted`.'),
  subject: z.string().optional().describe('What it is about: events of one subject are applied in turn.'),
  status: z.enum(['dispatched', 'applied', 'failed']).describe('Whether it waits, was applied, or was given up.'),
  attempts: z.int().min(0).default(0).describe('How often it was tried and failed; after 5 times it has failed.'),
  error: z.string().nullable().default(null).describe('Why it failed last.'),
  data: z.looseObject({}).describe('What the event says, by its kind.'),
  applied_at: z.iso.datetime().describe('When it was applied: ISO 8601; null before.').nullable(),
  ...common,
})
