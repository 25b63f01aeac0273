// One call from its body to its answer: the recipe of the gateway, each step a file beside this one.
import type { Backend } from '../contract/backend.ts'
import type { Making, Operation } from '../contract/operation.ts'
import { chance } from '../lib/chance.ts'
import { providerOf } from '../providers/catalogue.ts'
import { DEFAULT_SESSION, type Session } from '../sessions/sessions.ts'
import type { Answer, Running } from './attempt.ts'
import { cacheKey, findStored } from './cache.ts'
import { type Guardrails, guard } from './guardrails.ts'
import { type Knowledge, retrieve } from './knowledge.ts'
import { errorOf } from './outcome.ts'
import { planOf } from './plan.ts'
import { startRecording } from './recorder.ts'
import { respond } from './respond.ts'
import { route } from './route.ts'
import { settingsOf } from './settings.ts'
import { renderVariables } from './variables.ts'

/** One client request to an operation. */
export interface Call {
  operation: Operation
  session: Session
  /** The body as it came; that of a form as the JSON of its fields. */
  text: string
  /** Whether the trace may keep the body and the answer. */
  retained: boolean
  /** The address that was called. */
  url: string
  /** Aborted when the client has gone. */
  signal: AbortSignal
  /** Parses and validates the body; throws `ApiError`. */
  parse(): unknown
}

/** What the gateway answers with. */
export interface Gateway {
  backend: Backend
  guardrails: Guardrails
  knowledge: Knowledge
}

/** Answers one call and records it; user mistakes and the last failure are recorded too and thrown as `ApiError`. */
export async function handle(call: Call, gateway: Gateway): Promise<Response> {
  const { operation, session, signal } = call
  const recording = startRecording(call)
  try {
    const parsed = call.parse() as object
    const settings = settingsOf(operation, parsed)
    recording.describe(parsed, settings)
    const making = makingOf(call, recording)
    const luck = () => chance(session.seed, session.name, 'balance', recording.seq)
    const targets = planOf(operation.model(parsed), settings, luck)
    for (const { model, param } of targets) providerOf(model, param)
    recording.plan(targets)
    const primary = targets[0]?.model
    const rendered = (await renderVariables(operation, parsed)) as object
    const balanced = settings.balance ? { ...rendered, model: primary } : rendered
    const resolved = (operation.resolve ? await operation.resolve(balanced, making) : balanced) as object
    const request = await retrieve(resolved, { operation, settings, session, recording }, gateway.knowledge)
    if (rendered !== parsed || request !== resolved) recording.rendered(request)
    const stream = operation.streams(request)
    const prompt = operation.prompt(request)
    const running: Running = {
      operation,
      session,
      request,
      stream,
      prompt,
      settings,
      making,
      signal,
      recording,
      backend: gateway.backend,
    }
    await guard(running, 'input', operation.inputTexts?.(request) ?? [prompt.user], gateway.guardrails)
    const key = settings.cacheTtl === undefined ? undefined : cacheKey(running)
    const answer = (key === undefined ? undefined : cached(running, key)) ?? (await answered(running, targets))
    if (answer.content.kind === 'whole') {
      const texts = operation.outputTexts?.(answer.content.value as object) ?? []
      await guard(running, 'output', texts, gateway.guardrails)
    }
    return await respond(answer, running, key)
  } catch (error) {
    await recording.refuse(error)
    throw error
  }
}

async function answered(running: Running, targets: Parameters<typeof route>[1]): Promise<Answer> {
  const outcome = await route(running, targets)
  if (outcome.kind === 'answered') return outcome
  running.recording.failed(outcome)
  throw errorOf(outcome)
}

/** The stored answer to an equal call as one that needs no attempt. */
function cached(running: Running, key: string): Answer | undefined {
  const { operation, request, making, stream, recording, session } = running
  const stored = findStored(running, key)
  recording.cache(key, stored && session.clock.now() - stored.at)
  if (!stored) return undefined
  const { model, usage } = stored
  const told = operation.replay?.(request, stored.answer, making)
  const content =
    stream && told
      ? { kind: 'stream' as const, events: told.events() }
      : { kind: 'whole' as const, value: told?.body() ?? stored.answer }
  return { kind: 'answered', model, content, from: { headers: {}, usage, fixture: null, synthesized: false } }
}

function makingOf({ session, url }: Call, { id, started }: { id: string; started: number }): Making {
  return {
    id,
    now: started,
    secret: session.secret,
    kept: session.kept,
    publicUrl: (path) => `${new URL(url).origin}${session.name === DEFAULT_SESSION ? '' : `/s/${session.name}`}${path}`,
  }
}
