// Everything beside the router operations: the workspace, the control API, Swagger UI, and what no route takes.

import { z } from 'zod'
import { asReceived, callerOf, checkSeen, hasToken, sessionName, tokenOf } from '../access.ts'
import { a2aRoutes } from '../agents/a2a/routes.ts'
import { forClients } from '../agents/http/client-tasks.ts'
import { taskRoutes } from '../agents/http/routes.ts'
import { runRoutes } from '../agents/http/run-routes.ts'
import type { TaskService } from '../agents/loop/tasks.ts'
import { compatApis } from '../compat/index.ts'
import { ApiError } from '../contract/core/error.ts'
import { asRoute, needsNoBody, type Route } from '../contract/core/route.ts'
import { EVENT } from '../contract/workspace/record.ts'
import { AGENT_TASK } from '../contract/workspace/task-record.ts'
import { controlRoutes } from '../control/index.ts'
import type { ControlDeps } from '../control/types.ts'
import { isSitePath, siteHandlers } from '../docs/site.ts'
import { docHandlers, docPaths } from '../docs/swagger.ts'
import { type BodyLimits, RECORD_VALUES, readAnyJson, readBody, readForm } from '../endpoints/body.ts'
import { toNamespace } from '../endpoints/deployment-names.ts'
import { typedFields } from '../endpoints/form.ts'
import { allOperations, endpoints, operationNamed, operationNames } from '../endpoints/index.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import type { TurnCalls } from '../observers/task-readers.ts'
import { eventHandlers, resourceRoutes } from '../resources/index.ts'
import { createEventQueue, type EventQueue } from '../resources/knowledge/events.ts'
import { throughFaults } from '../resources/through-scenario.ts'
import { parseRequest } from '../schema/validation.ts'
import { UnusableSession } from '../sessions/refusals.ts'
import type { Session } from '../sessions/sessions.ts'
import { type RouteHandler, routerOf } from './router.ts'
import { withTurnExchange } from './turn-exchange.ts'
import type { AppDeps, RouteContext } from './types.ts'
import { answerUnrouted, pathRegex } from './unrouted.ts'
import { type NoteCall, type SentParts, workspaceNotes } from './workspace-notes.ts'

/** The documentation of the compatible APIs. */
const documentedApis = {
  aliases: () =>
    compatApis.flatMap(({ name: api, tag, paths, shown }) =>
      Object.entries(paths).map(([path, endpoint]) => {
        const operation = endpoint.operation()
        return { path, door: api, tag, operation: shown?.(operation) ?? operation, same: shown === undefined }
      }),
    ),
  errorShapes: compatApis.map(({ name, prefix, errorBody }) => ({
    prefix,
    name: `${name[0]?.toUpperCase()}${name.slice(1)}Error`,
    schema: errorBody,
  })),
}
const apiPaths = compatApis.flatMap(({ paths }) => Object.keys(paths))

