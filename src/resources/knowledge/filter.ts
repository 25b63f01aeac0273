// Tests chunks against the filter of a search.
import type { Condition, Conditions, FilterBy } from '../../contract/workspace/filter.ts'

type Value = string | number | boolean
/** The fields that conditions apply to. */
export type Filterable = Readonly<Record<string, Value>>

/** Whether a chunk meets all conditions of a filter. */
export function meets(chunk: Filterable, { and = [], or, ...conditions }: FilterBy): boolean {
  const all = (some: Conditions) =>
    Object.entries(some).every(([field, condition]) =>
      holds(Object.hasOwn(chunk, field) ? chunk[field] : undefined, condition),
    )
  return all(conditions) && and.every(all) && (or === undefined || or.some(all))
}

/** Whether a condition holds for a value. For a missing value, only `exists: false` and inequalities hold. */
function holds(value: Value | undefined, condition: Condition): boolean {
  const {
    eq,
    ne,
    gt,
    gte,
    lt,
    lte,
    in: among,
    nin,
    exists,
  } = typeof condition === 'object' ? condition : { eq: condition }
  const is = (limit: Value | undefined, test: (value: Value, limit: Value) => boolean) =>
    limit === undefined || (value !== undefined && test(value, limit))
  return (
    is(eq, (one, limit) => one === limit) &&
    is(gt, (one, limit) => one > limit) &&
    is(gte, (one, limit) => one >= limit) &&
    is(lt, (one, limit) => one < limit) &&
    is(lte, (one, limit) => one <= limit) &&
    (ne === undefined || value !== ne) &&
    (among === undefined || (value !== undefined && among.includes(value))) &&
    (nin === undefined || value === undefined || !nin.includes(value)) &&
    (exists === undefined || (value !== undefined) === exists)
  )
}
