// The route that runs one evaluator on a text, as a guardrail would.

import { asRoute, type Route } from '../../contract/core/route.ts'
import { type EvaluatorFields, RunAnswer, RunBody } from '../../contract/workspace/evaluator.ts'
import { notFound } from '../define.ts'
import type { ResourceDeps } from '../routes.ts'
import { whileSession } from '../while-session.ts'
import { EVALUATION_ERRORS, evaluate } from './evaluate.ts'
import { passes } from './evaluator-value.ts'
import { evaluators } from './evaluators.ts'

/** `POST /_understudy/evaluators/:id/run`: evaluates a text with one evaluator. */
export function evaluatorRunRoute({ callOf, guardrails, ask }: ResourceDeps): Route {
  return asRoute({
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
      const { session, caller } = await callOf(request)
      const isKnown = guardrails.ids().includes(id) || session.records.named(evaluators.kind, caller.workspace, id)
      if (!isKnown) throw notFound(evaluators, id, 'id')
    },
    async handle({ request, params: { id = '' }, body: { text, input } }) {
      const { session, caller } = await callOf(request)
      return whileSession(session, request, async (signal) => {
        const { headers, url } = request
        const origin = { session, caller: () => caller, headers, url, signal, retained: true, trace: null }
        const judged = { texts: [text], input, signal }
        const builtIn = guardrails.ids().includes(id) ? await guardrails.find(id, origin, 'id') : undefined
        if (builtIn) {
          const { outcome, reason } = await builtIn(judged)
          const passed = outcome === 'passed'
          return {
            id,
            key: id,
            passed,
            reason,
            value: passed,
            model: null,
            fixture: null,
            generated: false,
            traces: [],
          }
        }
        const found = session.records.named(evaluators.kind, caller.workspace, id)
        if (!found) throw notFound(evaluators, id, 'id')
        const evaluator = found as EvaluatorFields
        const { _id, key, guardrail_config: config } = evaluator
        const result = await evaluate(evaluator, { origin, ask, judged })
        return { id: _id, key, passed: config ? passes(result.value, config) : null, ...result }
      })
    },
  })
}
