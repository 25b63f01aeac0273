// GET /_understudy/traces and /_understudy/traces/:id: what calls were made and what became of them.
import { z } from 'zod'
import { ApiError } from '../contract/error.ts'
import type { Route } from '../contract/route.ts'
import { StoredTrace, TraceRecord } from '../contract/trace.ts'
import { warningsOf } from '../sessions/warnings.ts'
import type { ControlDeps } from './types.ts'

const Instant = z
  .union(
    [
      z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
      z.string().regex(/^\d+$/).transform(Number),
    ],
    { error: 'must be an ISO 8601 time or milliseconds since the epoch' },
  )
  .describe('An ISO 8601 time or milliseconds since the epoch.')
const whole = (low: number, high: number) =>
  z.string().regex(/^\d+$/, { error: 'must be a whole number' }).transform(Number).pipe(z.int().min(low).max(high))

const ListQuery = z.strictObject({
  limit: whole(1, 200).default(50).describe('1 to 200, default 50.'),
  starting_after: z.string().optional().describe('A trace id; the page goes on after it.'),
  model: z.string().optional(),
  status: whole(100, 599).optional(),
  thread: z.string().optional().describe('Id of a thread.'),
  session: z.string().optional().describe("A session's name; the caller's own when left out."),
  since: Instant.optional().describe('Earliest start.'),
  until: Instant.optional().describe('Latest start.'),
})

export function traceRoutes({ sessions, sessionOf }: ControlDeps): Route[] {
  const list: Route<z.infer<typeof ListQuery>> = {
    method: 'get',
    path: '/_understudy/traces',
    tag: 'Emulator',
    summary: 'List traces',
    description: 'Traces of a session, newest first; `starting_after` pages on.',
    query: ListQuery,
    response: z.object({
      object: z.literal('list'),
      data: z.array(TraceRecord),
      has_more: z.boolean(),
      warnings: z
        .array(z.string())
        .describe('What was accepted although it looks like a mistake, such as feedback on an unknown trace.'),
    }),
    errors: [400, 404],
    handle({ request, query }) {
      const { traces, records } = query.session === undefined ? sessionOf(request) : sessions.find(query.session)
      if (query.starting_after !== undefined && !traces.has(query.starting_after)) throw unknown(query.starting_after)
      const { data, hasMore } = traces.list({ ...query, after: query.starting_after })
      return { object: 'list', data, has_more: hasMore, warnings: warningsOf(records) }
    },
  }
  const get: Route = {
    method: 'get',
    path: '/_understudy/traces/:id',
    tag: 'Emulator',
    summary: 'Get a trace',
    description: 'The whole record of one call, with its request and answer.',
    response: StoredTrace,
    errors: [404],
    handle({ request, params }) {
      const trace = sessionOf(request).traces.get(params.id ?? '')
      if (!trace) throw unknown(params.id ?? '')
      return trace
    },
  }
  const unknown = (id: string) =>
    new ApiError(404, 'trace_not_found', `there is no trace with the id ${JSON.stringify(id)} in this session`)
  return [list as unknown as Route, get]
}
