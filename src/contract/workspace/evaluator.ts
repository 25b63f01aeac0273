// Evaluators: a model or a schema judges a text.

import { z } from 'zod'
import { nestingProblem } from '../../lib/nesting.ts'
import { describedList, describedObject } from '../core/described.ts'
import { Evaluation } from '../core/trace.ts'
import { ModelId } from '../router/shared.ts'
import { common, Key, Path, Ulid, Uuid, VersionPatch } from './shared.ts'

const operator = z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte'])
const guardrail = {
  enabled: z.boolean().describe('Whether the evaluator can be used as a guardrail.'),
  alert_on_failure: z.boolean().describe('Stored, but no alert is sent.').default(false),
}
const GuardrailConfig = z
  .discriminatedUnion('type', [
    z.object({
      ...guardrail,
      type: z.literal('boolean'),
      value: z.boolean().describe('The passing result, or the value to compare with.'),
    }),
    z.object({
      ...guardrail,
      type: z.literal('categorical'),
      values: z.array(z.string()).min(1).describe('The passing results.'),
    }),
    z.object({
      ...guardrail,
      type: z.literal('number'),
      value: z.number().describe('The passing result, or the value to compare with.'),
      operator: operator.describe('Comparison of the result with `value`.'),
    }),
  ])
  .describe('Which results pass if the evaluator is used as a guardrail.')

const shared = {
  path: Path,
  key: Key.describe('Must be unique in the workspace.'),
  description: z.string(),
  guardrail_config: GuardrailConfig.nullish(),
}
const llm = {
  prompt: z.string().describe('Prompt. `{{log.output}}` and `{{log.input}}` insert the texts to evaluate.'),
  mode: z.literal('single', { error: "must be 'single': a jury is not emulated" }),
  model: ModelId,
  output_type: z.enum(['boolean', 'categorical', 'number', 'string']).describe('Type of the result.').optional(),
  repetitions: z
    .int()
    .min(1)
    .max(3)
    .describe('Number of model calls. The median or most common result counts.')
    .optional(),
  categories: z.array(z.string()).describe('The possible results.').optional(),
  categorical_labels: describedList('The possible results with an explanation of each.', {
    value: z.string().describe('The result.'),
    description: z.string().describe('Explanation for the model.').optional(),
  }).optional(),
}
const schema = {
  schema: z
    .union([z.string().transform(parsedSchema), z.looseObject({})])
    .describe('JSON Schema that the text must match, as a JSON string or an object.'),
}
/** Parses a schema that is given as JSON text. */
function parsedSchema(text: string, context: z.RefinementCtx): Record<string, unknown> {
  const refuse = (message: string) => {
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
      return refuse('must be the JSON of an object')
    const problem = nestingProblem(parsed)
    return problem === undefined ? (parsed as Record<string, unknown>) : refuse(problem)
  } catch (error) {
    return refuse(`must be JSON: ${(error as Error).message}`)
  }
}
/** The error for another type. */
export const EVALUATOR_TYPES =
  "must be 'llm_eval' or 'json_schema': evaluators that run code or call a server are not emulated"
const withDefaults = { ...shared, path: Path.default('Default'), description: z.string().default('') }

/** The body that creates an evaluator. */
export const EvaluatorBody = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('llm_eval'), ...withDefaults, ...llm, mode: llm.mode.default('single') }),
    z.object({ type: z.literal('json_schema'), ...withDefaults, ...schema }),
  ],
  { error: EVALUATOR_TYPES },
)
/** The body that changes one. The type cannot change. */
export const EvaluatorPatch = z.object({ ...shared, ...llm, ...schema }).partial()
/** The same with the fields of the new version. */
export const EvaluatorUpdate = EvaluatorPatch.extend(VersionPatch)
/** An evaluator in a response. */
export const Evaluator = z.object({
  _id: Ulid,
  type: z.enum(['llm_eval', 'json_schema']).describe('Whether a model or a schema evaluates the text.'),
  ...shared,
  ...z
    .object({ ...llm, schema: z.string().describe('JSON Schema that the text must match, as JSON.') })
    .partial()
    .omit({ output_type: true }).shape,
  project_id: Uuid,
  ...common,
})

/** The stored fields that an evaluation needs. */
export type EvaluatorFields = Pick<z.infer<typeof Evaluator>, '_id' | 'key' | 'type' | 'guardrail_config'> &
  Partial<z.infer<typeof EvaluatorPatch>>
/** How the value of an evaluator decides whether a guardrail blocks. */
export type GuardrailConfig = z.infer<typeof GuardrailConfig>

/** The body that runs an evaluator. */
export const RunBody = z.object({
  text: z.string().describe('Output to evaluate: `{{log.output}}` in the prompt.'),
  input: z.string().default('').describe('User input: `{{log.input}}` in the prompt.'),
})
/** The result of a run. */
export const RunAnswer = Evaluation.extend({
  id: z.string().describe('Id of the evaluator.'),
  key: z.string().describe('Key of the evaluator.'),
  passed: z
    .boolean()
    .nullable()
    .describe('Whether the text passes according to guardrail_config. Null if no guardrail_config is set.'),
  reason: z.string().nullable().describe('What is wrong with the text or the model response.'),
})

/** The body that invokes an evaluator. */
export const InvokeBody = z.object({
  query: z.string().nullish().describe('User input: `{{log.input}}` in the prompt.'),
  output: z.string().nullish().describe('Output to evaluate: `{{log.output}}` in the prompt.'),
  reference: z.string().nullish().describe('Expected output: `{{log.reference}}` in the prompt.'),
  retrievals: z.array(z.string()).nullish().describe('Retrieved texts: `{{log.retrievals}}` in the prompt.'),
  messages: z.array(z.looseObject({})).nullish().describe('Conversation: `{{log.messages}}` in the prompt.'),
  model: ModelId.nullish().describe('Replaces the model of the evaluator.'),
})
/** The result of an invocation, by type. */
export const InvokeAnswer = z.discriminatedUnion('type', [
  z.object({ type: z.literal('boolean'), value: z.boolean().describe('Result.') }),
  z.object({
    type: z.literal('llm_evaluator'),
    value: describedObject('Result.', {
      workflow_run_id: z.string().describe('The trace of the model call.'),
      value: z
        .union([z.number(), z.boolean(), z.string()])
        .nullable()
        .describe('Result of the model. Null if it cannot be parsed.'),
      explanation: z.string().describe('Why there is no result, or null.').nullable(),
    }),
  }),
])
