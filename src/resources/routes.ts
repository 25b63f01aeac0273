// The routes of the resources: one for each verb of a resource.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import type { Observers } from '../contract/core/observation.ts'
import { asRoute, type Route, type RouteInput } from '../contract/core/route.ts'
import type { Caller, Fields } from '../contract/workspace/record.ts'
import { Deleted, listOf, type PageQuery, pageQuery } from '../contract/workspace/shared.ts'
import { readableRow } from '../db/damaged-rows.ts'
import type { AskModel } from '../gateway/ask.ts'
import type { GuardrailDirectory } from '../gateway/types.ts'
import { nextTurn } from '../lib/bare-socket.ts'
import { onceFor } from '../lib/once.ts'
import { capital } from '../lib/units.ts'
import type { Session } from '../sessions/sessions.ts'
import { notFound, oneOf, type Reading, type Resource, type Transaction, type Verb } from './define.ts'
import {
  createRecords,
  deleteRecord,
  findRecord,
  type PathParams,
  parentsOf,
  putRecord,
  shown,
  updateRecord,
  workOf,
} from './verbs.ts'

/** The dependencies of the workspace routes. */
export interface ResourceDeps {
  /** The session and caller of a request; the session's workspace is seeded. */
  callOf(request: Request): Promise<{ session: Session; caller: Caller }>
  /** The session of a request, as it is. */
  sessionOf(request: Request): Session
  /** Applies the waiting events of a session, and ends work for deleted records. */
  wake(session: Session): void
  /** Notified that all data of a session is about to be replaced. Call the returned function afterwards. */
  replacing(session: Session): () => void
  /** Observers of calls and sessions. */
  observers: Observers
  /** Guardrails by id, and how a model is called. */
  guardrails: GuardrailDirectory
  ask: AskModel
  /** Whether suspicious input is rejected instead of noted as a warning. */
  strict: boolean
}

/** The input of a route about a record that its path names. */
interface RecordInput<Query, Body> extends RouteInput<Query, Body> {
  session: Session
  caller: Caller
  record: Fields
}

/** A route about a record that its path names, with the 404 for an unknown one. */
export function recordRoute<Query, Body>(
  resource: Resource,
  { callOf }: ResourceDeps,
  {
    handle,
    ...route
  }: Omit<Route<Query, Body>, 'tag' | 'errors' | 'find' | 'handle'> & {
    handle(input: RecordInput<Query, Body>): object | Promise<object>
  },
): Route {
  const find = async ({ request, params }: Pick<RouteInput, 'request' | 'params'>) => {
    const { session, caller } = await callOf(request)
    return { session, caller, record: findRecord(resource, { records: session.records, caller }, params) }
  }
  return asRoute<Query, Body>({
    ...route,
    tag: resource.tag,
    errors: [404],
    find,
    handle: async (input) => handle({ ...input, ...(await find(input)) }),
  })
}

const METHODS = { create: 'post', list: 'get', get: 'get', update: 'patch', delete: 'delete' } as const

/** All routes of a resource. */
export const routesOf = (resource: Resource, deps: ResourceDeps): Route[] =>
  resource.verbs.map((verb) => routeOf(resource, verb, deps))

const words = (text: string) => text.replace(/[ .-](\w)/g, (_, letter: string) => letter.toUpperCase())

