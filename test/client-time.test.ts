// Virtual time follows a client that really waits between its calls, and no other.
import { afterAll, expect, test } from 'bun:test'
import { SHORTEST_PAUSE_MS, withClientTime } from '../src/cli/client-time.ts'
import type { TraceRecord } from '../src/contract/trace.ts'
import { testApps } from './support/app.ts'

const { appWith, close } = testApps()
afterAll(close)

/** An application whose client lets as much real time pass as it says, and none by the way. */
function withPauses(scenario = ['outage']) {
  const app = appWith({ scenario })
  let now = Date.now()
  const { app: followed } = withClientTime(app.understudy, () => now)
  const ask = (more: object = {}, session = 'default') =>
    followed.fetch(
      new Request('http://localhost/v2/router/chat/completions', {
        method: 'POST',
        headers: {
          authorization: 'Bearer any',
          'content-type': 'application/json',
          'x-understudy-session': session,
        },
        body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }], ...more }),
      }),
    )
  return {
    ask,
    call: async (session?: string) => void (await (await ask({}, session)).text()),
    /** The client waits, from the moment at which its last answer had gone out. */
    pause(ms: number, session = 'default') {
      const { traces } = app.understudy.sessions.find(session)
      now = [...traces.since(0)].reduce((latest, { heard }) => Math.max(latest, heard?.left ?? 0), 0) + ms
    },
    clock: () => app.understudy.sessions.find('default').clock,
    async traces() {
      return (await app.fetch('/_understudy/traces?limit=200')).text
    },
    elapse(ms: number) {
      now += ms
    },
    /** When the calls of a session began, in ms from its first one. */
    async starts(session = 'default') {
      const { data } = (await app.fetch(`/s/${session}/_understudy/traces`)).json() as { data: TraceRecord[] }
      const times = data.map(({ started_at }) => Date.parse(started_at)).reverse()
      return times.map((time) => time - (times[0] ?? 0))
    },
  }
}

const pauses: [number, number][] = [
  [0, 0],
  [200, 0],
  [SHORTEST_PAUSE_MS - 1, 0],
  [SHORTEST_PAUSE_MS, SHORTEST_PAUSE_MS],
  [10_000, 10_000],
]
test.each(pauses)('a pause of %d ms counts as %d', async (ms, counted) => {
  const { call, pause, starts } = withPauses()
  await call()
  pause(ms)
  await call()
  expect(await starts()).toEqual([0, counted])
})

test('what a client has waited is nothing that the clock has jumped', async () => {
  const { call, clock, pause } = withPauses()
  await call()
  pause(10_000)
  await call()
  expect(clock()).toMatchObject({ kind: 'virtual', jumped: 0 })
})

test('nothing counts before the first call and while a call is under way', async () => {
  const { ask, call, elapse, starts } = withPauses(['agent-stuck'])
  elapse(60_000)
  await call()
  // Answered, but not read to its end; a short one would have left at once.
  const open = await ask({ stream: true, n: 64 })
  elapse(60_000)
  await call()
  await open.text()
  expect(await starts()).toEqual([0, 0, 0])
})

test('a session has its own pauses', async () => {
  const { call, pause, starts } = withPauses()
  await call()
  await call('other')
  pause(5_000, 'other')
  await call('other')
  expect(await starts('other')).toEqual([0, 5_000])
  expect(await starts()).toEqual([0])
})

test('calls that come together after a pause count it once', async () => {
  const { call, pause, starts } = withPauses()
  await call()
  pause(2_000)
  await Promise.all([call(), call(), call()])
  expect(await starts()).toEqual([0, 2_000, 2_000, 2_000])
})

test('without a scenario nothing counts', async () => {
  const { call, pause, starts } = withPauses([])
  await call()
  pause(3_600_000)
  await call()
  expect(await starts()).toEqual([0, 0])
})

/** A stream of numbers from 0 to 1 that repeats. */
function chances(seed: number) {
  let count = 0
  return () => Number(Bun.hash(`${seed}:${count++}`) % 10_000n) / 10_000
}

/** What a client sees, and the traces that it leaves, when it calls in bursts with pauses of up to so many ms. */
async function playedWith(jitter: number, seed: number) {
  const { ask, call, pause, traces } = withPauses(['rate-limit-burst'])
  const luck = chances(seed)
  const seen: string[] = []
  for (let round = 0; round < 8; round++) {
    // Other sessions keep the server busy, more or less.
    await Promise.all(Array.from({ length: Math.floor(luck() * 4) }, (_, index) => call(`other-${index}`)))
    if (round > 0) pause(luck() * jitter)
    const body = { stream: round % 3 === 1, user: `u${round}` }
    const retried = { ...body, retry: { count: 2 } }
    const answers = await Promise.all([ask(body), ask(retried)])
    for (const answer of answers) seen.push(`${answer.status} ${await answer.text()}`)
  }
  return { seen, traces: await traces() }
}

test('a client that does not wait gets the same bytes and leaves the same traces, with 200 ms of jitter and under load', async () => {
  const first = await playedWith(0, 0)
  expect(new Set(first.seen.map((text) => text.slice(0, 3))).size).toBeGreaterThan(1)
  for (const seed of [1, 2, 3, 4, 5, 6]) expect(await playedWith(200, seed)).toEqual(first)
  // The same test sees a client that does wait.
  expect(await playedWith(60_000, 7)).not.toEqual(first)
})
