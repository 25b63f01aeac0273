// The HTTP surface: who may call, the router operations, and the one place that renders errors. It listens to nothing and
// does no I/O. What lies beside the operations is loaded when it is first asked for (app/routes.ts).
import { Elysia } from 'elysia'
import { callerOf, checkHost, checkToken, requireToken, sessionName, tokenOf, withoutPrefix } from './access.ts'
import { allowsOrigin, checkOrigin } from './app/origins.ts'
import type { App, AppDeps } from './app/types.ts'
import type { ConnectionFinder } from './contract/connection.ts'
import { ApiError, envelope } from './contract/error.ts'
import { EVENT } from './contract/record.ts'
import { serveOperation } from './endpoints/define.ts'
import { endpoints } from './endpoints/index.ts'
import { once } from './lib/once.ts'

const paths = new Set(endpoints.map(({ path }) => path))

/** The application over its dependencies. */
export function createApp(deps: AppDeps): App {
  const { access, sessions } = deps
  const sessionOf = (request: Request) => sessions.get(sessionName(request, tokenOf(request)))
  // The router hands on nothing but the request.
  const holds = new WeakMap<Request, ConnectionFinder>()
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
  const beside = once(() =>
    (require('./app/routes.ts') as typeof import('./app/routes.ts')).createRoutes(deps, { sessionOf, render }),
  )
  // The events that an earlier process left are applied at once.
  if (sessions.list().some(({ records }) => records.keyed(EVENT).length > 0)) beside()
  const elysia = new Elysia({ normalize: false })
  elysia.onError(({ error }) => render(error))
  for (const { path, operation } of endpoints) {
    const serve = ({ request }: { request: Request }) => {
      const caller = () => callerOf(tokenOf(request), access)
      return serveOperation(
        operation(),
        { request, session: sessionOf(request), caller, hold: holds.get(request) },
        deps,
      )
    }
    elysia.post(path, serve, { parse: 'none' })
  }
  const admit = (request: Request, pathname: string): void => {
    if (!pathname.startsWith('/v2/') && beside().isPublic(pathname)) return
    const token = tokenOf(request)
    checkToken(token, access)
    if (pathname.startsWith('/v2/')) requireToken(token)
  }
  const answer = (request: Request): Response | Promise<Response> => {
    const { pathname } = new URL(request.url)
    try {
      admit(request, pathname)
    } catch (error) {
      return render(error)
    }
    const isCall = request.method === 'POST' && paths.has(pathname.replace(/\/$/, ''))
    return isCall ? elysia.fetch(request) : beside().fetch(request)
  }
  return {
    async fetch(incoming, hold) {
      try {
        checkHost(incoming, access.host)
        checkOrigin(incoming, access.cors)
      } catch (error) {
        return render(error)
      }
      const request = withoutPrefix(incoming)
      if (hold) holds.set(request, hold)
      const origin = access.cors.length > 0 ? request.headers.get('origin') : null
      if (origin === null || !allowsOrigin(access.cors, origin)) return answer(request)
      return withCors(request, origin, answer)
    },
  }
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
