// What the traces of a run show: its calls, their recovery paths, and their routing.

import { NO_OPERATION } from '../contract/core/operation.ts'
import type { StoredTrace } from '../contract/core/trace.ts'
import { operationNamed } from '../endpoints/index.ts'
import { type Settings, settingsOf } from '../gateway/settings.ts'
import { withoutRandom } from '../lib/secrets.ts'
import { inSlices } from '../lib/slices.ts'
import { safeParse } from '../schema/validation.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { brokeOff, type ClientCall, clientCalls } from '../verdict/client-call.ts'
import { type CallShape, hasPoint, observedCall } from './injection-points.ts'
import { addRecoveryPaths } from './recovery-paths.ts'
import type { ObservedCall, ObservedRun } from './types.ts'

/**
 * The client calls of all sessions, by session in order of arrival, and their routing. Other calls are answered while
 * very many are read; it ends early, with a part of them, when the signal aborts.
 */
export async function seenIn(sessions: Pick<Sessions, 'list'>, signal?: AbortSignal): Promise<SeenCalls> {
  const seen: SeenCalls = { calls: [], recoveryPaths: {}, routes: [] }
  for (const { traces } of sessions.list())
    await inSlices([...traces.since(0)], (evidence) => {
      if (signal?.aborted) return
      const { trace } = evidence
      const stored = trace.internal || trace.operation === NO_OPERATION ? undefined : traces.get(trace.id)
      const [client] = clientCalls([evidence])
      if (stored && client)
        addCall(seen, { stored, path: traces.exchange(trace.id)?.note.address, client: withResponse(client) })
    })
  return seen
}

/** The call with what the verdict may need of its response loaded: its session is gone by then. */
function withResponse(client: ClientCall): ClientCall {
  const text = brokeOff(client) ? client.responseText() : ''
  const cut = client.outcome === 'succeeded' ? client.cutCalls() : []
  return { ...client, responseText: () => text, cutCalls: () => cut }
}

type SeenCalls = Pick<ObservedRun, 'calls' | 'recoveryPaths' | 'routes'>

/** Adds a call of a client as it was stored; the path is absent if it is that of the operation. */
function addCall(
  { calls, recoveryPaths, routes }: SeenCalls,
  { stored, path, client }: { stored: StoredTrace; path: string | undefined; client: ClientCall },
): void {
  const { request, rendered: _, response: __, ...trace } = stored
  const parsed = parsedRequest(stored)
  const observed = observedCall({ trace, client, shape: shapeOf(stored, parsed), request })
  calls.push(observed)
  if (!parsed || !hasPoint(observed)) return
  const settings = settingsOf(parsed.operation, parsed.request)
  addRecoveryPaths(recoveryPaths, trace, { operation: observed.point.name, settings })
  const name = routeName(observed, settings)
  const known = name === undefined || routes.some((route) => route.name === name)
  if (!known && parsed.operation.body === 'json')
    routes.push({ name, path: path?.replace(SESSION, '') ?? parsed.operation.path, request, plan: trace.plan })
}

const SESSION = /^\/s\/[^/]+(?=\/)/

/** The routing of a call as text; undefined for one model without options. */
function routeName({ point, trace: { plan } }: ObservedCall, settings: Settings) {
  const { retry, callTimeout, balance, fallbacks } = settings
  if (!retry && callTimeout === undefined && fallbacks.length === 0) return undefined
  return [
    `${point.name}${point.stream ? ' stream' : ''}: ${balance ? balance.map(({ model }) => model).join(' or ') : plan[0]}`,
    ...(retry ? [`retry ${retry.count} on ${retry.codes.join(' ')}`] : []),
    ...(callTimeout === undefined ? [] : [`timeout ${callTimeout} ms`]),
    ...fallbacks.map((model) => `then ${model}`),
  ].join(', ')
}

/** The request of a call, parsed again; for another API, as it was understood. Undefined if it is not stored. */
function parsedRequest({ operation: name, request, rendered }: StoredTrace) {
  const operation = operationNamed(name)
  for (const body of [request, rendered]) {
    const parsed = operation && safeParse(operation.request, body)
    if (operation && parsed?.success) return { operation, request: parsed.data }
  }
  return undefined
}

/** Characters of a prompt that are searched for secrets, and of those that name its call. */
const MAX_SEARCHED = 2_000
const MAX_NAMED = 40

/** The first words of a text without secrets. */
function firstWords(text: string): string {
  const words = withoutRandom(text.slice(0, MAX_SEARCHED)).trim().split(/\s+/)
  let first = ''
  for (const word of words) {
    if (first.length + word.length >= MAX_NAMED) return `${first || word.slice(0, MAX_NAMED)}…`
    first += first === '' ? word : ` ${word}`
  }
  return first
}

/** The facts of a call's request; empty if it is not stored. */
function shapeOf({ task }: StoredTrace, parsed: ReturnType<typeof parsedRequest>): CallShape {
  const prompt = parsed?.operation.prompt(parsed.request)
  return {
    turn: prompt?.turn ?? task?.turn ?? 1,
    offersTools: (prompt?.tools.length ?? 0) > 0,
    demandsJson: prompt?.answer === 'json',
    agent: task?.agent ?? null,
    prompt: firstWords(prompt?.user || prompt?.system || ''),
  }
}
