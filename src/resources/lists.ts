// The lists of resources: pages with cursors, and the filters that a resource allows.
import { z } from 'zod'
import type { Fields } from '../contract/workspace/record.ts'
import { listOf, type PageQuery, pageQuery } from '../contract/workspace/shared.ts'
import { readableRow } from '../db/damaged-rows.ts'
import { onceFor } from '../lib/once.ts'
import { notFound, type Reading, type Resource } from './define.ts'
import { type PathParams, parentsOf, shown } from './verbs.ts'

const DEFAULT_PAGE = 50
const pageSizeOf = ({ pageSize }: Resource) => (pageSize === undefined ? DEFAULT_PAGE : pageSize)

/** The schemas of a list's query and response: created once per process, however many servers it has. */
export const listSchemasOf = onceFor((resource: Resource): { query: z.ZodType; answer: z.ZodType } => {
  const { plainList, record, filter, mostInPage: most, limitDescription: described } = resource
  if (plainList) return { query: z.strictObject(filter?.query ?? {}), answer: z.array(record) }
  const query = pageQuery(pageSizeOf(resource), { most, described, filter: filter?.query })
  return { query, answer: listOf(record) }
})

/**
 * A list as a response.
 * @throws ApiError 404 for an unknown cursor
 */
export function listRecords(resource: Resource, work: Reading, params: PathParams, query: PageQuery & Fields): object {
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
