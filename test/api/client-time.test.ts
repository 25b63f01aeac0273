// Virtual time follows a client that really waits between its calls, and no other.
import { afterAll, describe, expect, setDefaultTimeout } from 'bun:test'
import { MIN_PAUSE_MS, withClientTime } from '../../src/cli/run/client-time.ts'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import type { VirtualClock } from '../../src/lib/virtual-clock.ts'
import { testApps } from '../support/app.ts'
import { property, runs, test } from '../support/property.ts'
import { luckOf } from '../support/simulated-clients.ts'

// A property plays many clients, on a machine that may be busy.
setDefaultTimeout(120_000)

const { appWith, close } = testApps()
afterAll(close)

/** What a client sends, and on which connection. */
interface Sent {
  body?: object
  session?: string
  headers?: Record<string, string>
  connection?: string
}

/** An application whose client lets as much real time pass as it says, and none by the way. */
function withPauses(scenario = ['outage'], settings = {}) {
  const app = appWith({ scenario, ...settings })
  let now = Date.now()
  let number = 0
  const { app: followed } = withClientTime(app.understudy, () => now)
  const send = (method: string, path: string, { body, session = 'default', headers, connection }: Sent = {}) =>
    followed.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: {
          authorization: 'Bearer any',
          'content-type': 'application/json',
          'x-understudy-session': session,
          ...headers,
        },
        ...(body && { body: JSON.stringify(body) }),
      }),
      { find: async () => undefined, peer: () => connection },
    )
  const ask = (more: object = {}, session = 'default', how: Pick<Sent, 'headers' | 'connection'> = {}) => {
    const body = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }], ...more }
    return send('POST', '/v2/router/chat/completions', { body, session, ...how })
  }
  return {
    send,
    async begin(scenario: object) {
      expect((await send('PUT', '/_understudy/scenario', { body: scenario })).status).toBe(200)
    },
    ask,
    /** Asks something new, so that it is no repetition. */
    call: async (session?: string) => void (await (await ask({ user: `u${number++}` }, session)).text()),
    /** The client waits. */
    pause(ms: number) {
      now += ms
    },
    clock: () => app.understudy.sessions.find('default').clock as VirtualClock,
    session: () => app.understudy.sessions.find('default'),
    async traces() {
      return (await app.fetch('/_understudy/traces?limit=200')).text
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
  [MIN_PAUSE_MS - 1, 0],
  [MIN_PAUSE_MS, MIN_PAUSE_MS],
  [10_000, 10_000],
]
test.each(pauses)('client pause: of %d ms counts as %d', async (ms, counted) => {
  const { call, pause, starts } = withPauses()
  await call()
  pause(ms)
  await call()
  expect(await starts()).toEqual([0, counted])
})

test('client pause: does not count as skipped time', async () => {
  const { call, clock, pause } = withPauses()
  await call()
  pause(10_000)
  await call()
  expect(clock()).toMatchObject({ kind: 'virtual', jumped: 0 })
})

test('client pause: does not count before the first call or during a call', async () => {
  const { ask, call, pause, starts } = withPauses(['agent-stuck'])
  pause(60_000)
  await call()
  // Answered, but not read to its end; a short one would have left at once.
  const open = await ask({ stream: true, n: 64 })
  pause(60_000)
  await call()
  await open.text()
  expect(await starts()).toEqual([0, 0, 0])
})

test('client pause: counts for its own session', async () => {
  const { call, pause, starts } = withPauses()
  await call()
  await call('other')
  pause(5_000)
  await call('other')
  expect(await starts('other')).toEqual([0, 5_000])
  expect(await starts()).toEqual([0])
})

test('client pause: counts once for calls that arrive together', async () => {
  const { call, pause, starts } = withPauses()
  await call()
  pause(2_000)
  await Promise.all([call(), call(), call()])
  expect(await starts()).toEqual([0, 2_000, 2_000, 2_000])
})

test('client pause: does not count without a scenario', async () => {
  const { call, pause, starts } = withPauses([])
  await call()
  pause(3_600_000)
  await call()
  expect(await starts()).toEqual([0, 0])
})

describe('polling client', () => {
  const polls: [string, string, number][] = [
    ['polling a list', '/v2/agents', 500],
    ['polling a list often', '/v2/agents', 200],
    ['polling two lists in turn', '/v2/agents /v2/tools', 250],
    ['polling a missing record', '/v2/agents/nobody/tasks/1', 500],
  ]
  test.each(polls)('advances the clock by its waits and no more: %s', async (_, paths, every) => {
    const { call, send, pause, starts } = withPauses()
    await call()
    const urls = paths.split(' ')
    for (let waited = 0; waited < 4_000; waited += every) {
      pause(every)
      await (await send('GET', urls[(waited / every) % urls.length] ?? '')).text()
    }
    await call()
    const [, last = 0] = await starts()
    expect(last).toBeLessThanOrEqual(4_000)
    expect(last).toBeGreaterThanOrEqual(4_000 - 2 * Math.max(every, MIN_PAUSE_MS))
  })

  test('of the control API advances the clock in full', async () => {
    const { call, send, pause, starts } = withPauses()
    await call()
    for (let count = 0; count < 20; count++) {
      pause(200)
      await (await send('GET', '/_understudy/traces')).text()
    }
    await call()
    expect(await starts()).toEqual([0, 4_000])
  })
})

test('client pause: does not count between reads of different records', async () => {
  const { call, send, pause, starts } = withPauses()
  await call()
  for (let count = 0; count < 20; count++) {
    pause(200)
    await (await send('GET', `/v2/agents/number-${count}`)).text()
  }
  await call()
  expect(await starts()).toEqual([0, 0])
})

test('client pause: counts before A2A calls', async () => {
  const { call, send, pause, starts } = withPauses()
  await call()
  for (const method of ['GetTask', 'tasks/get']) {
    pause(3_000)
    await (await send('POST', '/a2a/nobody', { body: { jsonrpc: '2.0', id: 1, method, params: { id: 'x' } } })).text()
  }
  await call()
  expect(await starts()).toEqual([0, 6_000])
})

describe('client pauses', () => {
  test('count when traces were dropped', async () => {
    const { call, pause, clock } = withPauses(['outage'], { keep_traces: 1 })
    const began = clock().passed()
    for (let count = 0; count < 5; count++) {
      pause(1_000)
      await Promise.all([call(), call()])
    }
    expect(clock().passed() - began).toBe(4_000)
  })

  test('count when calls failed because they could not be stored, whole and streamed', async () => {
    const { ask, call, pause, clock, session } = withPauses(['outage'])
    await call()
    const { traces } = session()
    const { record } = traces
    traces.record = () => Promise.reject(Object.assign(new Error('full'), { code: 'SQLITE_FULL' }))
    for (const stream of [false, true]) {
      pause(1_000)
      await (await ask({ stream })).text()
    }
    traces.record = record
    pause(1_000)
    await call()
    expect(clock().passed()).toBe(3_000)
  })

  test('count from the first call after a reset', async () => {
    const { call, send, pause, clock, starts } = withPauses()
    await call()
    await send('POST', '/_understudy/reset')
    pause(10_000)
    await call()
    pause(2_000)
    await call()
    expect(await starts()).toEqual([0, 2_000])
    expect(clock().passed()).toBe(2_000)
  })
})

/** An outage of so many seconds, and then health. */
const outage = (seconds: number, retryAfter?: number) => ({
  name: 'long-outage',
  rules: [
    {
      name: 'down',
      when: { schedule: [{ phase: 'down', for: `${seconds}s` }, { phase: 'healthy' }] },
      fault: { type: 'http-error', status: 503, ...(retryAfter && { retry_after: `${retryAfter}s` }) },
    },
  ],
})

/** Lets programs run on the time of `pause`, each a generator that gives how long it waits next. */
async function runOn(pause: (ms: number) => void, programs: readonly AsyncGenerator<number>[]) {
  const due = programs.map((program) => ({ program, at: 0 }))
  let now = 0
  while (due.length > 0) {
    due.sort((one, other) => one.at - other.at)
    const next = due[0]
    if (!next) break
    pause(next.at - now)
    now = next.at
    const { done, value } = await next.program.next()
    if (done) due.shift()
    else next.at = now + value
  }
  return now
}

describe('parallel workers that each wait', () => {
  /** How often each asks, under an outage of 20 s, when it waits 2 s after each failure. */
  async function askedBy(ways: {
    text?: boolean
    told?: boolean
    connections?: boolean
    marks?: 'count' | 'always 0'
  }) {
    const { ask, begin, pause, clock } = withPauses([])
    await begin(outage(20, ways.told ? 2 : undefined))
    const counts: number[] = []
    async function* worker(number: number) {
      yield number * 100
      const content = ways.text ? `Hello from ${number}!` : 'Hello!'
      for (let count = 1; count <= 30; count++) {
        const answer = await ask({ messages: [{ role: 'user', content }] }, 'default', {
          connection: ways.connections ? `worker ${number}` : 'all',
          ...(ways.marks && {
            headers: { 'x-stainless-retry-count': String(ways.marks === 'always 0' ? 0 : count - 1) },
          }),
        })
        await answer.text()
        if (answer.ok) return void counts.push(count)
        yield 2_000
      }
    }
    const workers = Array.from({ length: 20 }, (_, number) => worker(number))
    const took = await runOn(pause, workers)
    expect(clock().passed()).toBeLessThanOrEqual(took)
    expect(clock().jumped).toBe(0)
    return counts.toSorted((one, other) => other - one)
  }
  const kinds = [
    { text: true },
    { told: true },
    { connections: true },
    { marks: 'count' },
    { told: true, marks: 'count' },
    { text: true, marks: 'always 0' },
    { told: true, marks: 'always 0' },
  ] as const
  test.each(kinds)('reach the end of an outage when they differ by %j', async (ways) => {
    const counts = await askedBy(ways)
    expect(counts).toHaveLength(20)
    // 20 s of outage are ten waits of 2 s; one or two more where the clock is a little behind, or does not know a worker yet.
    expect(counts[0]).toBeLessThanOrEqual(13)
  })

  test('reach the end of an outage while another call hangs', async () => {
    const { ask, begin, pause, send } = withPauses([])
    const { name, rules } = outage(6, 2)
    const stall = {
      name: 'stall',
      match: { text: { contains: 'Hang' } },
      fault: { type: 'stall-stream', after_chunks: 1 },
    }
    await begin({ name, rules: [stall, ...rules.map((rule) => ({ ...rule, match: { text: { contains: 'Hello' } } }))] })
    const body = { model: 'gpt-4o', stream: true, messages: [{ role: 'user', content: 'Hang.' }] }
    const open = await send('POST', '/v1/chat/completions', { body })
    const statuses: number[] = []
    for (let count = 0; count < 4; count++) {
      statuses.push((await ask()).status)
      pause(2_000)
    }
    await open.body?.cancel()
    expect(statuses).toEqual([503, 503, 503, 200])
  })
})

test('skipped gateway waits: are reported while parallel calls wait as well', async () => {
  const { ask, begin, pause, clock } = withPauses([])
  const rules = [
    { name: 'limit', when: { calls: '1-8' }, fault: { type: 'http-error', status: 429, retry_after: '10s' } },
  ]
  await begin({ name: 'limited', rules })
  const all = () => Promise.all(Array.from({ length: 4 }, async () => (await ask({ retry: { count: 5 } })).text()))
  await all()
  const skipped = clock().jumped
  expect(skipped).toBeGreaterThanOrEqual(10_000)
  expect(skipped).toBe(clock().passed())
  pause(5_000)
  await all()
  expect(clock().jumped).toBe(skipped)
  expect(clock().passed()).toBe(skipped + 5_000)
})

const RUNS = runs(40)
property(
  'property: the clock never runs ahead of the clients, nor far behind one that waited to repeat a call',
  async () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      const luck = luckOf(seed)
      const { ask, begin, pause, clock } = withPauses([])
      const wait = luck.one(undefined, 1, 2, 5)
      const limit = { type: 'rate-limit', requests: luck.whole(1, 3), per: '3s' }
      const scenario = luck.chance(0.5)
        ? outage(luck.whole(1, 20), wait)
        : { name: 'limited', rules: [{ name: 'limit', fault: limit }] }
      await begin(scenario)
      const problems: string[] = []
      let now = 0
      const elapse = (ms: number) => {
        now += ms
        pause(ms)
      }
      async function* worker(number: number) {
        yield luck.whole(0, 3_000)
        for (let item = 0; item < 3; item++) {
          const isOwn = luck.chance(0.5)
          const content = isOwn ? `Item ${item} of ${number}` : `Item ${item}`
          let failed: { at: number; passed: number; told: number } | undefined
          for (let count = 0; count < 8; count++) {
            const answer = await ask({ messages: [{ role: 'user', content }] })
            await answer.text()
            const passed = clock().passed()
            if (passed > now) problems.push(`ahead: ${passed} after ${now}`)
            // Equal calls of others may have been taken for its repetitions.
            if (failed && isOwn) {
              const waited = now - failed.at
              const went = passed - failed.passed
              if (waited >= 350 && waited - went >= 350) problems.push(`behind: ${went} in ${waited}`)
              if (waited >= 350 && waited >= failed.told && went < failed.told)
                problems.push(`told ${failed.told}: ${went}`)
            }
            if (answer.ok) break
            const told = 1_000 * Number(answer.headers.get('retry-after') ?? 0)
            failed = { at: now, passed, told }
            yield Math.max(told, luck.whole(0, 4_000))
          }
          yield luck.whole(0, 300)
        }
      }
      await runOn(
        elapse,
        Array.from({ length: luck.whole(1, 12) }, (_, number) => worker(number)),
      )
      expect({ seed, problems, jumped: clock().jumped }).toEqual({ seed, problems: [], jumped: 0 })
    }
  },
)

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

test('client without waits: gets the same bytes and traces with 200 ms of jitter and under load', async () => {
  const first = await playedWith(0, 0)
  expect(new Set(first.seen.map((text) => text.slice(0, 3))).size).toBeGreaterThan(1)
  for (const seed of [1, 2, 3, 4, 5, 6]) expect(await playedWith(200, seed)).toEqual(first)
  // The same test sees a client that does wait.
  expect(await playedWith(60_000, 7)).not.toEqual(first)
})
