// The schema of a rule's `match`: which attempts and calls it applies to.
import { z } from 'zod'
import { bodyMatchSchema, textMatchSchema } from '../contract/core/text-match-schema.ts'

/** A number, `a-b` or `a+`, as the first and last number. */
function rangeOf(number: z.ZodInt | z.ZodNumber, digits: string, error: string) {
  const form = new RegExp(`^(${digits})(?:(-)(${digits})|(\\+))?$`)
  return z
    .union([number.min(0), z.string().regex(form, { error })], { error })
    .transform((text): readonly [number, number] => {
      if (typeof text === 'number') return [text, text]
      const [, first, , last, open] = form.exec(text) ?? []
      return [Number(first), open ? Number.POSITIVE_INFINITY : Number(last ?? first)]
    })
    .refine(([first, last]) => first <= last, { error: 'must not end before it starts' })
}

/** `1`, `1-3` or `2+`, as the first and last number. */
export const Range = rangeOf(z.int(), '\\d+', "must be a number, or a range such as '1-3' or '2+'")

/** `0.02`, `0-0.02` or `0.01+`, as the minimum and maximum amount. */
export const Amount = rangeOf(
  z.number(),
  '\\d+(?:\\.\\d+)?',
  "must be an amount in USD, or a range such as '0-0.02' or '0.01+'",
)

const POSITION = { error: "must be 'primary', 'fallback', 'fallback 1' or a position from 0" }
/** A target of the plan. */
export const Position = z
  .union([z.string().regex(/^(primary|fallback( [1-9]\d*)?)$/, POSITION), z.int().min(0)], POSITION)
  .describe("Which target of the plan: 'primary', 'fallback' (any), 'fallback 1', or its position from 0.")

/** The attempts or calls that a rule applies to. All given conditions must hold. */
export const RuleMatch = z.strictObject({
  operation: z
    .string()
    .optional()
    .describe(
      'Name of the operation, such as `chat.completions`, or `getDataset` in the workspace; `*` matches any characters.',
    ),
  path: z.string().optional().describe('Path of the request; `*` matches any characters.'),
  provider: z.string().optional().describe('Name of the provider; `*` matches any characters.'),
  model: z.string().optional().describe('`<provider>/<model>` or `<model>`; `*` matches any characters.'),
  target: Position.optional(),
  called_first: z
    .enum(['provider', 'model'])
    .optional()
    .describe(
      'Only the provider, or the model, that the session called first under the scenario. Fallbacks to others are not affected, whether the gateway or the client falls back.',
    ),
  attempt: Range.optional().describe('Number of the attempt at its target, from 1.'),
  stream: z.boolean().optional().describe('Whether the call is streamed.'),
  internal: z.boolean().optional().describe('Whether the call is internal, such as one of an evaluator.'),
  header: z.record(z.string(), textMatchSchema).optional().describe("The client's request headers by name."),
  session: z
    .string()
    .optional()
    .describe(
      'Name of the session; `*` matches any characters. The rule does not apply to other sessions. A session to which no rule applies has no expectations.',
    ),
  call_site: textMatchSchema
    .optional()
    .describe(
      'Call site in the client, from the header `x-understudy-call-site`; in a string, `*` matches any characters.',
    ),
  identity: z.string().optional().describe('Id of the identity; `*` matches any characters.'),
  thread: z.string().optional().describe('Id of the thread; `*` matches any characters.'),
  body: bodyMatchSchema.optional().describe('Values by path in the body, such as `metadata.tier`.'),
  text: textMatchSchema.optional().describe('The last user message.'),
  agent: z.string().optional().describe('Key of the agent that calls a model or a tool; `*` matches any characters.'),
  task: z.string().optional().describe("Id of the agent's task; `*` matches any characters."),
  iteration: Range.optional().describe('Number of the iteration since the last user message, from 1.'),
  tool: z
    .string()
    .optional()
    .describe('At `tool` and `cancel`: name, key or type of the tool that an agent calls; `*` matches any characters.'),
})
