// Everything beside the router operations: the workspace, the control API, Swagger UI, and what no route takes.

import { asReceived, callerOf, checkSeen, hasToken, sessionName, tokenOf } from '../access.ts'
import type { TaskService } from '../agents/loop/tasks.ts'
import { compatApis } from '../compat/index.ts'
import { ApiError } from '../contract/core/error.ts'
import { needsNoBody, type Route, type RouteGroup } from '../contract/core/route.ts'
import { EVENT } from '../contract/workspace/record.ts'
import { AGENT_TASK } from '../contract/workspace/task-record.ts'
import { controlGroups } from '../control/index.ts'
import type { ControlDeps } from '../control/types.ts'
import { isSitePath, SITE, SITE_PATHS, siteHandlers } from '../docs/site.ts'
import { type BodyLimits, RECORD_VALUES, readBody, readForm, readJson } from '../endpoints/body.ts'
import { toNamespace } from '../endpoints/deployment-names.ts'
import { typedFields } from '../endpoints/form.ts'
import { allOperations, endpoints, operationNamed, operationNames } from '../endpoints/index.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import { capital } from '../lib/units.ts'
import type { TurnCalls } from '../observers/task-readers.ts'
import type { EventQueue } from '../resources/knowledge/events.ts'
import { parseRequest } from '../schema/validation.ts'
import { UnusableSession } from '../sessions/refusals.ts'
import type { Session } from '../sessions/sessions.ts'
import { createMounts, type Mountable } from './mounts.ts'
import type { RouteHandler } from './router.ts'
import { withTurnExchange } from './turn-exchange.ts'
import type { AppDeps, RouteContext, Verdicts } from './types.ts'
import { answerUnrouted } from './unrouted.ts'
import { type NoteCall, type SentParts, workspaceNotes } from './workspace-notes.ts'
import type { WorkspaceDeps } from './workspace-routes.ts'

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
    name: `${capital(name)}Error`,
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
  const allTasks = once(() => agents.loop().createTaskService(deps))
  const tasks = once(() => (service = agents.clients().forClients(allTasks(), verdicts.readers, turns)))
  const { queue, counts } = startWork(deps, tasks)
  const wake = (session: Session) => {
    queue().wake(session)
    service?.sweep(session)
  }
  const groups = routeGroups(deps, { ...verdicts, sessionOf, responses, events: counts, wake, tasks, allTasks })
  const noted = workspaceNotes({
    calls: verdicts.workspaceCalls,
    sessions: deps.sessions,
    nameOf: (request) => sessionName(request, tokenOf(request)),
    sessionOf: (request) => sessionOf(request, true),
  })
  const anyToken = deps.access.token.length === 0
  const { version } = deps.about
  const mountable = ({ under, routes }: RouteGroup): Mountable => ({
    under,
    routes,
    handlers: () =>
      routes().map((route) => [`${route.method.toUpperCase()} ${route.path}`, handlerOf(route, { ...deps, noted })]),
  })
  const routes = once(() => [...groups.own, ...groups.workspace()].flatMap((group) => group.routes()))
  const documented = () => ({ operations: allOperations, routes: routes(), ...documentedApis, version })
  const pages: readonly Mountable[] = [
    {
      under: ['/swagger', '/favicon.ico'],
      routes: () => publicGets(swagger().docPaths),
      handlers: () =>
        gets(swagger().docHandlers({ documented, rename: (text) => toNamespace(text, deps.namespace), anyToken })),
      page: { version, anyToken },
    },
    {
      under: [SITE],
      routes: () => publicGets(SITE_PATHS),
      handlers: () => gets(siteHandlers((request) => asReceived(request).url)),
    },
  ]
  const paths = () => {
    const shown = [...routes(), ...pages.flatMap((page) => page.routes())]
    return [...posted, ...shown.map(({ method, path }) => ({ method: method.toUpperCase(), path }))]
  }
  const unrouted = (request: Request) => {
    try {
      return answerUnrouted(request, { paths, unknownPaths: verdicts.unknownPaths, sessionOf })
    } catch (refusal) {
      return render(refusal, request)
    }
  }
  const mountedAt = createMounts(
    [...groups.own.map(mountable), ...pages],
    once(() => groups.workspace().map(mountable)),
    (thrown, request, isUnrouted) => (isUnrouted ? unrouted(request) : render(thrown, request)),
  )
  return {
    async fetch(request: Request): Promise<Response> {
      const mounted = mountedAt(new URL(request.url).pathname)
      const response = await kept(request, () => (mounted ? mounted.router.fetch(request) : unrouted(request)))
      // What a page of ours may do, no page of others may have done by a frame with ours in it.
      const { headers } = response
      if (headers.get('content-type')?.startsWith('text/html') && !headers.has(POLICY)) headers.set(POLICY, NO_FRAMES)
      return response
    },
    /** All paths, with parameters as `:name`. */
    paths: () => [...endpoints, ...routes()].map(({ path }) => path).concat(apiPaths),
    /** Whether a request for a path needs no token: a browser that opens a page has none to send. */
    isPublic: (pathname: string) => isSitePath(pathname) || (mountedAt(pathname)?.isPublic(pathname) ?? false),
  }
}

