// Guardrails: checks of what the user says and of what is answered; the first that blocks ends the call. Streams go out
// while they are made, so output guardrails check whole answers alone; the trace says where one did not check.
import { ApiError } from '../contract/error.ts'
import type { GuardrailRecord } from '../contract/trace.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Running } from './attempt.ts'

/** What a guardrail looks at. */
export interface Judged {
  /** Texts of the stage: all of the user, or all of the answer. */
  texts: readonly string[]
  /** The user's last words. */
  input: string
  /** Aborted when nobody waits for the verdict any more. */
  signal: AbortSignal
}
/** What a guardrail makes of it. */
export type Verdict = Pick<GuardrailRecord, 'outcome' | 'reason' | 'evaluation'>
/** One guardrail; throws `ApiError` when it cannot be run. */
export type Check = (judged: Judged) => Promise<Verdict>

/** Knows guardrails by id. */
export interface Guardrails {
  /** The check of that id, undefined when nothing goes by it; `param` is where the call names it. Throws `ApiError` when it is of no use as one. */
  find(id: string, session: Session, param: string): Promise<Check | undefined>
  /** Ids that are built in. */
  ids(): readonly string[]
}

/** A guardrail that a call asks for. */
export interface Guard {
  id: string
  stage: 'input' | 'output'
  param: string
  check: Check
}

/**
 * The guardrails of a call, in order.
 * @throws ApiError 404 for an unknown one, whatever its stage.
 */
export function guardsOf({ settings, session }: Running, guardrails: Guardrails): Promise<Guard[]> {
  return Promise.all(
    settings.guardrails.map(async ({ id, execute_on: stage }, index) => {
      const param = `guardrails[${index}]`
      const check = await guardrails.find(id, session, `${param}.id`)
      if (!check) throw unknown(id, `${param}.id`, guardrails)
      return { id, stage, param, check }
    }),
  )
}

/**
 * Runs the guardrails of one stage over its texts; without texts, as of a stream, it only notes that they did not check.
 * @throws ApiError 422 `guardrail_violation` naming guardrail, stage and reason.
 */
export async function guard(
  { signal, prompt, recording }: Running,
  guards: readonly Guard[],
  { stage, texts }: { stage: Guard['stage']; texts: readonly string[] | undefined },
): Promise<void> {
  for (const { id, param, check } of guards.filter((one) => one.stage === stage)) {
    const verdict: Verdict = texts ? await check({ texts, input: prompt.user, signal }) : STREAMED
    recording.guardrail({ id, stage, ...verdict })
    if (verdict.outcome !== 'blocked') continue
    const message = `the ${stage} does not pass the guardrail ${JSON.stringify(id)}: ${verdict.reason}`
    throw new ApiError(422, 'guardrail_violation', message, { param })
  }
}

const STREAMED: Verdict = { outcome: 'unchecked', reason: 'the answer is a stream', evaluation: null }

const unknown = (id: string, param: string, { ids }: Guardrails) =>
  new ApiError(
    404,
    'guardrail_not_found',
    `there is no guardrail ${JSON.stringify(id)}; built in: ${ids().join(', ')}, besides the evaluators of the workspace by key or id`,
    { param },
  )
