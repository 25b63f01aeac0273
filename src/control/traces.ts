// GET /_understudy/traces and /_understudy/traces/:id: the traces of calls.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import { Exchange } from '../contract/core/exchange.ts'
import type { Route, RouteInput } from '../contract/core/route.ts'
import { StoredTrace, TraceRecord } from '../contract/core/trace.ts'
import { Waterfall } from '../contract/core/waterfall.ts'
import { isActive } from '../contract/workspace/task-state.ts'
import type { Session } from '../sessions/sessions.ts'
import { warningsOf } from '../sessions/warnings.ts'
import { exchangeOf } from '../views/exchange.ts'
import { callWaterfall } from '../views/waterfall.ts'
import { type ControlDeps, controlRoute, TracedInstance, wholeText } from './types.ts'

const Instant = z
  .union(
    [
      z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
      z.string().regex(/^\d+$/).transform(Number),
    ],
    { error: 'must be an ISO 8601 time or milliseconds since the epoch' },
  )
  .describe('An ISO 8601 time or milliseconds since the epoch.')

const all = z.enum(['true', 'false']).default('false').describe('All sessions instead of one.')

const ListQuery = z.strictObject({
  limit: wholeText(1, 200).default(50).describe('1 to 200, default 50.'),
  starting_after: z.string().optional().describe('A trace id. The page starts after this trace.'),
  model: z.string().describe('Only calls to which this model responded.').optional(),
  status: wholeText(100, 599).describe('Only calls with this response status.').optional(),
  thread: z.string().optional().describe('Thread id.'),
  session: z.string().optional().describe("Session name. Default: the caller's session."),
  all,
  since: Instant.optional().describe('Earliest start.'),
  until: Instant.optional().describe('Latest start.'),
})

const TraceList = z.object({
  object: z.literal('list'),
  instance: TracedInstance,
  data: z.array(TraceRecord),
  has_more: z.boolean().describe('Whether there are more pages in this direction.'),
  damaged: z
    .array(z.int())
    .optional()
    .describe(
      'Numbers of unreadable rows omitted from this page. Absent if there are none, and for all sessions together.',
    ),
  warnings: z
    .array(z.string())
    .describe('A warning about an accepted request that looks like a mistake, such as feedback for an unknown trace.'),
})
const OneQuery = z.strictObject({ all })

/** `/_understudy/traces`: lists traces; returns one, its timeline or its wire data. */
export function traceRoutes(deps: ControlDeps): Route[] {
  const { about, sessions, sessionOf, mustBeSeen, readers } = deps
  const one = ({
    show,
    ...about
  }: Pick<Route, 'path' | 'operationId' | 'summary' | 'description' | 'response'> & {
    show(session: Session, trace: StoredTrace): object
  }): Route => {
    const handle = (call: TraceRequest) => {
      const { session, trace } = wantedTrace(call, deps)
      return show(session, trace)
    }
    return controlRoute({ ...about, query: OneQuery, errors: [404], handle })
  }
  return [
    controlRoute({
      path: '/_understudy/traces',
      operationId: 'listTraces',
      summary: 'List traces',
      description:
        'Traces of a session, newest first, or of all sessions in the order of arrival. Use `starting_after` for the next page.',
      query: ListQuery,
      response: TraceList,
      errors: [404],
      handle({ request, query }) {
        if (query.session !== undefined) mustBeSeen(query.session, request)
        const instance = about.instance.traced ?? null
        if (query.all === 'true')
          return { object: 'list', instance, ...sessions.overAll((every) => ofAll(every, query)) }
        const { traces, records } = query.session === undefined ? sessionOf(request) : sessions.find(query.session)
        if (query.starting_after !== undefined && !traces.has(query.starting_after))
          throw unknownTrace(query.starting_after, [{ traces }])
        const { data, hasMore, damaged } = traces.list({ ...query, after: query.starting_after })
        const damage = damaged.length > 0 && { damaged }
        return { object: 'list', instance, data, has_more: hasMore, ...damage, warnings: warningsOf(records) }
      },
    }),
    one({
      path: '/_understudy/traces/:id',
      operationId: 'getTrace',
      summary: 'Get a trace',
      description: 'The full record of one call with its request and response.',
      response: StoredTrace,
      show({ slot }, trace) {
        const { task } = trace
        // A client that reads the end of a task here has read it.
        if (task) readers.shown(slot, { id: task.id, active: isActive(task.state) })
        return trace
      },
    }),
    one({
      path: '/_understudy/traces/:id/waterfall',
      operationId: 'getWaterfall',
      summary: 'Get the timeline of a trace',
      description:
        "The timeline of a call, one row per event: gateway steps and attempts, agent steps, and the client's tries of the same request.",
      response: Waterfall,
      show: ({ traces }, trace) =>
        callWaterfall(trace, { calls: traces.around(trace.id, AROUND), find: (other) => traces.get(other) }),
    }),
    one({
      path: '/_understudy/traces/:id/exchange',
      operationId: 'getExchange',
      summary: 'Get the wire data of a call',
      description:
        'The exact bytes of the request and the response in the API that was called, the time of each chunk, and how the connection ended. Secrets are masked. Internal calls of evaluators and agents, and turns of tasks, have no connection and therefore no wire data.',
      response: Exchange,
      show: ({ traces }, trace) => exchangeOf(trace, { traces, operation: deps.operation }),
    }),
  ]
}