/** Mounts every route that is no router operation. */
export function createRoutes(deps: AppDeps, { sessionOf: find, render, responses, mark, verdicts }: RouteContext) {
  const sessionOf = sessionPerRequest(find)
  const turns: TurnCalls = new WeakMap()
  const kept = withTurnExchange({ turns, asReceived, mark })
  let service: TaskService | undefined
  const allTasks = once(() => agents().createTaskService(deps))
  const tasks = once(() => (service = forClients(allTasks(), verdicts.readers, turns)))
  const queue = startWork(deps, tasks)
  const wake = (session: Session) => {
    queue.wake(session)
    service?.sweep(session)
  }
  const { access, ask, gateway, sessions, strict } = deps
  const { guardrails, observers, runs } = gateway
  const sessionNameOf = (request: Request) => sessionName(request, tokenOf(request))
  const control = controlRoutes({
    ...{ ...deps, ...verdicts, sessionOf, responses, sessionNameOf, observers, runs },
    mustBeSeen: (name, request) => checkSeen(name, sessionNameOf(request), deps.instanceStrict),
    hasToken: (request) => hasToken(request, access),
    operations: operationNames,
    operation: operationNamed,
    events: queue.counts,
  })
  const receivedUrl = (request: Request) => asReceived(request).url
  const callOf = async (request: Request) => {
    const session = sessionOf(request)
    await deps.prepare(session)
    return { session, caller: callerOf(tokenOf(request), access) }
  }
  const workspace = resourceRoutes({
    ...{ callOf, wake, strict, sessionOf, observers, guardrails, ask },
    replacing: (session) => verdicts.earlier.before(session, 'snapshot'),
  })
  const forTasks = { tasks, callOf, receivedUrl }
  const faulty = throughFaults({ runs, sessionOf, count: ({ name }) => void sessions.get(name) })
  const routes = [
    ...control,
    // Reads of the inspector are not noted as those of clients.
    workspaceViewRoute([...workspace, ...taskRoutes({ ...forTasks, tasks: allTasks })]),
    ...compatApis.flatMap((api) => api.routes(deps.defaultProvider)),
    // The workspace has the faults of scenarios.
    ...[...workspace, ...taskRoutes(forTasks), ...runRoutes(forTasks), ...a2aRoutes({ ...forTasks, limits: deps })].map(
      faulty,
    ),
  ]
  const open = routes.filter((route) => route.public).map(({ path }) => path)
  const publicPaths = [...open, ...docPaths].map(pathRegex)
  const posted = [...endpoints.map(({ path }) => path), ...apiPaths].map((path) => ({ path, method: 'POST' }))
  const noted = workspaceNotes({
    calls: verdicts.workspaceCalls,
    sessions,
    nameOf: sessionNameOf,
    sessionOf: (request) => sessionOf(request, true),
  })
  const anyToken = access.token.length === 0
  const { version } = deps.about
  const docs = docHandlers({
    documented: { operations: allOperations, routes, ...documentedApis, version },
    rename: (text) => toNamespace(text, deps.namespace),
    anyToken,
  })
  const handlers = new Map<string, RouteHandler>([
    ...routes.map(
      (route) => [`${route.method.toUpperCase()} ${route.path}`, handlerOf(route, { ...deps, noted })] as const,
    ),
    ...[...docs, ...siteHandlers(receivedUrl)].map(([path, handler]) => [`GET ${path}`, handler] as const),
  ])
  const router = routerOf(
    {
      handlers,
      refuse(thrown, request, isUnrouted) {
        if (!isUnrouted) return render(thrown, request)
        try {
          return answerUnrouted(request, {
            paths: () => [...posted, ...router.routes],
            unknownPaths: verdicts.unknownPaths,
            sessionOf,
          })
        } catch (refusal) {
          return render(refusal, request)
        }
      },
    },
    { version, anyToken },
  )
  return {
    async fetch(request: Request): Promise<Response> {
      const response = await kept(request, () => router.fetch(request))
      // What a page of ours may do, no page of others may have done by a frame with ours in it.
      const { headers } = response
      if (headers.get('content-type')?.startsWith('text/html') && !headers.has(POLICY)) headers.set(POLICY, NO_FRAMES)
      return response
    },
    /** All paths, with parameters as `:name`. */
    paths: [...endpoints, ...routes].map(({ path }) => path).concat(apiPaths),
    /** Whether a request for a path needs no token: a browser that opens a page has none to send. */
    isPublic: (pathname: string) => isSitePath(pathname) || publicPaths.some((path) => path.test(pathname)),
  }
}

/** A request keeps the generation of its session in which it started. */
function sessionPerRequest(find: RouteContext['sessionOf']): ControlDeps['sessionOf'] {
  const begun = new WeakMap<Request, Session>()
  return (request, looks = READS.has(request.method)) => {
    const session = begun.get(request) ?? find(request, looks)
    begun.set(request, session)
    return session
  }
}

/** The event queue of all sessions. Events and agent tasks of an earlier process or generation continue. */
function startWork({ sessions, fixtures, gateway, report }: AppDeps, tasks: () => TaskService): EventQueue {
  const queue = createEventQueue(eventHandlers, report)
  const wake = (session: Session) => {
    // Checked first, since there may be a thousand unloaded sessions.
    const waiting = session.keyedKinds()
    try {
      if (waiting.includes(EVENT)) queue.wake(session)
      if (waiting.includes(AGENT_TASK)) tasks().wake(session)
    } catch (error) {
      // An unreadable session waits until it is used, and reports the error then.
      if (!(error instanceof UnusableSession)) throw error
    }
  }
  for (const session of sessions.list()) wake(session)
  sessions.watch({
    renewed: wake,
    removed(name) {
      fixtures.give(name, [])
      gateway.observers.notify({ type: 'session-changed', session: name, change: 'deleted' })
    },
  })
  return queue
}

const agents = lazy<typeof import('../agents/loop/tasks.ts')>(() => require('../agents/loop/tasks.ts'))
const READS = new Set(['GET', 'HEAD'])
const POLICY = 'content-security-policy'
const NO_FRAMES = "frame-ancestors 'none'"

