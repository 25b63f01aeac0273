// The HTTP surface: who may call, the routes, and the one place that renders errors. It listens to nothing and does no I/O.
import { Elysia } from 'elysia'
import {
  type AccessOptions,
  callerOf,
  checkHost,
  checkToken,
  requireToken,
  sessionName,
  tokenOf,
  withoutPrefix,
} from './access.ts'
import { ApiError, envelope } from './contract/error.ts'
import type { Route } from './contract/route.ts'
import { parseRequest } from './contract/validation.ts'
import { type ControlDeps, controlRoutes } from './control/index.ts'
import { mountDocs } from './docs/swagger.ts'
import { readBody, readForm, readJson, serveOperation } from './endpoints/define.ts'
import { typedFields } from './endpoints/form.ts'
import { operations } from './endpoints/index.ts'
import { toNamespace } from './endpoints/namespace.ts'
import type { Gateway } from './gateway/handle.ts'
import { createEventQueue } from './resources/events.ts'
import { eventHandlers, resourceRoutes } from './resources/index.ts'
import type { Session, Sessions } from './sessions/sessions.ts'

/** What the routes work on. */
export interface AppDeps {
  sessions: Sessions
  gateway: Gateway
  /** Fills the workspace of a session that is new. */
  prepare(session: Session): Promise<void>
  /** What requests call the service options object. */
  namespace: string
  access: AccessOptions & { cors: readonly string[] }
  maxBody: number
  /** Whether what looks like a mistake is refused instead of noted. */
  strict: boolean
  about: ControlDeps['about']
  /** Told of every error that is not a user's mistake. */
  report(error: unknown): void
}

/** Answers requests; a plain function of its dependencies, so that tests need no server. */
export interface App {
  fetch(request: Request): Promise<Response>
}

/** The application over its dependencies. */
export function createApp(deps: AppDeps): App {
  const { access, sessions, strict } = deps
  const sessionOf = (request: Request) => sessions.get(sessionName(request, tokenOf(request)))
  const callOf = async (request: Request) => {
    const session = sessionOf(request)
    await deps.prepare(session)
    return { session, caller: callerOf(tokenOf(request), access) }
  }
  const { wake } = createEventQueue(eventHandlers, deps.report)
  // Those that an earlier process left.
  for (const session of sessions.list()) wake(session)
  const routes = [
    ...controlRoutes({ sessions, sessionOf, runs: deps.gateway.runs, about: deps.about }),
    ...resourceRoutes({ callOf, wake, strict, sessions, sessionOf }),
  ]
  const publicPaths = routes.filter((route) => route.public).map((route) => pathRegex(route.path))
  const elysia = new Elysia({ normalize: false })
  elysia.onError(({ error, code, request }) => (code === 'NOT_FOUND' ? unrouted(request) : render(error)))
  for (const operation of operations) {
    const serve = ({ request }: { request: Request }) => {
      const caller = () => callerOf(tokenOf(request), access)
      return serveOperation(operation, request, { session: sessionOf(request), caller }, deps)
    }
    elysia.post(operation.path, serve, { parse: 'none', detail: { hide: true } })
  }
  for (const route of routes) mountRoute(elysia, route, deps.maxBody)
  const documented = { operations, routes, version: deps.about.version }
  mountDocs(elysia, documented, (text) => toNamespace(text, deps.namespace))

  // What no route takes: OPTIONS of a path, a wrong method, or a path that does not exist.
  const unrouted = (request: Request): Response => {
    const { pathname } = new URL(request.url)
    const methods = elysia.routes.filter((route) => pathRegex(route.path).test(pathname)).map((route) => route.method)
    if (methods.length === 0) {
      return render(new ApiError(404, 'unknown_path', `there is no path ${pathname}; all of them are at /swagger`))
    }
    // The router answers HEAD wherever it answers GET.
    const allowed = [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))]
    const headers = { allow: [...allowed, 'OPTIONS'].join(', ') }
    if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers })
    const message = `${pathname} takes ${allowed.join(', ')}, not ${request.method}`
    return render(new ApiError(405, 'method_not_allowed', message, { headers }))
  }
  const render = (error: unknown): Response => {
    if (error instanceof ApiError)
      return Response.json(envelope(error), { status: error.status, headers: error.headers })
    deps.report(error)
    const bug = new ApiError(
      500,
      'internal_error',
      'Understudy failed at this call, which is a bug in it; its output says more',
    )
    return Response.json(envelope(bug), { status: 500 })
  }
  const admit = (request: Request): void => {
    const { pathname } = new URL(request.url)
    if (publicPaths.some((path) => path.test(pathname))) return
    const token = tokenOf(request)
    checkToken(token, access)
    if (pathname.startsWith('/v2/')) requireToken(token)
  }
  const answer = (request: Request): Response | Promise<Response> => {
    try {
      admit(request)
    } catch (error) {
      return render(error)
    }
    return elysia.fetch(request)
  }
  return {
    async fetch(incoming) {
      try {
        checkHost(incoming, access.host)
      } catch (error) {
        return render(error)
      }
      const request = withoutPrefix(incoming)
      const origin = access.cors.length > 0 ? request.headers.get('origin') : null
      if (origin === null || !(access.cors.includes(origin) || access.cors.includes('*'))) return answer(request)
      return withCors(request, origin, answer)
    },
  }
}

/** `/a/:id` as a pattern for whole paths. */
const pathRegex = (path: string) =>
  new RegExp(
    `^${path
      .split(/:[^/]+/)
      .map(RegExp.escape)
      .join('[^/]+')}$`,
  )

function mountRoute(elysia: Elysia, route: Route, maxBody: number): void {
  const serve = async ({ request, params }: { request: Request; params: Record<string, string> }) => {
    const given = Object.fromEntries(new URL(request.url).searchParams)
    const query = route.query ? parseRequest(route.query, given, { whole: 'the query' }) : {}
    const body = route.body && parseRequest(route.body, await bodyOf(request, route, maxBody))
    const answer = await route.handle({ request, params, query, body })
    return answer instanceof Response ? answer : Response.json(answer)
  }
  elysia.route(route.method.toUpperCase(), route.path, serve, { config: {}, parse: 'none', detail: { hide: true } })
}

async function bodyOf(request: Request, route: Route, maxBody: number): Promise<unknown> {
  const bytes = await readBody(request, maxBody)
  const type = request.headers.get('content-type')
  const form = route.bodyType === 'multipart' && route.body ? { request: route.body } : undefined
  const read = form ? await readForm(bytes, type, form) : readJson(bytes, type)
  if ('refused' in read) throw read.refused
  return form ? typedFields(read.value as object, form) : read.value
}

/** Adds the headers by which a browser lets a page of an allowed origin read the answer; answers its preflight. */
async function withCors(
  request: Request,
  origin: string,
  answer: (request: Request) => Response | Promise<Response>,
): Promise<Response> {
  const preflight = request.method === 'OPTIONS' && request.headers.has('access-control-request-method')
  const response = preflight ? new Response(null, { status: 204 }) : await answer(request)
  response.headers.set('access-control-allow-origin', origin)
  response.headers.append('vary', 'Origin')
  if (preflight) {
    response.headers.set('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE')
    response.headers.set('access-control-allow-headers', request.headers.get('access-control-request-headers') ?? '*')
    response.headers.set('access-control-max-age', '600')
  } else response.headers.set('access-control-expose-headers', '*')
  return response
}
