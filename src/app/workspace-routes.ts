// The workspace: resources, the tasks of agents, and A2A, with the faults of scenarios.
import { a2aRoutes } from '../agents/a2a/routes.ts'
import { type TaskRouteDeps, taskRoutes } from '../agents/http/routes.ts'
import { runRoutes } from '../agents/http/run-routes.ts'
import type { TaskService } from '../agents/loop/tasks.ts'
import type { Route } from '../contract/core/route.ts'
import type { BodyLimits } from '../endpoints/body.ts'
import { eventHandlers, resourceRoutes } from '../resources/index.ts'
import { createEventQueue, type EventQueue } from '../resources/knowledge/events.ts'
import type { ResourceDeps } from '../resources/routes.ts'
import { throughFaults } from '../resources/through-scenario.ts'
import { viewRoute } from './workspace-view.ts'

/** The dependencies of all routes of the workspace. */
export interface WorkspaceDeps extends TaskRouteDeps {
  resources: ResourceDeps
  /** The tasks for others than clients, whose reads are not noted. */
  allTasks(): TaskService
  limits: BodyLimits
  faults: Parameters<typeof throughFaults>[0]
}

/** All routes of the workspace. */
export const workspaceRoutes = ({ resources, limits, faults, ...deps }: WorkspaceDeps): Route[] =>
  [...resourceRoutes(resources), ...taskRoutes(deps), ...runRoutes(deps), ...a2aRoutes({ ...deps, limits })].map(
    throughFaults(faults),
  )

/** The route that reads the workspace for the inspector, to which no faults apply. */
export const workspaceViewRoute = ({ resources, allTasks, ...deps }: WorkspaceDeps): Route =>
  viewRoute([...resourceRoutes(resources), ...taskRoutes({ ...deps, tasks: allTasks })])

/** The queue of the workspace's events. */
export const createQueue = (report: (error: unknown) => void): EventQueue => createEventQueue(eventHandlers, report)
