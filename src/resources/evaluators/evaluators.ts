// Evaluators, with a version for each change.
import { Evaluator, EvaluatorBody, EvaluatorUpdate } from '../../contract/workspace/evaluator.ts'
import { defineResource, PAGED } from '../define.ts'
import { projectOfRecord } from '../projects.ts'
import { versionsOf } from '../versions.ts'

const friendly = {
  type: 'llm_eval',
  mode: 'single',
  key: 'friendly',
  path: 'Default',
  model: 'openai/gpt-4o',
  prompt: 'Is this answer friendly? {{log.output}}',
  output_type: 'boolean',
  guardrail_config: { enabled: true, type: 'boolean', value: true, alert_on_failure: false },
}

/** Evaluators (the specification, "Evaluator"). */
export const evaluators = defineResource({
  kind: 'evaluator',
  noun: 'evaluator',
  tag: 'Evaluators',
  path: '/v2/evaluators',
  param: 'id',
  deletedStatus: 204,
  ...PAGED,
  shown: ['create'],
  descriptions: {
    create:
      'Creates an evaluator. `llm_eval` in mode `single` calls a model; `json_schema` validates. Jury mode, `http_eval`, and `python_eval` are not emulated.',
  },
  examples: { create: { friendly }, update: { repeated: { repetitions: 3 } } },
  create: EvaluatorBody,
  update: EvaluatorUpdate,
  record: Evaluator,
  key: 'key',
  versioned: true,
  fill: (input, work, { before }) => ({ ...input, project_id: projectOfRecord(work, input, before) }),
  show: ({ output_type: _, schema, ...evaluator }) => ({
    ...evaluator,
    ...(schema !== undefined && { schema: JSON.stringify(schema) }),
  }),
})

/** The versions of evaluators (the specification, "Version record"). */
export const evaluatorVersions = versionsOf(evaluators, {
  shown: ['list'],
  limitDescription:
    '1 to 200, default 10. The specification names both 1 to 50 and 1 to 200; Understudy accepts the wider range.',
})
