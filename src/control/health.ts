// GET /_understudy/health: is it up, and what is it? The one path that never asks for a token.
import { z } from 'zod'
import type { Route } from '../contract/route.ts'
import { realClock } from '../lib/clock.ts'
import type { Session } from '../sessions/sessions.ts'
import type { ControlDeps } from './index.ts'

const Health = z.object({
  status: z.literal('ok'),
  version: z.string(),
  uptime_ms: z.int(),
  mode: z.string(),
  database: z.string(),
  counts: z.object({
    sessions: z.int(),
    traces: z.int(),
    traces_dropped: z.int().describe('Removed since the start, oldest first, to keep no more than --keep-traces.'),
    fixtures: z.int(),
  }),
})

export function healthRoute({ sessions, about }: ControlDeps): Route {
  const started = realClock.now()
  return {
    method: 'get',
    path: '/_understudy/health',
    tag: 'Emulator',
    summary: 'Health',
    description: 'Version, uptime, mode, database and counts over all sessions.',
    public: true,
    response: Health,
    handle: (): z.infer<typeof Health> => {
      const all = sessions.list()
      const total = (of: (session: Session) => number) => all.reduce((sum, session) => sum + of(session), 0)
      return {
        status: 'ok',
        version: about.version,
        uptime_ms: realClock.now() - started,
        mode: about.mode,
        database: about.db,
        counts: {
          sessions: all.length,
          traces: total(({ traces }) => traces.count()),
          traces_dropped: total(({ traces }) => traces.dropped()),
          fixtures: about.fixtures,
        },
      }
    },
  }
}
