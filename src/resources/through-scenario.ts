// Workspace calls with the faults of the active scenario.
import { FAULTS } from '../contract/core/answer-headers.ts'
import { ApiError, refusalBody } from '../contract/core/error.ts'
import { type Reply, valueReply } from '../contract/core/reply.ts'
import type { Route, RouteInput } from '../contract/core/route.ts'
import { toResponse } from '../gateway/stream/respond.ts'
import { parsedJson } from '../lib/values.ts'
import type { ScenarioRun } from '../scenarios/engine.ts'
import type { ScenarioRuns } from '../scenarios/runs.ts'
import type { Session } from '../sessions/sessions.ts'
import { whileSession } from './while-session.ts'

/** The dependencies of workspace faults. */
interface WorkspaceDeps {
  runs: ScenarioRuns
  sessionOf(request: Request): Session
  /** Marks a transient session as used: its scenario has counted a call. */
  count(session: Session): void
}

/** The paths of the API, and those of A2A. */
export const EMULATED = /^\/(v2|a2a)\//

/** Applies the faults of scenarios to the workspace routes. The routes of the emulator itself are unchanged. */
export function throughFaults({ runs, sessionOf, count }: WorkspaceDeps): (route: Route) => Route {
  const handleOf = (route: Route) => async (input: RouteInput) => {
    const session = sessionOf(input.request)
    return whileSession(session, input.request, async (signal) => {
      const run = runs.ofCall(session, input.request.headers.get('x-understudy-scenario'))
      if (!run) return route.handle(input)
      count(session)
      return responseUnder(route, input, { session, signal, run })
    })
  }
  return (route) => (EMULATED.test(route.path) ? { ...route, handle: handleOf(route) } : route)
}

/**
 * The response through the faults of a scenario, which also records reads. The signal aborts when the client disconnects
 * or the session is reset.
 */
async function responseUnder(
  route: Route,
  input: RouteInput,
  { session, signal, run }: { session: Session; signal: AbortSignal; run: ScenarioRun },
): Promise<Response> {
  const { request } = input
  const { pathname, search } = new URL(request.url)
  const url = `${pathname}${search}`
  const applied: string[] = []
  const reply = await run.through(
    {
      at: 'workspace',
      operation: { name: route.operationId, path: route.path },
      path: pathname,
      request: input.body ?? input.query,
      call: { method: request.method, url, reads: run.reads.list },
      ...{ model: '', stream: false, position: 0, attempt: 1 },
      headers: request.headers,
      ...{ identity: undefined, thread: undefined, inner: false, text: '' },
      key: run.keyOf(`${request.method} ${url} ${JSON.stringify(input.body)}`),
    },
    { clock: session.clock, signal, onTriggered: (rule) => applied.push(rule) },
    async () => {
      const answer = await replyOf(route, input)
      if (request.method === 'GET') run.reads.add(url, answer)
      return answer
    },
  )
  const headers = { 'x-understudy-scenario': run.name, [FAULTS]: applied.join(', ') }
  return toResponse({ ...reply, headers: { ...reply.headers, ...headers } })
}

/** The reply of a route, including errors. */
async function replyOf(route: Route, input: RouteInput): Promise<Reply> {
  try {
    const answer = await route.handle(input)
    if (!(answer instanceof Response)) {
      const { status = 200 } = route
      return { ...valueReply(status === 204 ? undefined : answer), status }
    }
    const { 'content-type': contentType = '', ...headers } = Object.fromEntries(answer.headers)
    const reply = { ...valueReply(undefined), status: answer.status, headers }
    // A stream is passed on as it comes.
    if (contentType.startsWith('text/event-stream') && answer.body)
      return { ...reply, body: { kind: 'bytes', contentType, bytes: answer.body } }
    const bytes = await answer.bytes()
    // A file may be called JSON and be something else.
    const value = contentType.startsWith('application/json') ? parsedJson(new TextDecoder().decode(bytes)) : undefined
    return { ...reply, body: value === undefined ? { kind: 'bytes', contentType, bytes } : { kind: 'value', value } }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { ...valueReply(refusalBody(error)), status: error.status, headers: error.headers }
  }
}
