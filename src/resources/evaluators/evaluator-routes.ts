// The routes that run an evaluator: on a text, as a guardrail would, or on a request, a response and related data.
import { ApiError } from '../../contract/core/error.ts'
import { asRoute, type Route } from '../../contract/core/route.ts'
import {
  type EvaluatorFields,
  InvokeAnswer,
  InvokeBody,
  RunAnswer,
  RunBody,
} from '../../contract/workspace/evaluator.ts'
import { notFound } from '../define.ts'
import type { ResourceDeps } from '../routes.ts'
import { whileSession } from '../while-session.ts'
import { EVALUATION_ERRORS, evaluate } from './evaluate.ts'
import { passes } from './evaluator-value.ts'
import { evaluators } from './evaluators.ts'

type CallContext = Awaited<ReturnType<ResourceDeps['callOf']>>

/**
 * The evaluator with an id or key.
 * @throws ApiError 404 if there is none
 */
function evaluatorNamed(id: string, { session, caller }: CallContext): EvaluatorFields {
  const found = session.records.named(evaluators.kind, caller.workspace, id)
  if (!found) throw notFound(evaluators, id)
  return found as EvaluatorFields
}

/** The origin of the calls of an evaluator. */
const originOf = ({ session, caller }: CallContext, { headers, url }: Request, signal: AbortSignal) => ({
  ...{ session, caller: () => caller, headers, url, signal },
  retained: true,
  trace: null,
})

/** The routes that run an evaluator on a text, and invoke it on an output. The latter rejects a schema without a text. */
export const evaluatorRoutes = ({ callOf, guardrails, ask }: ResourceDeps): Route[] => [
  asRoute({
    method: 'post',
    path: '/_understudy/evaluators/:id/run',
    tag: 'Evaluators',
    summary: 'Run an evaluator',
    description:
      'Evaluates a text with an evaluator, by id or key, or with a built-in guardrail. Model responses come from fixtures or are generated, as in any call.',
    operationId: 'runEvaluator',
    examples: { polite: { text: 'Thank you for waiting. Your parcel is on its way.' } },
    body: RunBody,
    response: RunAnswer,
    errors: [404, ...EVALUATION_ERRORS],
    async find({ request, params: { id = '' } }) {
      const call = await callOf(request)
      if (!guardrails.ids().includes(id)) evaluatorNamed(id, call)
    },
    async handle({ request, params: { id = '' }, body: { text, input } }) {
      const call = await callOf(request)
      return whileSession(call.session, request, async (signal) => {
        const origin = originOf(call, request, signal)
        const judged = { texts: [text], input, signal }
        const builtIn = guardrails.ids().includes(id) ? await guardrails.find(id, origin, 'id') : undefined
        if (builtIn) {
          const { outcome, reason } = await builtIn(judged)
          const passed = outcome === 'passed'
          const about = { model: null, fixture: null, generated: false, traces: [] }
          return { id, key: id, passed, reason, value: passed, ...about }
        }
        const evaluator = evaluatorNamed(id, call)
        const { _id, key, guardrail_config: config } = evaluator
        const result = await evaluate(evaluator, { origin, ask, judged })
        return { id: _id, key, passed: config ? passes(result.value, config) : null, ...result }
      })
    },
  }),
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
      evaluatorNamed(id, await callOf(request))
    },
    async handle({ request, params: { id = '' }, body }) {
      const call = await callOf(request)
      const evaluator = evaluatorNamed(id, call)
      const { output, query, reference, retrievals, messages, model } = body
      if (evaluator.type === 'json_schema' && typeof output !== 'string')
        throw new ApiError(400, 'invalid_value', "'output' is required: it is what the schema judges", {
          param: 'output',
        })
      const { signal } = request
      const { value, reason, traces } = await evaluate(model ? { ...evaluator, model } : evaluator, {
        origin: originOf(call, request, signal),
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
  }),
]
