// GET /_understudy/live: events of sessions as they happen.
import { z } from 'zod'
import type { Route } from '../contract/core/route.ts'
import { liveStream } from '../observers/live.ts'
import { AllSessions, type ControlDeps, controlRoute } from './types.ts'

const LiveQuery = z.strictObject({
  sessions: AllSessions,
  as: z
    .enum(['events', 'numbers'], { error: "must be 'events' or 'numbers'" })
    .default('events')
    .describe('`numbers` reports only what changed. Default: full events.'),
})

/** `GET /_understudy/live`: the events of one or all sessions as a stream of server-sent events. */
export const liveRoute = ({ observers, sessionNameOf }: ControlDeps): Route =>
  controlRoute({
    path: '/_understudy/live',
    operationId: 'watchLive',
    summary: 'Watch live events',
    description:
      'A stream of server-sent events that starts with `ready`. Events: `call-begun`, `attempt-ended`, `task-changed` (each step of an agent), `trace-saved` (the full trace), `call-lost` (the trace could not be stored), `session-changed`, and `session-verified` (the findings of a requested verdict). `at` is in milliseconds of a monotonic clock. Events that a client does not read in time are dropped, and `dropped` contains their number.\n\nWith `as=numbers`, the stream reports only what changed. `calls` contains in `above`, by session, the number above which calls ended or were removed, for use in `GET /_understudy/calls`, and in `under_way` the number of calls in flight. `task-changed` and `session-changed` contain the session. Simultaneous changes are combined into one event, so none is dropped. A client that reads too slowly receives `ready` again and must reload everything.',
    query: LiveQuery,
    response: z.unknown(),
    contentType: 'text/event-stream',
    errors: [400],
    handle: ({ request, query }) => {
      const session = query.sessions === 'all' ? undefined : sessionNameOf(request)
      const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
      return new Response(liveStream(observers, { session, signal: request.signal, as: query.as }), { headers })
    },
  })
