// One call from its body to its answer: the recipe of the gateway, each step a file beside this one.
import type { Backend } from '../contract/backend.ts'
import type { Hold } from '../contract/connection.ts'
import type { Injected } from '../contract/fault.ts'
import type { Making, Operation } from '../contract/operation.ts'
import type { Caller } from '../contract/record.ts'
import { chance } from '../lib/chance.ts'
import { providerOf } from '../providers/catalogue.ts'
import type { Runs } from '../scenarios/runs.ts'
import { DEFAULT_SESSION, type Session } from '../sessions/sessions.ts'
import type { Answer, Running } from './attempt.ts'
import { findStored, keyOf } from './cache.ts'
import { type Guard, type Guardrails, guard, guardsOf } from './guardrails.ts'
import { type Knowledge, retrieve } from './knowledge.ts'
import { errorOf } from './outcome.ts'
import { planOf, type Target } from './plan.ts'
import { type Recording, startRecording } from './recorder.ts'
import { put, tell } from './respond.ts'
import { route } from './route.ts'
import { type Settings, settingsOf } from './settings.ts'
import { respondThroughFaults } from './through-faults.ts'
import { renderVariables } from './variables.ts'

/** One client request to an operation. */
export interface Call {
  operation: Operation
  session: Session
  /** Who calls, worked out when it is asked for. */
  caller(): Caller
  /** The body as it came; that of a form as the JSON of its fields. */
  text: string
  /** Whether the trace may keep the body and the answer. */
  retained: boolean
  /** The address that was called. */
  url: string
  headers: Headers
  /** Aborted when the client has gone. */
  signal: AbortSignal
  /** Finds the client's connection, for what cannot be said in HTTP. */
  hold?: Hold | undefined
  /** Parses and validates the body; throws `ApiError`. */
  parse(): unknown
}

/** What the gateway answers with. */
export interface Gateway {
  backend: Backend
  guardrails: Guardrails
  knowledge: Knowledge
  runs: Runs
  people: People
}

/** Knows the people on whose behalf calls are made. */
export interface People {
  /** Makes a person known to the workspace who is not yet; resolves when that is committed. */
  meet(identity: NonNullable<Settings['identity']>, call: Pick<Call, 'session' | 'caller'>): Promise<void>
}

/** Answers one call and records it; user mistakes and the last failure are recorded too and thrown as `ApiError`. */
export async function handle(call: Call, gateway: Gateway): Promise<Response> {
  // The scenario may have changed, and its clock with it: the call keeps to the one that it begins on.
  gateway.runs.current(call.session)
  const recording = startRecording(call)
  try {
    const { running, targets } = await prepare(call, recording, gateway)
    const cacheKey = running.settings.cacheTtl === undefined ? undefined : keyOf(running)
    const guards = await guardsOf(running, gateway.guardrails)
    const answer = async () => tell(await answerOf(running, { targets, cacheKey, guards }), { running, cacheKey })
    const faults = faultsHeard(running)
    if (faults.length === 0) return put(await answer())
    return await respondThroughFaults(faults, running, { answer, connection: await call.hold?.() })
  } catch (error) {
    await recording.refuse(error)
    throw error
  }
}

/** Parses and renders a call and plans where it may go. */
async function prepare(call: Call, recording: Recording, gateway: Gateway) {
  const { operation, session, signal } = call
  const parsed = call.parse() as object
  const settings = settingsOf(operation, parsed)
  recording.describe(parsed, settings)
  const playing = gateway.runs.ofCall(session, call.headers.get('x-understudy-scenario'))
  recording.playing(playing)
  const making = makingOf(call, recording)
  const luck = () => chance(session.seed, session.name, 'balance', recording.seq)
  const targets = planOf(operation.model(parsed), settings, luck)
  for (const { model, param } of targets) providerOf(model, param)
  recording.plan(targets)
  const rendered = (await renderVariables(operation, parsed)) as object
  const balanced = settings.balance ? { ...rendered, model: targets[0]?.model } : rendered
  const resolved = (operation.resolve ? await operation.resolve(balanced, making) : balanced) as object
  const request = await retrieve(resolved, { operation, settings, session, recording }, gateway.knowledge)
  if (settings.identity) await gateway.people.meet(settings.identity, call)
  if (rendered !== parsed || request !== resolved) recording.rendered(request)
  const prompt = operation.prompt(request)
  const running: Running = {
    operation,
    session,
    request,
    stream: operation.streams(request),
    prompt,
    settings,
    making,
    signal,
    recording,
    backend: gateway.backend,
    playing,
    facts: {
      headers: call.headers,
      key: playing?.keyOf(call.text) ?? '',
      text: prompt.user,
      identity: settings.identity?.id,
      thread: settings.thread?.id,
    },
  }
  return { running, targets }
}

interface Ways {
  targets: readonly Target[]
  cacheKey: string | undefined
  guards: readonly Guard[]
}

/** The answer of a call: from the cache or from its targets, with the guardrails before and behind. */
async function answerOf(running: Running, { targets, cacheKey, guards }: Ways): Promise<Answer> {
  const { operation, request, prompt } = running
  await guard(running, guards, { stage: 'input', texts: operation.inputTexts?.(request) ?? [prompt.user] })
  const stored = cacheKey === undefined ? undefined : cached(running, cacheKey)
  const answer = stored ?? (await answered(running, targets))
  const { content } = answer
  const texts = content.kind === 'whole' ? (operation.outputTexts?.(content.value as object) ?? []) : undefined
  await guard(running, guards, { stage: 'output', texts })
  return answer
}

/** The faults between the gateway and the client. */
function faultsHeard({ playing, facts, operation, request, stream, session }: Running): readonly Injected[] {
  if (!playing) return []
  const place = { at: 'gateway' as const, position: 0, attempt: 1, now: session.clock.now() }
  return playing.faults({ ...facts, ...place, operation, request, stream, model: operation.model(request) })
}

async function answered(running: Running, targets: readonly Target[]): Promise<Answer> {
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
