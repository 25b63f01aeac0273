// Plays recorded attempts again under a scenario made from them, in this process and on a virtual clock.
import type { TraceRecord } from '../../contract/core/trace.ts'
import { allOperations } from '../../endpoints/index.ts'
import type { EvidenceAttempt, EvidenceOutcome } from '../../evidence/evidence.ts'
import { scenarioValue } from '../../evidence/scenario-text.ts'
import { asObject, objectsIn } from '../../lib/values.ts'
import type { CommandIo } from '../io.ts'
import { inProcess, makeCall, postJson, rehearsalConfig } from './in-process.ts'

const SESSION = 'evidence'

/**
 * The attempts whose outcome is not the recorded one, with their numbers from 1; empty if the scenario reproduces all of
 * them.
 * @throws Error if the scenario cannot be activated
 */
export async function rehearseAttempts(
  { env, log }: Pick<CommandIo, 'env' | 'log'>,
  text: string,
  attempts: readonly EvidenceAttempt[],
) {
  const { send, sessions } = inProcess(rehearsalConfig(env), log)
  const post = async (path: string, body: object) => {
    const response = await postJson(send, path, body)
    if (!response.ok) throw new Error(await response.text())
  }
  try {
    const session = { name: SESSION, scenario: withoutSilence(scenarioValue(text)), clock: 'virtual', latency: 'skip' }
    await post('/_understudy/sessions', session)
    await post(`/_understudy/sessions/${SESSION}/clock`, { freeze: true })
    const found: { number: number; attempt: EvidenceAttempt; recorded: string; rehearsed: string }[] = []
    let now = 0
    for (const [index, attempt] of attempts.entries()) {
      const { at = now } = attempt
      if (at > now) await post(`/_understudy/sessions/${SESSION}/clock`, { advance: at - now })
      now = at
      const call = callOf(attempt)
      if (!call) continue
      await makeCall(send, `/s/${SESSION}${call.path}`, call.body)
      const page = asObject(await (await send(`/s/${SESSION}/_understudy/traces?limit=1`)).json())
      const rehearsed = tracedName(objectsIn(page?.data)[0])
      const recorded = comparedName(attempt.outcome)
      if (rehearsed !== recorded) found.push({ number: index + 1, attempt, recorded, rehearsed })
    }
    return found
  } finally {
    sessions.close()
  }
}

/** Silence would move the clock; that there is no response can be seen without it. */
function withoutSilence(value: unknown): object {
  const scenario = asObject(value) ?? {}
  return {
    ...scenario,
    rules: objectsIn(scenario.rules).map((rule) =>
      asObject(rule.fault)?.type === 'hang' ? { ...rule, fault: { type: 'reset' } } : rule,
    ),
  }
}

/** A direct call to the target of an attempt; undefined for an operation that takes a file. */
function callOf({ operation: name, provider, model, stream }: EvidenceAttempt) {
  const operation = allOperations().find((one) => one.name === name)
  if (operation?.body !== 'json') return undefined
  const { shape } = operation.request
  // Not every model accepts the options of an example.
  const required = Object.entries(Object.values(operation.examples)[0] ?? {}).filter(
    ([name]) => !shape[name]?.safeParse(undefined).success,
  )
  const body = { ...Object.fromEntries(required), ...(model !== undefined && { model: `${provider}/${model}` }) }
  const path = operation.path.replace('/v2/router', '/v1')
  return { path, body: 'stream' in shape ? { ...body, stream } : body }
}

/** Outcomes as a trace tells them apart: every connection that ended early is the same, and every error in place of a success. */
const comparedName = (outcome: EvidenceOutcome): string => {
  if (outcome.kind === 'status') return `status ${outcome.status}`
  if (outcome.kind === 'error body') return 'stream error'
  return outcome.kind === 'succeeded' || outcome.kind === 'stream error' ? outcome.kind : 'broken off'
}

function tracedName(found: object | undefined): string {
  const trace = found as TraceRecord | undefined
  const attempt = trace?.attempts.at(-1)
  if (!trace || !attempt) return 'no attempt'
  if (attempt.outcome === 'succeeded') return 'succeeded'
  if (attempt.outcome === 'http_error' && trace.status < 400) return 'stream error'
  return attempt.outcome === 'http_error' ? `status ${attempt.status}` : 'broken off'
}