const posted = [...endpoints.map(({ path }) => path), ...apiPaths].map((path) => ({ path, method: 'POST' }))
const gets = (handlers: ReadonlyMap<string, RouteHandler>) =>
  [...handlers].map(([path, handler]) => [`GET ${path}`, handler] as const)
const publicGets = (paths: readonly string[]) => paths.map((path) => ({ method: 'get', path, public: true }))

/** The control API and the compatible APIs, and the workspace, which is loaded when none of those takes a request. */
function routeGroups(
  deps: AppDeps,
  {
    wake,
    tasks,
    allTasks,
    ...shared
  }: {
    wake(session: Session): void
    /** The tasks for clients, and those for others, whose reads are not noted. */
    tasks(): TaskService
    allTasks(): TaskService
  } & Pick<ControlDeps, 'sessionOf' | 'responses' | 'events'> &
    Verdicts,
): { own: readonly RouteGroup[]; workspace(): readonly RouteGroup[] } {
  const { sessionOf } = shared
  const { access, ask, gateway, sessions, strict } = deps
  const { guardrails, observers, runs } = gateway
  const sessionNameOf = (request: Request) => sessionName(request, tokenOf(request))
  const control = controlGroups({
    ...deps,
    ...shared,
    sessionNameOf,
    mustBeSeen: (name, request) => checkSeen(name, sessionNameOf(request), deps.instanceStrict),
    observers,
    runs,
    hasToken: (request) => hasToken(request, access),
    operations: operationNames,
    operation: operationNamed,
  })
  const callOf = async (request: Request) => {
    const session = sessionOf(request)
    await deps.prepare(session)
    return { session, caller: callerOf(tokenOf(request), access) }
  }
  const workspaceDeps: WorkspaceDeps = {
    resources: {
      ...{ callOf, wake, strict, sessionOf, observers, guardrails, ask },
      replacing: (session) => shared.earlier.before(session, 'snapshot'),
    },
    tasks,
    allTasks,
    callOf,
    receivedUrl: (request) => asReceived(request).url,
    limits: deps,
    faults: { runs, sessionOf, count: ({ name }) => void sessions.get(name) },
  }
  const own: RouteGroup[] = [
    ...control,
    { under: ['/_understudy/workspace'], routes: () => [workspace().workspaceViewRoute(workspaceDeps)] },
    { under: ['/v1'], routes: () => compatApis.flatMap((api) => api.routes(deps.defaultProvider)) },
  ]
  return { own: own.map(madeOnce), workspace: once(() => workspace().workspaceGroups(workspaceDeps).map(madeOnce)) }
}
const madeOnce = ({ under, routes }: RouteGroup): RouteGroup => ({ under, routes: once(routes) })

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
function startWork({ sessions, fixtures, gateway, report }: AppDeps, tasks: () => TaskService) {
  let created: EventQueue | undefined
  const queue = once(() => (created = workspace().createQueue(report)))
  const wake = (session: Session) => {
    // Checked first, since there may be a thousand unloaded sessions.
    const waiting = session.keyedKinds()
    try {
      if (waiting.includes(EVENT)) queue().wake(session)
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
  return { queue, counts: () => created?.counts() ?? { waiting: 0, failed: 0 } }
}

const agents = {
  loop: lazy<typeof import('../agents/loop/tasks.ts')>(() => require('../agents/loop/tasks.ts')),
  clients: lazy<typeof import('../agents/http/client-tasks.ts')>(() => require('../agents/http/client-tasks.ts')),
}
const workspace = lazy<typeof import('./workspace-routes.ts')>(() => require('./workspace-routes.ts'))
const swagger = lazy<typeof import('../docs/swagger.ts')>(() => require('../docs/swagger.ts'))
const READS = new Set(['GET', 'HEAD'])
const POLICY = 'content-security-policy'
const NO_FRAMES = "frame-ancestors 'none'"

interface RouteServing extends BodyLimits {
  noted: NoteCall
}

function handlerOf(route: Route, { noted, ...limits }: RouteServing): RouteHandler {
  const refusesQuery = isControl(route) && route.query === undefined
  const answer = async (request: Request, params: Record<string, string | null> | undefined, sent: SentParts) => {
    const named = readable(params)
    const schema = route.readsBody ? undefined : route.body
    let [query, body]: unknown[] = [{}]
    try {
      if (refusesQuery) refuseQuery(request)
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

/** Whether a route belongs to the control API. Probes and scrapers may add parameters to public paths, which change nothing. */
const isControl = ({ path, public: isPublic = false }: Route) => path.startsWith('/_understudy/') && !isPublic

/**
 * Rejects a query where none is read: a name such as `session` would be ignored, and another session changed.
 * @throws ApiError 400
 */
function refuseQuery({ url }: Request): void {
  const [name] = url.includes('?') ? new URL(url).searchParams.keys() : []
  if (name === undefined) return
  const hint = name === 'session' ? "; name the session in the address (/s/NAME/...) or in 'x-understudy-session'" : ''
  const message = `'${name}' is not known; valid: none, since this path has no query parameters${hint}`
  throw new ApiError(400, 'invalid_value', message, { param: name })
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
    : await readJson(bytes, type, anySize ? Number.POSITIVE_INFINITY : RECORD_VALUES)
  if ('refused' in read) throw read.refused
  return form ? typedFields(read.value as object, form) : read.value
}
