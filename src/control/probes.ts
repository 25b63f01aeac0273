// GET /_understudy/livez and /_understudy/readyz: what orchestrators and balancers ask every second. They look at no session and need no token.
import { z } from 'zod'
import type { Route } from '../contract/core/route.ts'
import type { ControlDeps } from './types.ts'

const shared = { method: 'get', tag: 'Emulator', session: 'none', public: true } as const

/** Whether the process runs, and whether it should be sent calls. */
export const probeRoutes = ({
  sessions,
  about: { watch },
}: Pick<ControlDeps, 'sessions' | 'about'>): readonly Route[] => [
  {
    ...shared,
    path: '/_understudy/livez',
    operationId: 'getLiveness',
    summary: 'Liveness',
    description:
      'Answers for as long as the process does, also while it is being stopped: without an answer, start it again.',
    response: z.object({ status: z.literal('ok') }),
    answerName: 'Liveness',
    handle: () => ({ status: 'ok' }),
  },
  {
    ...shared,
    path: '/_understudy/readyz',
    operationId: 'getReadiness',
    summary: 'Readiness',
    description:
      'Whether new sessions are taken: nobody answers before the start is over, and 503 says that the program is being stopped.',
    response: z.object({
      status: z.enum(['ok', 'draining']).describe('`draining`, with 503, from a signal to stop on.'),
    }),
    answerName: 'Readiness',
    alsoWith: { 503: 'The program is being stopped, and begins no more sessions.' },
    handle() {
      watch.asked('readyz')
      return sessions.draining ? Response.json({ status: 'draining' }, { status: 503 }) : { status: 'ok' }
    },
  },
]
