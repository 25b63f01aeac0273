// GET /_understudy/live: what happens in sessions, as it happens.
import { z } from 'zod'
import { asRoute, type Route } from '../contract/core/route.ts'
import { liveStream } from '../observers/live.ts'
import type { ControlDeps } from './types.ts'

const LiveQuery = z.strictObject({
  sessions: z
    .literal('all', { error: "must be 'all', or left out" })
    .optional()
    .describe("All sessions, or only the caller's."),
  as: z
    .enum(['events', 'numbers'], { error: "must be 'events' or 'numbers'" })
    .default('events')
    .describe('`numbers` for what has changed, to be asked for; each event whole when left out.'),
})

export const liveRoute = ({ observers, sessionNameOf }: ControlDeps): Route =>
  asRoute({
    method: 'get',
    path: '/_understudy/live',
    tag: 'Emulator',
    operationId: 'watchLive',
    summary: 'Watch live events',
    description:
      'Server-sent events, from `ready` on: `call-begun`, `attempt-ended`, `task-changed` with each step of an agent, `trace-saved` with the whole trace, `call-lost` when that could not be stored, `session-changed`, and `session-verified` with the findings of a verdict that was asked for. `at` is in milliseconds of a clock that never jumps. What a client does not read in time is left out, and `dropped` says how much of it.\n\nWith `as=numbers`, a list finds out what to ask for: `calls` says in `above`, by session, above which number calls have ended or are gone, as `GET /_understudy/calls` takes it, and in `under_way` how many have begun and not ended; `task-changed` and `session-changed` name the session. Of what happens together one event is sent, so that nothing is left out; a client that does not read for long is sent `ready` again, and is to ask for everything.',
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
