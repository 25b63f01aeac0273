// The workspace: resources, the tasks of agents, and A2A, with the faults of scenarios.
import { z } from 'zod'
import type { TaskRouteDeps } from '../agents/http/routes.ts'
import type { TaskService } from '../agents/loop/tasks.ts'
import { ApiError } from '../contract/core/error.ts'
import { asRoute, type Route, type RouteGroup } from '../contract/core/route.ts'
import type { BodyLimits } from '../endpoints/body.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import { decodedPart } from '../lib/values.ts'
import { eventHandlers, resourceGroups } from '../resources/index.ts'
import { createEventQueue, type EventQueue } from '../resources/knowledge/events.ts'
import type { ResourceDeps } from '../resources/routes.ts'
import { throughFaults } from '../resources/through-scenario.ts'
import { parseRequest } from '../schema/validation.ts'
import { pathRegex } from './unrouted.ts'

const tasks = lazy<typeof import('../agents/http/routes.ts')>(() => require('../agents/http/routes.ts'))
const runs = lazy<typeof import('../agents/http/run-routes.ts')>(() => require('../agents/http/run-routes.ts'))
const a2a = lazy<typeof import('../agents/a2a/routes.ts')>(() => require('../agents/a2a/routes.ts'))

/** The dependencies of all routes of the workspace. */
export interface WorkspaceDeps extends TaskRouteDeps {
  resources: ResourceDeps
  /** The tasks for others than clients, whose reads are not noted. */
  allTasks(): TaskService
  limits: BodyLimits
  faults: Parameters<typeof throughFaults>[0]
}

/** All routes of the workspace. */
export const workspaceGroups = ({ resources, limits, faults, ...deps }: WorkspaceDeps): RouteGroup[] =>
  [
    ...resourceGroups(resources),
    { under: ['/v2/agents', '/_understudy/tasks'], routes: () => tasks().taskRoutes(deps) },
    { under: ['/v2/agents'], routes: () => runs().runRoutes(deps) },
    { under: ['/a2a'], routes: () => a2a().a2aRoutes({ ...deps, limits }) },
  ].map(({ under, routes }) => ({ under, routes: () => routes().map(throughFaults(faults)) }))

/** The route that reads the workspace for the inspector, to which no faults apply. */
export const workspaceViewRoute = ({ resources, allTasks, ...deps }: WorkspaceDeps): Route =>
  viewOf([
    ...resourceGroups(resources).flatMap(({ routes }) => routes()),
    ...tasks().taskRoutes({ ...deps, tasks: allTasks }),
  ])

/** The queue of the workspace's events. */
export const createQueue = (report: (error: unknown) => void): EventQueue => createEventQueue(eventHandlers, report)

const PREFIX = '/v2/'
const Query = z.strictObject({
  path: z.string().describe('Path of the workspace with its query, URL-encoded, such as `/v2/tools?limit=10`.'),
})

const View = z.record(z.string(), z.unknown()).or(z.array(z.unknown())).describe('As the response of the path.')

/** The route that reads what the GET routes of the workspace return. */
function viewOf(routes: readonly Route[]): Route {
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

/** The parameters of a path that matches a route. An invalid encoding is no valid id. */
function paramsOf(path: string, pathname: string): Record<string, string> {
  const values = pathname.split('/')
  return Object.fromEntries(
    path
      .split('/')
      .flatMap((part, index) =>
        part.startsWith(':') ? [[part.slice(1), decodedPart(values[index] ?? '') ?? '']] : [],
      ),
  )
}
