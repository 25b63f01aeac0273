// Runs evaluators on texts.
import { SlowSchema, schemaProblems } from '../../answers/schemas.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { Evaluation } from '../../contract/core/trace.ts'
import type { EvaluatorFields } from '../../contract/workspace/evaluator.ts'
import type { AskModel } from '../../gateway/ask.ts'
import type { CallOrigin } from '../../gateway/call.ts'
import type { GuardrailInput } from '../../gateway/types.ts'
import { TemplateTooLong } from '../../lib/template-budget.ts'
import { fillText } from '../../lib/templates.ts'
import { isObject, parsedJson } from '../../lib/values.ts'
import { quote } from '../../schema/validation.ts'
import { kindOf, passing, together } from './evaluator-value.ts'

/** The result of an evaluator. */
interface EvaluationResult extends Evaluation {
  /** What is wrong with the texts, or with the evaluator's own response; null if it gives no reason. */
  reason: string | null
}

/** The context of an evaluation. */
interface EvaluationContext {
  /** The call that is evaluated. */
  origin: CallOrigin
  ask: AskModel
  judged: GuardrailInput
  /** Additional variables of the prompt, as `{{log.<name>}}`. */
  values?: Readonly<Record<string, unknown>> | undefined
}

/** Statuses of the errors of an evaluation: a reset, an unusable schema, or a failure of its model. */
export const EVALUATION_ERRORS = [409, 422, 429, 500, 502, 503, 504] as const

/**
 * Evaluates texts: a model all of them together, a schema each of them.
 * @throws ApiError that names the evaluator if it or its model cannot be used
 */
export async function evaluate(evaluator: EvaluatorFields, working: EvaluationContext): Promise<EvaluationResult> {
  try {
    return await (evaluator.type === 'llm_eval'
      ? askModel(evaluator, working)
      : working.origin.session.clock.work(checkSchema(evaluator, working)))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { status, code, message, headers } = error
    throw new ApiError(status, code, `the evaluator ${JSON.stringify(evaluator.key)} failed: ${message}`, {
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_CALL_HEADERS.test(name))),
    })
  }
}

/** Headers about the evaluator's own call, which do not concern the evaluated one. */
const OWN_CALL_HEADERS = /^(x-understudy-|x-request-id$|age$)/

/** Maximum number of reported problems. */
const MAX_PROBLEMS = 3

async function checkSchema(
  { schema = {} }: EvaluatorFields,
  { judged: { texts, signal }, origin }: EvaluationContext,
): Promise<EvaluationResult> {
  const { SchemaError } = await import('../../lib/json-schema/index.ts')
  const problems: string[] = []
  for (const text of texts) {
    try {
      problems.push(...(await schemaProblems(schema, text, { signal, jobLimits: origin.session.jobLimits })))
    } catch (error) {
      if (error instanceof SlowSchema)
        throw new ApiError(422, 'slow_schema', `its schema cannot be used: ${error.message}`)
      if (error instanceof SchemaError)
        throw new ApiError(400, 'invalid_schema', `its schema is malformed: ${error.message}`)
      if (!(error instanceof SyntaxError)) throw error
      problems.push('it is not JSON')
    }
  }
  const reason = problems.length === 0 ? null : problems.slice(0, MAX_PROBLEMS).join('; ')
  return { value: reason === null, reason, model: null, fixture: null, generated: false, traces: [] }
}

async function askModel(
  evaluator: EvaluatorFields,
  { origin, ask, judged, values }: EvaluationContext,
): Promise<EvaluationResult> {
  const { model = '', prompt = '', repetitions = 1, guardrail_config: config } = evaluator
  const { schema: value, description, read, plausible } = kindOf(evaluator)
  const question = {
    model,
    system: `You judge a text. Answer with JSON alone: {"value": ...}, where the value is ${description}.`,
    user: filled(prompt, judged, values),
    schema: { type: 'object', properties: { value }, required: ['value'], additionalProperties: false },
  }
  const answers = []
  for (let round = 0; round < repetitions; round++) {
    const key = judged.key === undefined ? undefined : `${judged.key}:${round}`
    answers.push(await ask(origin, { ...question, key }))
  }
  const [{ fixture, generated } = { fixture: null, generated: false }] = answers
  const about = { model, fixture, generated, traces: answers.map(({ trace }) => trace) }
  // Without a scripted verdict, the call passes.
  if (generated) return { ...about, value: config ? passing(config) : plausible, reason: null }
  const parsed = answers.map(({ text }) => read(String(valueIn(text)).trim()))
  const unread = parsed.indexOf(null)
  if (unread < 0) return { ...about, value: together(parsed), reason: null }
  return {
    ...about,
    value: null,
    reason: `its model returned ${quote(answers[unread]?.text)}, which is not ${description}`,
  }
}

/** The prompt with the evaluated texts, or followed by them if it has no variable for them. */
function filled(prompt: string, { texts, input }: GuardrailInput, values: EvaluationContext['values'] = {}): string {
  const output = texts.join('\n\n')
  try {
    const full = fillText(prompt, { ...values, log: { ...values, output, input }, output, input })
    return full === prompt ? `${prompt}\n\n${output}` : full
  } catch (error) {
    if (!(error instanceof TemplateTooLong)) throw error
    throw new ApiError(422, 'prompt_too_long', `its prompt cannot be filled in: ${error.message}`)
  }
}

/** The value in a response: that of the requested object, or the response itself. */
function valueIn(text: string): unknown {
  const parsed = parsedJson(text)
  return isObject(parsed) && 'value' in parsed ? parsed.value : (parsed ?? text)
}
