// The workspace: resources, the tasks of agents, and A2A, with the faults of scenarios.
import type { TaskRouteDeps } from '../agents/http/routes.ts'
import type { TaskService } from '../agents/loop/tasks.ts'
import type { Route, RouteGroup } from '../contract/core/route.ts'
import type { BodyLimits } from '../endpoints/body.ts'
import { lazy } from '../lib/lazy.ts'
import { eventHandlers, resourceGroups } from '../resources/index.ts'
import { createEventQueue, type EventQueue } from '../resources/knowledge/events.ts'
import type { ResourceDeps } from '../resources/routes.ts'
import { throughFaults } from '../resources/through-scenario.ts'
import { viewRoute } from './workspace-view.ts'

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
  viewRoute([
    ...resourceGroups(resources).flatMap(({ routes }) => routes()),
    ...tasks().taskRoutes({ ...deps, tasks: allTasks }),
  ])

/** The queue of the workspace's events. */
export const createQueue = (report: (error: unknown) => void): EventQueue => createEventQueue(eventHandlers, report)
