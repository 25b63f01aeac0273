// The compile entry.

import { createApp } from './app.ts'
import { fixtureBackend } from './backends/fixture/backend.ts'
import { loadFixtures } from './backends/fixture/load.ts'
import { operations } from './endpoints/index.ts'
import { createSessions } from './sessions/sessions.ts'

const sessions = createSessions({ db: 'understudy.db', seed: 0, clock: 'real' })
const backend = fixtureBackend(loadFixtures([], operations), 'synthesize')
const app = createApp({ sessions, gateway: { backend }, maxBody: 32 * 2 ** 20 })
Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env.PORT ?? 4010),
  idleTimeout: 0,
  reusePort: false,
  fetch: app.fetch,
})
