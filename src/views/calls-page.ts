// Summaries of calls, in pages.
import type { CallRow } from '../contract/core/call-row.ts'
import { ApiError } from '../contract/core/error.ts'
import type { TraceRecord } from '../contract/core/trace.ts'
import type { NumberedTrace } from '../db/trace-store.ts'
import { sumOf } from '../lib/values.ts'
import type { Session } from '../sessions/sessions.ts'
import { REQUEST_HEAD, requestBrief } from './sayings.ts'

/** The query. */
interface CallsQuery {
  /** Number of calls to scan. */
  limit: number
  /** The `next` of the previous page. */
  cursor?: string | undefined
  /** Only calls with a higher number in their session. */
  above?: number | undefined
  /** Only calls whose record, request or response contains this text. */
  text?: string | undefined
}

/**
 * A page of the calls of sessions, one session after the other, newest first in each, and the cursor of the next page.
 */
export function callsPage(sessions: readonly Session[], { limit, cursor, above = 0, text }: CallsQuery) {
  const from = cursor === undefined ? undefined : parsed(cursor)
  // A session that was removed since has no more calls.
  const first = from === undefined ? 0 : sessions.findIndex(({ name }) => name === from.name)
  const data: CallRow[] = []
  let before = from?.before ?? Number.MAX_SAFE_INTEGER
  let remaining = limit
  for (const session of first < 0 ? [] : sessions.slice(first)) {
    if (remaining <= 0) return { data, next: `${before}:${session.name}` }
    const { found, looked, last } = session.traces.span({
      ...{ before, above, limit: remaining, text: text?.toLowerCase() },
      head: REQUEST_HEAD,
    })
    for (const one of found) data.push(rowOf(one))
    if (looked === remaining) return { data, next: `${last}:${session.name}` }
    // Sessions without calls cost time, too.
    remaining -= Math.max(1, looked)
    before = Number.MAX_SAFE_INTEGER
  }
  return { data, next: null }
}

function parsed(cursor: string): { name: string; before: number } {
  const [, before, name] = /^(\d{1,16}):(.+)$/.exec(cursor) ?? []
  if (name !== undefined) return { name, before: Number(before) }
  const message = `cursor ${JSON.stringify(cursor)} is not valid: it must be the 'next' of an earlier page`
  throw new ApiError(400, 'invalid_cursor', message, { param: 'cursor' })
}

/** Maximum length of an error in a list. */
const MAX_ERROR_LENGTH = 200

/** The row of a trace; `request` is the start of its stored request. */
export function rowOf({ seq, arrived, trace, request }: NumberedTrace): CallRow {
  const { id, session, operation, name, model, stream, status, outcome, fixture, generated, internal, parent } = trace
  const { attempts, cost, error } = trace
  const thread = trace.thread?.id
  const brief = requestBrief(request)
  return {
    ...{ seq, id, session, arrived, operation, name, model, stream, status, outcome },
    ...{ fixture, generated, internal, parent, cost },
    prompt: brief.prompt,
    requested_model: brief.model ?? trace.plan[0] ?? model,
    started: Date.parse(trace.started_at),
    duration: trace.duration_ms,
    attempts: attempts.length,
    waited: sumOf(attempts, ({ wait_ms: wait }) => wait),
    faults: [...new Set([...attempts.flatMap(({ faults }) => faults), ...trace.faults])],
    cached: trace.cache?.status === 'hit',
    thread: typeof thread === 'string' ? thread : null,
    task: trace.task?.id ?? null,
    tokens: tokensOf(trace.usage),
    error: error === null ? null : error.message.slice(0, MAX_ERROR_LENGTH),
  }
}

function tokensOf(usage: TraceRecord['usage']): number | null {
  if (!usage) return null
  if (typeof usage.total_tokens === 'number') return usage.total_tokens
  const counts = [usage.prompt_tokens, usage.completion_tokens, usage.input_tokens, usage.output_tokens]
  const known = counts.filter((count) => typeof count === 'number')
  return known.length > 0 ? sumOf(known, Number) : null
}
