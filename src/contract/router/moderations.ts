// Moderation on the wire: the input texts, the result of each, and fixture replies.

import { z } from 'zod'
import { describedList } from '../core/described.ts'
import { Timing } from './script.ts'
import { CallFields, ModelId } from './shared.ts'

/** The categories of moderation. */
export const MODERATION_CATEGORIES = [
  'hate',
  'hate/threatening',
  'harassment',
  'harassment/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
] as const
/** Name of a moderation category, such as `violence/graphic`. */
export type ModerationCategory = (typeof MODERATION_CATEGORIES)[number]

const Part = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string().describe('The text.') }),
  z.looseObject({
    type: z.literal('image_url'),
    image_url: z.looseObject({ url: z.string().describe('URL.') }).describe('The image.'),
  }),
])

/** The body of `POST /v2/router/moderations`; unknown fields are kept. */
export const ModerationRequest = z.looseObject({
  input: z
    .union([z.string(), z.array(z.string()).min(1), z.array(Part).min(1)])
    .describe('A string, several strings, or the parts of one input. Images are ignored.'),
  model: ModelId.default('openai/omni-moderation-latest').meta({ examples: ['openai/omni-moderation-latest'] }),
  ...CallFields,
})
export type ModerationRequest = z.infer<typeof ModerationRequest>

const each = <Value extends z.ZodType>(value: Value) =>
  z.object(
    Object.fromEntries(MODERATION_CATEGORIES.map((one) => [one, value.describe(`Of ${one}.`)])) as Record<
      ModerationCategory,
      Value
    >,
  )

/** The response: a result for each text, in order. */
export const ModerationList = z.object({
  id: z.string().describe('Id of the response.'),
  model: z.string().describe('The model that responded.'),
  results: describedList('One result per text.', {
    flagged: z.boolean().describe('Whether the input is flagged for any category.'),
    categories: each(z.boolean()).describe('Flags by category.'),
    category_scores: each(z.number().min(0).max(1)).describe('Scores by category, from 0 to 1.'),
    category_applied_input_types: each(z.array(z.literal('text'))).describe(
      'Input types that were checked: only text.',
    ),
  }),
})
export type ModerationList = z.infer<typeof ModerationList>

/** The `reply` of a moderation fixture. By default, lists of English words decide. */
export const ModerationScript = z.strictObject({
  flagged: z
    .array(z.enum(MODERATION_CATEGORIES))
    .optional()
    .describe('What every text is flagged for; nothing when the list is empty.'),
  timing: Timing.optional().describe('How fast the reply comes.'),
})
export type ModerationScript = z.infer<typeof ModerationScript>
