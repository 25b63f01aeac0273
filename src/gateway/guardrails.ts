// Guardrails: checks of what the user says and of what is answered; the first that does not pass ends the call.
import { ApiError } from '../contract/error.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Running } from './attempt.ts'

/** Why a text does not pass; null when it does. */
export type Verdict = string | null

/** Knows guardrails by id. */
export interface Guardrails {
  /** The check of that id, undefined when nothing goes by it. */
  find(id: string, session: Session): ((texts: readonly string[]) => Promise<Verdict>) | undefined
  /** Ids that are built in. */
  readonly ids: readonly string[]
}

/**
 * Runs the call's guardrails of one stage over some texts.
 * @throws ApiError 422 `guardrail_violation` naming guardrail, stage and reason; 404 for an unknown guardrail.
 */
export async function guard(
  { settings, session, recording }: Running,
  stage: 'input' | 'output',
  texts: readonly string[],
  guardrails: Guardrails,
): Promise<void> {
  for (const [index, { id, execute_on }] of settings.guardrails.entries()) {
    const check = guardrails.find(id, session)
    if (!check) throw unknown(id, index, guardrails)
    if (execute_on !== stage) continue
    const reason = await check(texts)
    recording.guardrail({ id, stage, passed: reason === null, reason })
    if (reason !== null) {
      throw new ApiError(
        422,
        'guardrail_violation',
        `the ${stage} does not pass the guardrail ${JSON.stringify(id)}: ${reason}`,
        {
          param: `guardrails[${index}]`,
        },
      )
    }
  }
}

const unknown = (id: string, index: number, { ids }: Guardrails) =>
  new ApiError(
    404,
    'guardrail_not_found',
    `there is no guardrail ${JSON.stringify(id)}; built in: ${ids.join(', ')}, besides the evaluators of the workspace by key or id`,
    { param: `guardrails[${index}].id` },
  )
