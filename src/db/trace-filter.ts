// The filters of a list of traces, in SQL.

/** The filters of a list of traces. The page starts after the trace with the id `after`. */
export interface TraceFilter {
  model?: string | undefined
  status?: number | undefined
  /** Id of a thread. */
  thread?: string | undefined
  /** Name of a session, if there are several: in the file of a run. */
  session?: string | undefined
  /** Only calls that arrived in this span, both ends included, in ms since the epoch by the machine's clock. */
  arrived?: readonly [number, number] | undefined
  /** Milliseconds since the epoch, inclusive. */
  since?: number | undefined
  until?: number | undefined
  after?: string | undefined
  limit: number
}

/** The conditions of a filter, and their values; `seqOf` finds the number of a call by the id of its trace. */
export function conditionsOf(
  { model, status, thread, since, until, after, session, arrived }: Omit<TraceFilter, 'limit'>,
  seqOf: (id: string) => number | undefined,
): { sql: string; values: unknown[] } {
  const conditions: [string, ...values: unknown[]][] = [
    ['model = ?', model],
    ['status = ?', status],
    ['thread = ?', thread],
    ['started >= ?', since],
    ['started <= ?', until],
    ['seq < ?', after === undefined ? undefined : (seqOf(after) ?? 0)],
    ['session = ?', session],
    ['arrived BETWEEN ? AND ?', ...(arrived ?? [undefined])],
  ]
  const used = conditions.filter(([, first]) => first !== undefined)
  return {
    sql: used.length === 0 ? '' : `WHERE ${used.map(([condition]) => condition).join(' AND ')}`,
    values: used.flatMap(([, ...values]) => values),
  }
}
