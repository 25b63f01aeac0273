// The route that invokes an evaluator on a request, a response and related data.
import { ApiError } from '../../contract/core/error.ts'
import { asRoute, type Route } from '../../contract/core/route.ts'
import { type EvaluatorFields, InvokeAnswer, InvokeBody } from '../../contract/workspace/evaluator.ts'
import type { Caller, Fields } from '../../contract/workspace/record.ts'
import type { Session } from '../../sessions/sessions.ts'
import { notFound } from '../define.ts'
import type { ResourceDeps } from '../routes.ts'
import { EVALUATION_ERRORS, evaluate } from './evaluate.ts'
import { evaluators } from './evaluators.ts'

const evaluatorNamed = (id: string, { records }: Session, { workspace }: Caller): Fields => {
  const found = records.named(evaluators.kind, workspace, id)
  if (!found) throw notFound(evaluators, id)
  return found
}

/**
 * The route.
 * @throws ApiError 400 if a schema has no text to evaluate
 */
export const evaluatorInvokeRoute = ({ callOf, ask }: ResourceDeps): Route =>
  asRoute({
    method: 'post',
    path: '/v2/evaluators/:id/invoke',
    tag: 'Evaluators',
    summary: 'Invoke an evaluator',
    description:
      'Evaluates an output with an evaluator, by id or key. A schema returns a `boolean` result, a model an `llm_evaluator` result. Model responses come from fixtures or are generated, as in any call.',
    operationId: 'invokeEvaluator',
    examples: { polite: { query: 'Where is my parcel?', output: 'It is on its way. Thank you for waiting.' } },
    body: InvokeBody,
    response: InvokeAnswer,
    errors: [404, ...EVALUATION_ERRORS],
    async find({ request, params: { id = '' } }) {
      const { session, caller } = await callOf(request)
      evaluatorNamed(id, session, caller)
    },
    async handle({ request, params: { id = '' }, body }) {
      const { session, caller } = await callOf(request)
      const found = evaluatorNamed(id, session, caller)
      const evaluator = found as EvaluatorFields
      const { output, query, reference, retrievals, messages, model } = body
      if (evaluator.type === 'json_schema' && typeof output !== 'string')
        throw new ApiError(400, 'invalid_value', "'output' is required: it is what the schema judges", {
          param: 'output',
        })
      const { headers, url, signal } = request
      const { value, reason, traces } = await evaluate(model ? { ...evaluator, model } : evaluator, {
        origin: { session, caller: () => caller, headers, url, signal, retained: true, trace: null },
        ask,
        judged: { texts: [output ?? ''], input: query ?? '', signal },
        values: {
          query,
          reference,
          retrievals: retrievals?.join('\n\n'),
          messages: messages && JSON.stringify(messages),
        },
      })
      if (evaluator.type === 'json_schema') return { type: 'boolean', value: value === true }
      return { type: 'llm_evaluator', value: { workflow_run_id: traces[0] ?? '', value, explanation: reason } }
    },
  })