function routeOf(resource: Resource, verb: Verb, deps: ResourceDeps): Route {
  const { noun, plural, path, param, tag } = resource
  const one = verb === 'get' || verb === 'update' || verb === 'delete'
  const object = verb === 'list' ? plural : noun
  const parts = partsOf(resource, verb, deps)
  const find = async ({ request, params }: Pick<RouteInput, 'request' | 'params'>) => {
    const { session, caller } = await deps.callOf(request)
    const work = { records: session.records, caller }
    if (one) findRecord(resource, work, params)
    else parentsOf(resource, work, params)
  }
  const asText = resource.textErrors?.includes(verb) ?? false
  return asRoute({
    method: METHODS[verb],
    path: one ? `${path}/:${param}` : path,
    tag,
    summary: verb === 'list' ? `List ${plural}` : `${capital(verb)} ${oneOf(resource)}`,
    description: resource.descriptions?.[verb] ?? SENTENCES[verb](resource),
    contract: resource.shown?.includes(verb) ?? false,
    operationId: words(`${verb} ${object}`),
    find,
    ...parts,
    ...(asText && { handle: withTextErrors(parts.handle), find: withTextErrors(find), textErrors: [404] }),
    errors: errorsOf(resource, verb),
  })
}

const SENTENCES: Record<Verb, (resource: Resource) => string> = {
  create: (resource) => `Creates ${oneOf(resource)}.`,
  list: ({ plural }) => `Lists the ${plural}, newest first, in pages.`,
  get: ({ noun }) => `Returns the ${noun} with this id.`,
  update: ({ noun }) => `Updates the given fields of the ${noun}. Other fields stay unchanged.`,
  delete: ({ noun }) => `Deletes the ${noun} and everything in it.`,
}

function errorsOf({ parent, plainList, refers }: Resource, verb: Verb): number[] {
  // A create body may refer to another record, such as its project; a list query names a cursor.
  const names = { create: refers, list: !plainList, get: true, update: true, delete: true }[verb]
  return names || parent ? [404] : []
}

type Parts = Pick<Route, 'query' | 'body' | 'response' | 'status' | 'examples' | 'handle'>

/** The context of a client's change. */
const clientWork = (session: Session, caller: Caller, { guardrails }: ResourceDeps): Transaction => ({
  ...workOf(session, caller),
  guardrailIds: () => guardrails.ids(),
})

function partsOf(resource: Resource, verb: Verb, deps: ResourceDeps): Parts {
  const { record, examples } = resource
  const show = (stored: Fields) => shown(resource, stored)
  /** Runs a change in one transaction. */
  const change = async <Changed>(request: Request, params: PathParams, run: (work: Transaction) => Changed) => {
    const { session, caller } = await deps.callOf(request)
    const changed = await session.transact(() => run(tidied(resource, clientWork(session, caller, deps), params)))
    deps.wake(session)
    return changed
  }
  /** The context of a read. */
  const reading = async (request: Request, params: PathParams) => {
    const { session, caller } = await deps.callOf(request)
    if (resource.tidy) await session.transact(() => tidied(resource, workOf(session, caller), params))
    return { records: session.records, caller }
  }
  switch (verb) {
    case 'create':
      return {
        ...createdOf(resource),
        ...(resource.createdStatus && { status: resource.createdStatus }),
        ...(examples?.create && { examples: examples.create }),
        async handle({ request, params, body }) {
          if (!Array.isArray(body))
            return show(await change(request, params, (work) => putRecord(resource, work, body as Fields, params)))
          // Validating thousands of records takes a turn of the event loop, and writing them another one.
          await nextTurn()
          const created = await change(request, params, (work) => createRecords(resource, work, body, { params }))
          return created.map(show)
        },
      }
    case 'update':
      return {
        body: resource.update as never,
        response: record,
        ...(examples?.update && { examples: examples.update }),
        handle: async ({ request, params, body }) =>
          show(await change(request, params, (work) => updateRecord(resource, work, body as Fields, params))),
      }
    case 'delete':
      return {
        response: Deleted,
        ...(resource.deletedStatus && { status: resource.deletedStatus }),
        handle: ({ request, params }) => change(request, params, (work) => deleteRecord(resource, work, params)),
      }
    case 'get':
      return {
        response: record,
        handle: async ({ request, params }) => show(findRecord(resource, await reading(request, params), params)),
      }
    case 'list': {
      const list = listSchemasOf(resource)
      return {
        query: list.query as never,
        response: list.answer,
        handle: async ({ request, params, query }) =>
          listRecords(resource, await reading(request, params), params, query as Fields),
      }
    }
  }
}

