// Answers calls of the workspace through the faults of the scenario that is played.
import { ApiError, envelope } from '../contract/error.ts'
import type { FaultFacts, WorkspaceRead } from '../contract/fault.ts'
import type { Reply } from '../contract/reply.ts'
import type { Route, RouteInput } from '../contract/route.ts'
import type { Run } from '../scenarios/engine.ts'
import type { Runs } from '../scenarios/runs.ts'
import type { Session } from '../sessions/sessions.ts'
import { withFaults } from './attempt.ts'
import { CLIENT_GONE } from './outcome.ts'
import { put } from './respond.ts'

/** What the faults of the workspace depend on. */
export interface WorkspaceDeps {
  runs: Runs
  sessionOf(request: Request): Session
}

/** What was done in the workspace since a scenario began. */
interface History {
  writes: number
  reads: WorkspaceRead[]
}
const MOST_READS = 200

/** Makes routes of the workspace answer through the faults of scenarios. */
export function throughFaults({ runs, sessionOf }: WorkspaceDeps): (route: Route) => Route {
  const histories = new WeakMap<Run, History>()
  const historyOf = (run: Run): History => {
    const history = histories.get(run) ?? { writes: 0, reads: [] }
    histories.set(run, history)
    return history
  }
  return (route) => ({
    ...route,
    async handle(input) {
      const session = sessionOf(input.request)
      const run = runs.ofCall(session, input.request.headers.get('x-understudy-scenario'))
      if (!run) return route.handle(input)
      try {
        return await played(route, input, { session, run, history: historyOf(run) })
      } catch (error) {
        if (input.request.signal.aborted) return new Response(null, { status: CLIENT_GONE })
        throw error
      }
    },
  })
}

interface Playing {
  session: Session
  run: Run
  history: History
}

async function played(route: Route, input: RouteInput, { session, run, history }: Playing): Promise<Response> {
  const { request } = input
  const { clock } = session
  const { pathname, search } = new URL(request.url)
  const url = `${pathname}${search}`
  const call = { method: request.method, url, ...history }
  const about = {
    operation: { name: route.operationId ?? `${route.method} ${route.path}`, path: route.path },
    request: input.body ?? input.query,
    model: '',
    stream: false,
  }
  const facts: FaultFacts = {
    ...about,
    at: 'workspace',
    path: pathname,
    position: 0,
    attempt: 1,
    headers: request.headers,
    identity: undefined,
    thread: undefined,
    text: '',
    key: run.keyOf(`${request.method} ${url} ${JSON.stringify(input.body)}`),
    now: clock.now(),
  }
  const applied: string[] = []
  const reply = await withFaults(run.faults(facts), () => answered(route, input, { url, history }), {
    about: { ...about, call, clock, signal: request.signal },
    applied: (rule) => applied.push(rule),
  })
  const headers = { 'x-understudy-scenario': run.name, 'x-understudy-faults': applied.join(', ') }
  return put({ ...reply, headers: { ...reply.headers, ...headers } }, undefined)
}

/** The real answer, noted in the history. */
async function answered(
  route: Route,
  input: RouteInput,
  { url, history }: { url: string; history: History },
): Promise<Reply> {
  const read = (reply: Reply) => {
    history.reads.push({ url, writes: history.writes, reply })
    if (history.reads.length > MOST_READS) history.reads.shift()
  }
  const isRead = route.method === 'get'
  try {
    const reply = await replyOf(await route.handle(input))
    if (isRead) read(reply)
    else history.writes++
    return reply
  } catch (error) {
    if (isRead && error instanceof ApiError) read({ ...valueReply(envelope(error)), status: error.status })
    throw error
  }
}

const valueReply = (value: unknown): Reply => ({
  status: 200,
  headers: {},
  body: { kind: 'value', value },
  usage: null,
  fixture: null,
  synthesized: false,
})

async function replyOf(answer: object): Promise<Reply> {
  if (!(answer instanceof Response)) return valueReply(answer)
  const { 'content-type': contentType = '', ...headers } = Object.fromEntries(answer.headers)
  const about = { ...valueReply(undefined), status: answer.status, headers }
  if (contentType.startsWith('application/json'))
    return { ...about, body: { kind: 'value', value: await answer.json() } }
  return { ...about, body: { kind: 'bytes', contentType, bytes: await answer.bytes() } }
}
