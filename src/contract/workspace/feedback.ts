// Feedback on generations, and the events that carry it.
import { z } from 'zod'
import { common, Ulid } from './shared.ts'

/** The products that feedback can refer to. */
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
  property: z.string().min(1).describe('The rated aspect.'),
  value: z
    .union([z.string(), z.number(), z.array(z.string())])
    .describe('Strings for choices, a string for a correction, or a number.'),
  trace_id: z.string().min(1).describe('The rated trace.'),
}
/** The body that submits feedback. */
export const FeedbackBody = z.object({
  ...fields,
  id: id.optional().describe('Generated if omitted.'),
  product: Product.default('deployments'),
})
/** The response to it. */
export const FeedbackAnswer = z.object({ ...fields, id, product: Product })
/** The body that removes feedback, and the response. */
export const FeedbackRemoval = z.object({ id, trace_id: fields.trace_id, product: Product })
/** Stored feedback, once its event has been applied. */
export const Feedback = z.object({ _id: z.string(), ...fields, id, product: Product, ...common })

/** A dispatched event, which is applied in order. */
export const Event = z.object({
  _id: Ulid,
  type: z.string().describe('Event type, such as `feedback.submitted`.'),
  subject: z.string().optional().describe('Subject of the event. Events with the same subject are applied in order.'),
  status: z.enum(['dispatched', 'applied', 'failed']).describe('Whether the event is pending, applied, or failed.'),
  attempts: z.int().min(0).default(0).describe('Number of failed attempts. The event fails after 5.'),
  error: z.string().nullable().default(null).describe('Reason of the last failure.'),
  data: z.looseObject({}).describe('Payload of the event. Its format depends on the type.'),
  applied_at: z.iso.datetime().describe('When it was applied: ISO 8601. Null before that.').nullable(),
  ...common,
})
