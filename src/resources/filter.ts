// Whether a chunk meets the conditions of a search.
import type { Condition, Conditions, FilterBy } from '../contract/filter.ts'

/** What conditions are on. */
export type Filterable = Record<keyof Conditions, string | number>
const FIELDS = ['chunk_id', 'datasource_id', 'datasource', 'position'] as const

/** Whether a chunk meets all conditions of a filter. */
export function meets(chunk: Filterable, { and = [], or, ...conditions }: FilterBy): boolean {
  const all = (some: Conditions) => FIELDS.every((field) => holds(chunk[field], some[field]))
  return all(conditions) && and.every(all) && (or === undefined || or.some(all))
}

type Value = string | number

function holds(value: Value, condition: Condition | undefined): boolean {
  if (condition === undefined) return true
  const { eq, ne, gt, gte, lt, lte, in: among, nin } = typeof condition === 'object' ? condition : { eq: condition }
  const is = (limit: Value | undefined, test: (limit: Value) => boolean) => limit === undefined || test(limit)
  return (
    is(eq, (limit) => value === limit) &&
    is(ne, (limit) => value !== limit) &&
    is(gt, (limit) => value > limit) &&
    is(gte, (limit) => value >= limit) &&
    is(lt, (limit) => value < limit) &&
    is(lte, (limit) => value <= limit) &&
    (among === undefined || among.includes(value)) &&
    !nin?.includes(value)
  )
}