/** The body that creates one or several records, and the response. */
const createdOf = onceFor(({ create, record, mostAtOnce: most }: Resource): Pick<Route, 'body' | 'response'> => {
  if (!create || most === undefined) return { body: create as never, response: record }
  const several = z.array(create).max(most).describe(`Several at once, at most ${most}.`)
  return { body: z.union([several, create]), response: z.union([z.array(record), record]) }
})

/** The handler, whose 404 has a text as `error`. */
const withTextErrors =
  <Input, Answer>(handle: (input: Input) => Answer | Promise<Answer>) =>
  async (input: Input): Promise<Answer> => {
    try {
      return await handle(input)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error
      const { status, code, message, param } = error
      throw new ApiError(status, code, message, { param, asText: true })
    }
  }

/** The context, after expired records are removed. */
function tidied(resource: Resource, work: Transaction, params: PathParams): Transaction {
  resource.tidy?.(work, params)
  return work
}

const DEFAULT_PAGE = 50
const pageSizeOf = ({ pageSize }: Resource) => (pageSize === undefined ? DEFAULT_PAGE : pageSize)

/** The schemas of a list's query and response: created once per process, however many servers it has. */
const listSchemasOf = onceFor((resource: Resource): { query: z.ZodType; answer: z.ZodType } => {
  const { plainList, record, filter, mostInPage: most, limitDescription: described } = resource
  if (plainList) return { query: z.strictObject(filter?.query ?? {}), answer: z.array(record) }
  const query = pageQuery(pageSizeOf(resource), { most, described, filter: filter?.query })
  return { query, answer: listOf(record) }
})

/**
 * A list as a response.
 * @throws ApiError 404 for an unknown cursor
 */
function listRecords(resource: Resource, work: Reading, params: PathParams, query: PageQuery & Fields): object {
  const { starting_after: after, ending_before: before } = query
  const parent = parentsOf(resource, work, params).at(-1) ?? ''
  const list = { kind: resource.kind, workspace: work.caller.workspace, parent }
  for (const [param, id] of Object.entries({ starting_after: after, ending_before: before })) {
    if (id !== undefined && !work.records.inList(list, id)) throw notFound(resource, id, param)
  }
  const limit = query.limit ?? (resource.plainList ? undefined : (pageSizeOf(resource) ?? undefined))
  const isFiltered = Object.keys(resource.filter?.query ?? {}).some((name) => query[name] !== undefined)
  const { data, hasMore } = isFiltered
    ? filteredPage(resource, work, { ...list, limit, after, before, query })
    : work.records.page({ ...list, limit, after, before })
  const answers = data.flatMap((record) => readableRow(() => shown(resource, record)))
  return resource.plainList ? answers : { object: 'list', data: answers, has_more: hasMore }
}

type Page = Parameters<Reading['records']['page']>[0]

/** Records that are scanned at once. */
const TOGETHER = 200

/** The next matching records, in the direction of paging. */
function filteredPage(
  resource: Resource,
  { records }: Reading,
  { query, limit = Number.POSITIVE_INFINITY, after, before, ...list }: Page & { query: Fields },
): ReturnType<Reading['records']['page']> {
  const found: Fields[] = []
  const backwards = before !== undefined
  for (let from = before ?? after; found.length <= limit; ) {
    const next = records.page({ ...list, limit: TOGETHER, ...(backwards ? { before: from } : { after: from }) })
    const some = next.data.filter((record) => resource.filter?.includes(record, query))
    found.splice(backwards ? 0 : found.length, 0, ...some)
    if (!next.hasMore) break
    from = String((backwards ? next.data[0] : next.data.at(-1))?._id)
  }
  const hasMore = found.length > limit
  if (!hasMore) return { data: found, hasMore }
  return { data: backwards ? found.slice(-limit) : found.slice(0, limit), hasMore }
}
