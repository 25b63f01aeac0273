// Health shows the uptime of the program and the number of sessions, and loads no unloaded one.
import { afterAll, expect, test } from 'bun:test'
import type { OwnedSession } from '../../src/sessions/session-handle.ts'
import { createTestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'

const app = createTestApp({ max_sessions: 1_000 })
const begun = Date.now()
afterAll(() => app.close())

const HEALTH = '/_understudy/health'
/** More than may be awake at a time (sessions/loaded-sessions.ts). */
const SESSIONS = 150
const say = (session: string) => app.post(`/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user('Hello!') })
const asleep = () =>
  app.understudy.sessions
    .list()
    .filter(({ slot }) => !(slot as OwnedSession).loaded)
    .map(({ name }) => name)

test('health: counts unloaded sessions without loading them', async () => {
  for (let number = 0; number < SESSIONS; number++) expect((await say(`s-${number}`)).status).toBe(200)
  // They are closed one in each turn.
  for (let turn = 0; turn < SESSIONS; turn++) await new Promise((resolve) => setImmediate(resolve))
  const before = asleep()
  expect(before).not.toBeEmpty()
  const counts = (await app.fetch(HEALTH)).json().counts as Record<string, number>
  expect(asleep()).toEqual(before)
  expect([counts.sessions, counts.traces]).toEqual([SESSIONS + 1, SESSIONS])
})

test('health: measures uptime from the start of the process', async () => {
  const atLeast = Date.now() - begun
  expect((await app.fetch(HEALTH)).json().uptime_ms).toBeGreaterThanOrEqual(atLeast)
})
