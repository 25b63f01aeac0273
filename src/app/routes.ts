// Everything beside the router operations: the workspace, the control API, Swagger UI, and what no route takes.
import { Elysia } from 'elysia'
import { callerOf, sessionName, tokenOf } from '../access.ts'
import { ApiError } from '../contract/error.ts'
import type { Route } from '../contract/route.ts'
import { parseRequest } from '../contract/validation.ts'
import { controlRoutes } from '../control/index.ts'
import { docPaths, mountDocs } from '../docs/swagger.ts'
import { type BodyLimits, readBody, readForm, readJson } from '../endpoints/body.ts'
import { typedFields } from '../endpoints/form.ts'
import { allOperations, endpoints } from '../endpoints/index.ts'
import { toNamespace } from '../endpoints/namespace.ts'
import { createEventQueue } from '../resources/events.ts'
import { eventHandlers, resourceRoutes } from '../resources/index.ts'
import { throughFaults } from '../resources/through-scenario.ts'
import type { Session } from '../sessions/sessions.ts'
import { createStrayLog, LONGEST_PATH, traceStray } from './stray.ts'
import type { App, AppDeps, RouteContext } from './types.ts'

/** The routes as an application of their own. */
export interface Routes extends App {
  /** Whether a path is answered without a token. */
  isPublic(pathname: string): boolean
}

/** Mounts every route that is no router operation. */
export function createRoutes(deps: AppDeps, { sessionOf: find, render }: RouteContext): Routes {
  // A request keeps to the generation of its session that it begins in.
  const begun = new WeakMap<Request, Session>()
  const sessionOf = (request: Request, looks = READS.has(request.method)): Session => {
    const session = begun.get(request) ?? find(request, looks)
    begun.set(request, session)
    return session
  }
  const { access, sessions, strict } = deps
  const callOf = async (request: Request) => {
    const session = sessionOf(request)
    await deps.prepare(session)
    return { session, caller: callerOf(tokenOf(request), access) }
  }
  const queue = createEventQueue(eventHandlers, deps.report)
  // Those that an earlier process left.
  for (const session of sessions.list()) queue.wake(session)
  const { guardrails, observers, runs } = deps.gateway
  sessions.watch({
    renewed: queue.wake,
    removed(name) {
      deps.fixtures.give(name, [])
      observers.notify({ type: 'session-changed', session: name, change: 'deleted' })
    },
  })
  const sessionNameOf = (request: Request) => sessionName(request, tokenOf(request))
  const strays = createStrayLog(() => [...endpoints.map(({ path }) => path), ...routes.map(({ path }) => path)])
  const faulty = throughFaults({ runs, sessionOf, count: ({ name }) => void sessions.get(name) })
  const operations = () => allOperations().map(({ name }) => name)
  const routes = [
    ...controlRoutes({ ...deps, sessionOf, sessionNameOf, observers, runs, strays, operations, events: queue.counts }),
    ...resourceRoutes({ callOf, wake: queue.wake, strict, sessionOf, observers, guardrails, ask: deps.ask }).map(
      faulty,
    ),
  ]
  const publicPaths = [...routes.filter((route) => route.public).map(({ path }) => path), ...docPaths].map(pathRegex)
  const elysia = new Elysia({ normalize: false })
  // Elysia takes the code of any error for its own, and a provider may say NOT_FOUND too.
  const isUnrouted = (error: unknown, code: unknown) => code === 'NOT_FOUND' && !(error instanceof ApiError)
  elysia.onError(({ error, code, request }) => {
    try {
      return isUnrouted(error, code) ? unrouted(request) : render(error)
    } catch (mistake) {
      return render(mistake)
    }
  })
  for (const route of routes) mountRoute(elysia, route, deps)
  const documented = { operations: allOperations, routes, version: deps.about.version }
  mountDocs(elysia, documented, (text) => toNamespace(text, deps.namespace))

  const strayed = (request: Request, path: string): Response => {
    const { method } = request
    const { likely, first } = strays.note({ session: sessionName(request, tokenOf(request)), method, path })
    const hint = likely === null ? '' : `: did you mean ${likely}?`
    const error = new ApiError(404, 'unknown_path', `there is no path ${cut(path)}${hint}; all of them are at /swagger`)
    // Whoever only looks, such as a browser for an icon, leaves nothing behind.
    if (first && method !== 'GET' && method !== 'HEAD') traceStray(sessionOf(request), { method, path, error })
    return render(error)
  }
  // What no route takes: OPTIONS of a path, a wrong method, or a path that does not exist.
  const unrouted = (request: Request): Response => {
    const { pathname } = new URL(request.url)
    const known = [...endpoints.map(({ path }) => ({ path, method: 'POST' })), ...elysia.routes]
    const methods = known.filter((route) => pathRegex(route.path).test(pathname)).map((route) => route.method)
    if (methods.length === 0) return strayed(request, pathname)
    // The router answers HEAD wherever it answers GET.
    const allowed = [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))]
    const headers = { allow: [...allowed, 'OPTIONS'].join(', ') }
    if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers })
    const message = `${pathname} takes ${allowed.join(', ')}, not ${request.method}`
    return render(new ApiError(405, 'method_not_allowed', message, { headers }))
  }
  return {
    async fetch(request) {
      const response = await elysia.fetch(request)
      // What a page of ours may do, no page of others may have done by a frame with ours in it.
      if (response.headers.get('content-type')?.startsWith('text/html')) response.headers.set(...NO_FRAMES)
      return response
    },
    isPublic: (pathname) => publicPaths.some((path) => path.test(pathname)),
  }
}

/** A path as it is named in an error. */
const cut = (path: string) => (path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}...` : path)

const READS = new Set(['GET', 'HEAD'])
const NO_FRAMES = ['content-security-policy', "frame-ancestors 'none'"] as const

/** `/a/:id` as a pattern for whole paths. */
const pathRegex = (path: string) =>
  new RegExp(
    `^${path
      .split(/:[^/]+/)
      .map(RegExp.escape)
      .join('[^/]+')}$`,
  )

function mountRoute(elysia: Elysia, route: Route, limits: BodyLimits): void {
  const serve = async ({ request, params }: { request: Request; params: Record<string, string> }) => {
    const given = Object.fromEntries(new URL(request.url).searchParams)
    const query = route.query ? parseRequest(route.query, given, { whole: 'the query' }) : {}
    const body = route.body && parseRequest(route.body, await bodyOf(request, route, limits))
    const answer = await route.handle({ request, params, query, body })
    if (answer instanceof Response) return answer
    return route.status === 204
      ? new Response(null, { status: 204 })
      : Response.json(answer, { status: route.status ?? 200 })
  }
  elysia.route(route.method.toUpperCase(), route.path, serve, { config: {}, parse: 'none', detail: { hide: true } })
}

async function bodyOf(request: Request, route: Route, { maxBody, clientTimeout }: BodyLimits): Promise<unknown> {
  const bytes = await readBody(request, {
    maxBody: route.anySize ? Number.POSITIVE_INFINITY : maxBody,
    clientTimeout,
  })
  const type = request.headers.get('content-type')
  const form = route.bodyType === 'multipart' && route.body ? { request: route.body } : undefined
  const read = form ? await readForm(bytes, type, form) : readJson(bytes, type)
  if ('refused' in read) throw read.refused
  return form ? typedFields(read.value as object, form) : read.value
}