interface RouteServing extends BodyLimits {
  noted: NoteCall
}

function handlerOf(route: Route, { noted, ...limits }: RouteServing): RouteHandler {
  const answer = async (request: Request, params: Record<string, string | null> | undefined, sent: SentParts) => {
    const named = readable(params)
    const schema = route.readsBody ? undefined : route.body
    let [query, body]: unknown[] = [{}]
    try {
      if (route.query) query = parseRequest(route.query, queryOf(request), { whole: 'the query' })
      const read = schema && (await bodyOf(request, route, limits))
      if (!route.readsBody) sent.body = { value: read }
      if (schema) body = parseRequest(schema, read)
    } catch (refusal) {
      if (refusal instanceof ApiError && INVALID.has(refusal.status)) await route.find?.({ request, params: named })
      throw refusal
    }
    const answered = await route.handle({ request, params: named, query, body })
    if (answered instanceof Response) return answered
    return route.status === 204
      ? new Response(null, { status: 204 })
      : Response.json(answered, { status: route.status ?? 200 })
  }
  return ({ request, params }) => noted(route, request, (sent) => answer(request, params, sent))
}

/** What says that a request is not as it should be. */
const INVALID = new Set([400, 422])

/** The parameters of a path. An invalid encoding is null for the router, and no valid id. */
const readable = (params: Record<string, string | null> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value ?? '']))

/** The query by name. A repeated name has a list of values. */
function queryOf({ url }: Request): Record<string, string | string[]> {
  const { searchParams } = new URL(url)
  const entries = [...searchParams.keys()].map((name) => {
    const values = searchParams.getAll(name)
    return [name, values.length > 1 ? values : (values[0] ?? '')] as const
  })
  return Object.fromEntries(entries)
}

async function bodyOf(request: Request, route: Route, { maxBody, clientTimeout }: BodyLimits): Promise<unknown> {
  const { anySize } = route
  const bytes = await readBody(request, { maxBody: anySize ? Number.POSITIVE_INFINITY : maxBody, clientTimeout })
  if (bytes.byteLength === 0 && needsNoBody(route)) return {}
  const type = request.headers.get('content-type')
  const form = route.bodyType === 'multipart' && route.body ? { request: route.body } : undefined
  const read = form
    ? await readForm(bytes, type, form)
    : await readAnyJson(bytes, type, anySize ? Number.POSITIVE_INFINITY : RECORD_VALUES)
  if ('refused' in read) throw read.refused
  return form ? typedFields(read.value as object, form) : read.value
}

const PREFIX = '/v2/'
const Query = z.strictObject({
  path: z.string().describe('Path of the workspace with its query, URL-encoded, such as `/v2/tools?limit=10`.'),
})

const View = z.record(z.string(), z.unknown()).or(z.array(z.unknown())).describe('As the response of the path.')

/** The route that reads what the GET routes of the workspace return. */
function workspaceViewRoute(routes: readonly Route[]): Route {
  const readable = once(() =>
    routes
      .filter(({ method, path }) => method === 'get' && path.startsWith(PREFIX))
      .map((route) => ({ route, regex: pathRegex(route.path) })),
  )
  return asRoute({
    method: 'get',
    path: '/_understudy/workspace',
    tag: 'Emulator',
    operationId: 'viewWorkspace',
    summary: 'View the workspace',
    description:
      'The response of `GET` with a path of the workspace. Faults do not apply, and the call does not count as one of a client.',
    query: Query,
    response: View,
    errors: [404],
    handle({ request, query }) {
      const { pathname, searchParams } = new URL(query.path, request.url)
      const found = readable().find(({ regex }) => regex.test(pathname))
      if (!found)
        throw new ApiError(404, 'not_found', `${pathname} is not a GET path of the workspace`, { param: 'path' })
      const { route } = found
      return route.handle({
        // Its headers name the session and the caller.
        request: new Request(request.url, { headers: request.headers }),
        params: paramsOf(route.path, pathname),
        query: route.query ? parseRequest(route.query, Object.fromEntries(searchParams), { whole: 'the query' }) : {},
        body: undefined,
      })
    },
  })
}

/** The parameters of a path that matches a route. */
function paramsOf(path: string, pathname: string): Record<string, string> {
  const values = pathname.split('/')
  return Object.fromEntries(
    path
      .split('/')
      .flatMap((part, index) => (part.startsWith(':') ? [[part.slice(1), decoded(values[index] ?? '')]] : [])),
  )
}

/** An invalid encoding is no valid id. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
