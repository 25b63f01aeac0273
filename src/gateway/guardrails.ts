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
 * Checks everything the user wrote.
 * @throws ApiError 422 `guardrail_violation` with guardrail, stage and reason.
 */
export function guardInput(callContext: CallContext, guards: readonly CallGuardrail[]): Promise<void> {
  const { operation, request, prompt } = callContext
  return guard(callContext, guards, { stage: 'input', texts: () => operation.inputTexts?.(request) ?? [prompt.user] })
}

/**
 * Checks the response; for a stream, records that it was not checked.
 * @throws ApiError 422 `guardrail_violation` with guardrail, stage and reason.
 */
export function guardOutput(
  callContext: CallContext,
  guards: readonly CallGuardrail[],
  content: ReplyContent,
): Promise<void> {
  const { operation } = callContext
  const texts = () => (content.kind === 'whole' ? (operation.outputTexts?.(content.value as object) ?? []) : undefined)
  return guard(callContext, guards, { stage: 'output', texts })
}

async function guard(
  callContext: CallContext,
  guards: readonly CallGuardrail[],
  { stage, texts: readTexts }: { stage: CallGuardrail['stage']; texts(): readonly string[] | undefined },
): Promise<void> {
  const selected = guards.filter((one) => one.stage === stage)
  if (selected.length === 0) return
  const texts = readTexts()
  for (const { id, param, check } of selected) {
    const { call, prompt, recording } = callContext
    const of = recording.call.inner?.key
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
