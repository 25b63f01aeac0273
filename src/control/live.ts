// GET /_understudy/live: what happens in sessions, as it happens.
import { z } from 'zod'
import { asRoute, type Route } from '../contract/route.ts'
import { liveStream } from '../observers/live.ts'
import { liveRows } from '../views/live-rows.ts'
import type { ControlDeps } from './types.ts'

const LiveQuery = z.strictObject({
  sessions: z.literal('all', { error: "must be 'all', or left out" }).optional().describe("All, or the caller's own."),
  as: z
    .literal('rows', { error: "must be 'rows', or left out" })
    .optional()
    .describe('`rows` for calls as a list shows them, many in one event; each event whole when left out.'),
})

export const liveRoute = ({ observers, sessionNameOf }: ControlDeps): Route =>
  asRoute({
    method: 'get',
    path: '/_understudy/live',
    tag: 'Emulator',
    operationId: 'watchLive',
    summary: 'Watch what happens',
    description:
      'Server-sent events, from `ready` on: `call-begun`, `attempt-ended`, `task-changed` with each step of an agent, `trace-saved` with the whole trace, `call-lost` when that could not be stored, `session-changed`, and `session-verified` with the findings of a verdict that was asked for. `at` is in milliseconds of a clock that never jumps. What a client does not read in time is left out, and `dropped` says how much of it.\n\nWith `as=rows`, calls are sent as `calls-saved` about every 100 ms: `rows` as `GET /_understudy/calls` has them, `under_way` for how many have begun and not ended, and `left_out` for how many more have ended; of those at most 100 rows are sent, and 100 of calls that were not answered, so that watching costs the calls nothing. Ask `GET /_understudy/calls` with `above` for what was left out. `task-changed` comes without the task.',
    query: LiveQuery,
    response: z.unknown(),
    contentType: 'text/event-stream',
    errors: [400],
    handle: ({ request, query }) => {
      const session = query.sessions === 'all' ? undefined : sessionNameOf(request)
      const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
      const gathering = query.as === 'rows' ? liveRows() : undefined
      return new Response(liveStream(observers, { session, signal: request.signal, gathering }), { headers })
    },
  })
