// GET /_understudy/livez and /_understudy/readyz, which orchestrators and balancers poll. They access no session and
// need no token.
import { z } from 'zod'
import type { Route } from '../contract/core/route.ts'
import { type ControlDeps, controlRoute } from './types.ts'

const shared = { session: 'none', public: true } as const

// Made once: a process may have many applications.
const Liveness = z.object({ status: z.literal('ok') })
const Readiness = z.object({
  status: z.enum(['ok', 'draining']).describe('`ok`, or `draining` with status 503 during shutdown.'),
})

/** Whether the process runs, and whether it accepts calls. */
export const probeRoutes = ({
  sessions,
  about: { watch },
}: Pick<ControlDeps, 'sessions' | 'about'>): readonly Route[] => [
  controlRoute({
    ...shared,
    path: '/_understudy/livez',
    operationId: 'getLiveness',
    summary: 'Liveness',
    description:
      'Returns 200 while the process runs, also during shutdown. If it does not respond, restart the process.',
    response: Liveness,
    answerName: 'Liveness',
    handle: () => ({ status: 'ok' }),
  }),
  controlRoute({
    ...shared,
    path: '/_understudy/readyz',
    operationId: 'getReadiness',
    summary: 'Readiness',
    description:
      'Whether the process accepts new sessions. It does not respond before startup is complete and returns 503 during shutdown.',
    response: Readiness,
    answerName: 'Readiness',
    alsoWith: { 503: 'The process is shutting down and creates no more sessions.' },
    handle() {
      watch.noteCheck('readyz')
      return sessions.draining ? Response.json({ status: 'draining' }, { status: 503 }) : { status: 'ok' }
    },
  }),
]
