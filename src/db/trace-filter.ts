// What a list of traces is narrowed by, in SQL.
import { between, eq, gte, lt, lte, type SQL, sql } from 'drizzle-orm'
import { traces } from './schema.ts'

/** What a list of traces is narrowed by; the page goes on after the trace with the id `after`. */
export interface TraceFilter {
  model?: string | undefined
  status?: number | undefined
  /** Id of a thread. */
  thread?: string | undefined
  /** Name of a session, where there are several: in the file of a run. */
  session?: string | undefined
  /** Only calls that came in this span, both ends included, in ms since the epoch by the machine's clock. */
  arrived?: readonly [number, number] | undefined
  /** Milliseconds since the epoch, inclusive. */
  since?: number | undefined
  until?: number | undefined
  after?: string | undefined
  limit: number
}

/** The name of a trace's session. */
export const SESSION_NAME = sql<string>`json_extract(${traces.record}, '$.session')`

/** The conditions of a filter; `seqOf` finds the number of a call by the id of its trace. */
export function conditionsOf(filter: TraceFilter, seqOf: (id: string) => number | undefined): (SQL | undefined)[] {
  const { model, status, thread, since, until, after, session, arrived } = filter
  return [
    model === undefined ? undefined : eq(traces.model, model),
    status === undefined ? undefined : eq(traces.status, status),
    thread === undefined ? undefined : eq(traces.thread, thread),
    since === undefined ? undefined : gte(traces.started, since),
    until === undefined ? undefined : lte(traces.started, until),
    after === undefined ? undefined : lt(traces.seq, seqOf(after) ?? 0),
    session === undefined ? undefined : eq(SESSION_NAME, session),
    arrived && between(sql`coalesce(${traces.arrived}, 0)`, ...arrived),
  ]
}
