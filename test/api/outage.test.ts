// A long outage in no time: retries with their waits, timeouts, cache expiry and recovery, in the right order.
import { afterAll, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { CHAT } from '../support/chat.ts'

const app = createTestApp()
afterAll(app.close)
const MINUTE = 60_000
const START = Date.UTC(2025, 0, 1)
const put = (path: string, body: unknown) =>
  app.fetch(path, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

const outage = {
  name: 'ten-minutes',
  clock: 'virtual',
  rules: [
    {
      name: 'http_error',
      match: { target: 'primary' },
      when: { for: '5m' },
      fault: { type: 'http-error', status: 429, retry_after: '30s' },
    },
    { name: 'silent', match: { target: 'primary' }, when: { after: '5m', for: '5m' }, fault: { type: 'hang' } },
  ],
}
const call = () =>
  app.post(CHAT, {
    model: 'openai/gpt-4o',
    messages: [{ role: 'user', content: 'Is it over?' }],
    retry: { count: 2 },
    timeout: { call_timeout: 20_000 },
    fallbacks: [{ model: 'anthropic/claude-sonnet-4' }],
    cache: { type: 'exact_match', ttl: 90 },
  })

test('virtual outage: passes ten minutes at once, each event at its time', async () => {
  expect((await put('/_understudy/scenario', outage)).status).toBe(200)
  const story: { at: number; cache: string | undefined; attempts: string }[] = []
  for (let turn = 0; turn < 12; turn++) {
    const answer = await call()
    const { started_at, attempts, cache, duration_ms } = await app.traceOf(answer)
    const told = attempts.map(({ target, outcome }) => `${target.split('/')[0]} ${outcome}`).join(', ')
    story.push({ at: (Date.parse(started_at) - START) / MINUTE, cache: cache?.status, attempts: told })
    await app.understudy.sessions.get('default').clock.sleep(MINUTE - (duration_ms % MINUTE))
  }
  const refused = 'openai http_error, openai http_error, openai http_error, anthropic succeeded'
  const silent = 'openai timed_out, openai timed_out, openai timed_out, anthropic succeeded'
  // Two waits of 30 s as the provider told, or three times 20 s of silence with short waits between, make a call a minute long.
  expect(story).toEqual([
    { at: 0, cache: 'miss', attempts: refused },
    { at: 2, cache: 'hit', attempts: '' },
    { at: 3, cache: 'miss', attempts: refused },
    { at: 5, cache: 'hit', attempts: '' },
    { at: 6, cache: 'miss', attempts: silent },
    { at: 8, cache: 'hit', attempts: '' },
    { at: 9, cache: 'miss', attempts: silent },
    { at: 11, cache: 'hit', attempts: '' },
    { at: 12, cache: 'miss', attempts: 'openai succeeded' },
    { at: 13, cache: 'hit', attempts: '' },
    { at: 14, cache: 'miss', attempts: 'openai succeeded' },
    { at: 15, cache: 'hit', attempts: '' },
  ])
})
