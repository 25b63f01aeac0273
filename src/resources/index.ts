// The registry of workspace resources: one line each.
import { z } from 'zod'
import type { RouteGroup } from '../contract/core/route.ts'
import { TASK_SHAPES } from '../contract/workspace/task-shapes.ts'
import type { RecordShape, RecordShapes } from '../db/record-shapes.ts'
import { WARNING } from '../sessions/warnings.ts'
import { agents, agentVersions } from './agents.ts'
import { contacts } from './contacts.ts'
import { clearRoute, datapoints } from './datapoints.ts'
import { datasets, datasetVersions } from './datasets.ts'
import type { Resource } from './define.ts'
import { evaluatorRoutes } from './evaluators/evaluator-routes.ts'
import { evaluators, evaluatorVersions } from './evaluators/evaluators.ts'
import { feedback, feedbackHandlers, feedbackRoutes } from './feedback.ts'
import { chunkHandlers } from './knowledge/chunk.ts'
import { chunkRoutes } from './knowledge/chunk-routes.ts'
import { type EventHandler, events } from './knowledge/events.ts'
import { fileRoutes, files } from './knowledge/files.ts'
import { chunks, datasources, knowledgeBases } from './knowledge/knowledge.ts'
import { searchRoute } from './knowledge/search.ts'
import { memories, memoryDocuments, memoryStores } from './memory-stores.ts'
import { projects } from './projects.ts'
import { reviewSets } from './review-sets.ts'
import { type ResourceDeps, routesOf } from './routes.ts'
import { stateRoutes } from './seeds/state.ts'
import { tools, toolVersions } from './tools.ts'

/** All resources, each after its parent. */
export const resources: readonly Resource[] = [
  projects,
  datasets,
  datasetVersions,
  datapoints,
  files,
  knowledgeBases,
  datasources,
  chunks,
  evaluators,
  evaluatorVersions,
  reviewSets,
  tools,
  toolVersions,
  contacts,
  memoryStores,
  memories,
  memoryDocuments,
  agents,
  agentVersions,
  feedback,
  events,
]

const Identified = z.looseObject({ _id: z.string().min(1) })
const shapes = new Map<string, RecordShape>([
  ...Object.entries(TASK_SHAPES).map(([kind, stored]) => [kind, { stored }] as const),
  [WARNING, { stored: z.looseObject({ message: z.string() }) }],
  ...resources.map(({ kind, record, stored, show }): [string, RecordShape] => [
    kind,
    { stored: stored ? Identified.and(stored) : Identified, shown: record, ...(show && { show }) },
  ]),
])

/** The schemas of record bodies, by kind: those of the resources, of tasks, and of warnings. */
export const recordShapes: RecordShapes = (kind) => shapes.get(kind)

/** All routes of the resources. */
export const resourceGroups = (deps: ResourceDeps): readonly RouteGroup[] => [
  ...resources.map((resource) => ({ under: [sectionOf(resource.path)], routes: () => routesOf(resource, deps) })),
  { under: ['/v2/datasets'], routes: () => [clearRoute(deps)] },
  { under: ['/v2/feedback'], routes: () => feedbackRoutes(deps) },
  { under: ['/v2/files'], routes: () => fileRoutes(deps) },
  { under: ['/v2/knowledge'], routes: () => [...chunkRoutes(deps), searchRoute(deps)] },
  { under: ['/v2/evaluators', '/_understudy/evaluators'], routes: () => evaluatorRoutes(deps) },
  {
    under: ['/_understudy/snapshot', '/_understudy/records', '/_understudy/seed'],
    routes: () => stateRoutes(deps, recordShapes),
  },
]
/** The first two segments of a path. */
const sectionOf = (path: string) => path.split('/').slice(0, 3).join('/')

/** The handlers of events, by type. */
export const eventHandlers: Record<string, EventHandler> = { ...feedbackHandlers, ...chunkHandlers }