type TraceRequest = RouteInput<z.infer<typeof OneQuery>>

/**
 * The trace that a request names, and its session.
 * @throws ApiError 404
 */
function wantedTrace({ request, params, query }: TraceRequest, { sessions, sessionOf }: ControlDeps) {
  const id = params.id ?? ''
  const find = (meant: readonly Session[]) => {
    const session = meant.find(({ traces }) => traces.has(id))
    const trace = session?.traces.get(id)
    if (session && trace) return { session, trace }
    throw unknownTrace(id, meant)
  }
  return query.all === 'true' ? sessions.overAll(find) : find([sessionOf(request)])
}

/** Maximum number of sessions in which a 404 searches for damaged rows. */
const MAX_HINTED = 10

/** The 404 for an unknown trace, which may be that of a row whose id cannot be read. */
export function unknownTrace(id: string, meant: readonly Pick<Session, 'traces'>[]): ApiError {
  const rows = meant.slice(0, MAX_HINTED).flatMap(({ traces }) => traces.nameless())
  const hint = `; it may be that of a damaged row, whose id cannot be read: there ${rows.length === 1 ? 'is row' : 'are rows'} ${rows.join(', ')} of trace_rows`
  const message = `there is no trace with the id ${JSON.stringify(id)} in this session${rows.length === 0 ? '' : hint}`
  return new ApiError(404, 'trace_not_found', message)
}

/** Neighboring calls among which other attempts of the client are searched. */
const AROUND = 200
const MAX_AT_ONCE = 1_000

/** A page over all sessions, in order of arrival: each session has a clock of its own. */
function ofAll(sessions: readonly Session[], { starting_after: after, limit, ...filter }: z.infer<typeof ListQuery>) {
  const at = after === undefined ? Number.MAX_SAFE_INTEGER : arrivalOf(after, sessions)
  const found = sessions
    .flatMap(({ traces }) => {
      const span = (from: number, to: number, most: number) =>
        traces.arrivals({ ...filter, session: undefined, arrived: [from, to], limit: most })
      // Calls of the same millisecond as the last one of the previous page may be before or after it.
      return [...(after === undefined ? [] : span(at, at, MAX_AT_ONCE)), ...span(0, at - 1, limit + 1)]
    })
    .sort((one, other) => other.arrived - one.arrived || (other.trace.id < one.trace.id ? -1 : 1))
  const rest = after === undefined ? found : found.slice(found.findIndex(({ trace }) => trace.id === after) + 1)
  const data = rest.slice(0, limit).map(({ trace }) => trace)
  const warnings = [...new Set(sessions.flatMap(({ records }) => warningsOf(records)))]
  return { data, has_more: rest.length > limit, warnings }
}

function arrivalOf(id: string, sessions: readonly Session[]): number {
  const owner = sessions.find(({ traces }) => traces.has(id))
  if (!owner) throw unknownTrace(id, sessions)
  for (const { trace, times } of owner.traces.since(0)) if (trace.id === id) return times?.arrived ?? 0
  return 0
}
