// Finds guardrails by id: built-in ones, and the evaluators of the workspace by key or id.
import { inWorker } from '../../answers/in-worker.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { EvaluatorFields } from '../../contract/workspace/evaluator.ts'
import type { AskModel } from '../../gateway/ask.ts'
import type { CallOrigin } from '../../gateway/call.ts'
import type { GuardrailCheck, GuardrailDirectory } from '../../gateway/types.ts'
import type { BuiltIn } from '../../guardrails/define.ts'
import { builtIns } from '../../guardrails/index.ts'
import type { Session } from '../../sessions/sessions.ts'
import { packTexts } from '../../workers/packed-texts.ts'
import { evaluate } from './evaluate.ts'
import { expectedValue, passes } from './evaluator-value.ts'
import { evaluators } from './evaluators.ts'

/** The dependencies of guardrails. */
interface GuardrailDeps {
  /** The prefix of the built-in ids. */
  namespace: string
  /** Seeds the workspace of a new session. */
  prepare(session: Session): Promise<void>
  ask: AskModel
}

/** The guardrails of every session. */
export function guardrailsOf({ namespace, prepare, ask }: GuardrailDeps): GuardrailDirectory {
  const byId = new Map(builtIns.map((one) => [`${namespace}_${one.name}`, one]))
  return {
    ids: () => [...byId.keys()],
    async find(id, origin, param) {
      const { session, caller } = origin
      const builtIn = byId.get(id)
      if (builtIn) return builtInCheck(builtIn, session)
      await prepare(session)
      const found = session.records.named(evaluators.kind, caller().workspace, id) as EvaluatorFields | undefined
      return found && evaluatorCheck(found, { origin, ask, param })
    },
  }
}

/** Texts of up to so many characters in total are checked on the main thread. */
const CHECKED_HERE = 2_000

const builtInCheck =
  ({ name, check }: BuiltIn, { clock, jobLimits: limits }: Session): GuardrailCheck =>
  async ({ texts, signal }) => {
    const isLong = texts.reduce((sum, { length }) => sum + length, 0) > CHECKED_HERE
    const stopped = (why: string) =>
      new ApiError(422, 'guardrail_stopped', `the guardrail ${name} did not check a text: checking takes ${why}`)
    const checked = isLong
      ? inWorker('checkTexts', { ...packTexts(texts), guardrail: name }, { signal, limits, stopped })
      : check(texts)
    const reason = await clock.work(checked)
    return { outcome: reason === null ? 'passed' : 'blocked', reason, evaluation: null }
  }

function evaluatorCheck(
  evaluator: EvaluatorFields,
  { param, ...working }: { origin: CallOrigin; ask: AskModel; param: string },
): GuardrailCheck {
  const { guardrail_config: config, key } = evaluator
  if (!config) {
    const message = `the evaluator ${JSON.stringify(key)} has no guardrail_config, which defines what passes; add one, such as {"enabled": true, "type": "boolean", "value": true}`
    throw new ApiError(400, 'guardrail_not_configured', message, { param })
  }
  return async (judged) => {
    if (!config.enabled)
      return { outcome: 'unchecked', reason: 'its guardrail_config is not enabled', evaluation: null }
    const { reason, ...evaluation } = await evaluate(evaluator, { ...working, judged })
    if (passes(evaluation.value, config)) return { outcome: 'passed', reason: null, evaluation }
    const why = reason ?? `it gave ${JSON.stringify(evaluation.value)}, and what passes is ${expectedValue(config)}`
    return { outcome: config.alert_on_failure ? 'alerted' : 'blocked', reason: why, evaluation }
  }
}
