// Which route takes a request. To mount the routes takes milliseconds, and a process may make many applications, such as one for each run
// of a command that is explored: applications with the same routes share a router, and each answers with handlers of its own.
import { Elysia } from 'elysia'
import { ApiError } from '../contract/core/error.ts'
import type { PageOptions } from '../docs/swagger.ts'
import { lazy } from '../lib/lazy.ts'

const swagger = lazy<typeof import('../docs/swagger.ts')>(() => require('../docs/swagger.ts'))

/** Answers a request that a route takes; a parameter of its path is null when it cannot be decoded. */
export type RouteHandler = (context: {
  request: Request
  params?: Record<string, string | null>
}) => Response | Promise<Response>

/** An application behind a router. */
export interface RoutedApp {
  /** By method and path, as in `GET /v2/datasets/:id`. */
  handlers: ReadonlyMap<string, RouteHandler>
  /** Renders what was thrown; `isUnrouted` when no route takes the request. */
  refuse(thrown: unknown, request: Request, isUnrouted: boolean): Response
}

/** Finds the handlers of an application. */
export interface Router {
  fetch(request: Request): Response | Promise<Response>
}

interface Shared {
  elysia: Elysia
  /** Whose request it is. */
  apps: WeakMap<Request, RoutedApp>
}
/** By what is mounted. */
const routers = new Map<string, Shared>()

/** The router of an application, with Swagger UI if `page` is given. */
export function routerOf(app: RoutedApp, page?: PageOptions): Router {
  const routes = [...app.handlers.keys()]
  const key = JSON.stringify([page, routes])
  const shared = routers.get(key) ?? mount(routes, page)
  routers.set(key, shared)
  const { elysia, apps } = shared
  return {
    fetch(request) {
      apps.set(request, app)
      return elysia.fetch(request)
    },
  }
}

function mount(routes: readonly string[], page: PageOptions | undefined): Shared {
  const apps: Shared['apps'] = new WeakMap()
  const appOf = (request: Request): RoutedApp => {
    const app = apps.get(request)
    if (!app) throw new Error(`no application has sent ${request.url} to its router`)
    return app
  }
  // Without `aot`: code that is compiled for each server costs a start more than it saves its requests.
  const elysia = new Elysia({ normalize: false, aot: false })
  // Elysia takes the code of any error for its own, and a provider may say NOT_FOUND too.
  elysia.onError(({ error, code, request }) =>
    appOf(request).refuse(error, request, code === 'NOT_FOUND' && !(error instanceof ApiError)),
  )
  for (const route of routes) {
    const [method = '', path = ''] = route.split(' ')
    const serve: RouteHandler = (context) => {
      const handler = appOf(context.request).handlers.get(route)
      if (!handler) throw new Error(`there is no handler for ${route}`)
      return handler(context)
    }
    elysia.route(method, path, serve, UNREAD_RESPONSE)
  }
  if (page) elysia.use(swagger().docsPage(page))
  answerHead(elysia)
  return { elysia, apps }
}

/** Answers HEAD wherever GET is answered, as RFC 9110, section 9.3.2, has it: the same status and headers, and no body. */
function answerHead(elysia: Elysia): void {
  for (const { method, path, handler } of [...elysia.routes])
    if (method === 'GET')
      elysia.route('HEAD', path, async (context) => withoutBody((await handler(context)) as Response), UNREAD_RESPONSE)
}

/** A response with the length of its body in place of the body; what is streamed has none. */
async function withoutBody(response: Response): Promise<Response> {
  const { status, headers } = response
  if (headers.get('content-type')?.startsWith('text/event-stream')) await response.body?.cancel()
  else headers.set('content-length', String((await response.arrayBuffer()).byteLength))
  return new Response(null, { status, headers })
}

/** Bodies are ours to read: without `aot`, Elysia looks for `none` in a field that its types do not have. */
const UNREAD_RESPONSE = { config: {}, type: 'none', detail: { hide: true } }
