// Guardrails check the user's input and the response; the first that blocks ends the call. Streams are sent while they
// are generated, so output guardrails check only whole responses. The trace shows which ones did not run.
import { ApiError } from '../contract/core/error.ts'
import type { CallOrigin } from './call.ts'
import type { Settings } from './settings.ts'
import type { ReplyContent } from './stream/read.ts'
import type { CallContext, CallGuardrail, GuardrailDirectory, GuardrailVerdict } from './types.ts'

/**
 * The guardrails of a call, in order.
 * @throws ApiError 404 for an unknown guardrail of any stage.
 */
export function guardsOf(
  settings: Settings,
  origin: CallOrigin,
  guardrails: GuardrailDirectory,
): Promise<CallGuardrail[]> {
  return Promise.all(
    settings.guardrails.map(async ({ id, execute_on: stage }, index) => {
      const param = `guardrails[${index}]`
      const check = await guardrails.find(id, origin, `${param}.id`)
      if (!check) throw unknown(id, `${param}.id`, guardrails)
      return { id, stage, param, check }
    }),
  )
}

/**
 * Checks everything the user wrote, or the response, if there is one; for a stream, records that it was not checked.
 * @throws ApiError 422 `guardrail_violation` with guardrail, stage and reason.
 */
export async function guard(
  { call, operation, request, prompt, recording }: CallContext,
  guards: readonly CallGuardrail[],
  response?: ReplyContent,
): Promise<void> {
  const stage = response ? 'output' : 'input'
  const selected = guards.filter((one) => one.stage === stage)
  if (selected.length === 0) return
  const answered = response?.kind === 'whole' ? (operation.outputTexts?.(response.value as object) ?? []) : undefined
  const texts = response ? answered : (operation.inputTexts?.(request) ?? [prompt.user])
  for (const { id, param, check } of selected) {
    const of = call.inner?.key
    const key = of === undefined ? undefined : `${of}:${param}`
    const started_ms = recording.elapsed()
    const verdict: GuardrailVerdict = texts
      ? await check({ texts, input: prompt.user, signal: call.signal, key })
      : STREAMED
    recording.guardrail({ id, stage, ...verdict, started_ms, duration_ms: recording.elapsed() - started_ms })
    if (verdict.outcome !== 'blocked') continue
    const message = `the ${stage} does not pass the guardrail ${JSON.stringify(id)}: ${verdict.reason}`
    throw new ApiError(422, 'guardrail_violation', message, { param })
  }
}

const STREAMED: GuardrailVerdict = { outcome: 'unchecked', reason: 'the response is a stream', evaluation: null }

function unknown(id: string, param: string, { ids }: GuardrailDirectory): ApiError {
  const message = `there is no guardrail ${JSON.stringify(id)}; built in: ${ids().join(', ')}, besides the evaluators of the workspace by key or id`
  return new ApiError(404, 'guardrail_not_found', message, { param })
}
