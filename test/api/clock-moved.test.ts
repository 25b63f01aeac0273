// A virtual clock that is set shows another time without passing any: nothing in progress becomes longer, shorter or ends by it.
import { afterAll, describe, expect, test } from 'bun:test'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { realClock } from '../../src/lib/clock.ts'
import { accepted } from '../support/accepted.ts'
import { testApps } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'

const { appWith, close } = testApps()
afterAll(close)

const CLOCK = '/_understudy/sessions/default/clock'
const TIMES = [
  '1970-01-01T00:00:00.000Z',
  '2024-12-31T23:00:00.000Z',
  '2025-01-01T00:00:00.000Z',
  '2040-06-01T12:00:00.000Z',
]
const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] }

/** An application under a scenario of these rules; without one where there are none. */
async function under(rules: object[], settings = {}) {
  const app = appWith(settings)
  const scenario = JSON.stringify({ name: 'moved', rules })
  if (rules.length > 0) await accepted(app.fetch('/_understudy/scenario', { method: 'PUT', body: scenario }))
  return {
    ...app,
    set: (to: string) => app.post(CLOCK, { set: to }),
    move: (change: object) => app.post(CLOCK, change),
    call: (more: object = {}, path = '/v1/chat/completions') => app.post(path, { ...body, ...more }),
    async traces() {
      return ((await app.fetch('/_understudy/traces')).json() as { data: TraceRecord[] }).data.reverse()
    },
  }
}
const FAILS = { type: 'http-error', status: 503 }

describe.each(TIMES)('clock set to %s', (to) => {
  test('keeps rules active', async () => {
    const { call, set } = await under([{ name: 'down', fault: FAILS }])
    await set(to)
    expect((await call()).status).toBe(503)
  })

  test('ends an outage when its time has passed and not before', async () => {
    const schedule = [{ phase: 'down', for: '10m' }, { phase: 'healthy' }]
    const { call, set, move } = await under([{ name: 'down', when: { schedule }, fault: FAILS }])
    await move({ advance: '4m' })
    await set(to)
    expect((await call()).status).toBe(503)
    await move({ advance: '5m' })
    expect((await call()).status).toBe(503)
    await move({ advance: '1m' })
    expect((await call()).status).toBe(200)
  })

  test('frees a quota when its window has passed', async () => {
    const { call, set, move } = await under([{ name: 'quota', fault: { type: 'rate-limit', requests: 1, per: '60s' } }])
    expect((await call()).status).toBe(200)
    await move({ advance: '20s' })
    await set(to)
    const refused = await call()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '40'])
    await move({ advance: '40s' })
    expect((await call()).status).toBe(200)
  })

  test('leaves the duration of a running call unchanged', async () => {
    const { call, set, move, traces } = await under([{ name: 'late', fault: { type: 'delay', for: '90s' } }])
    await move({ freeze: true })
    const gateway = { timeout: { call_timeout: 60_000 } }
    const answers = [
      call(),
      call({ stream: true }),
      call({ ...gateway, model: 'openai/gpt-4o' }, '/v2/router/chat/completions'),
    ]
    const waits = async () => ((await move({ advance: 0 })).json() as { waiting: number }).waiting
    while ((await waits()) < 4);
    await set(to)
    await move({ resume: true })
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 504])
    expect((await traces()).map(({ duration_ms }) => duration_ms)).toEqual([90_000, 90_000, 60_000])
  })

  test('keeps the age of a cached response from becoming negative', async () => {
    const { call, set, move, traces } = await under([])
    const cached = { ...body, model: 'openai/gpt-4o', cache: { type: 'exact_match', ttl: 1800 } }
    await call(cached, '/v2/router/chat/completions')
    await move({ advance: '10s' })
    await set(to)
    const { headers, status } = await call(cached, '/v2/router/chat/completions')
    expect(status).toBe(200)
    expect(Number(headers.get('age') ?? 0)).toBeGreaterThanOrEqual(0)
    expect((await traces()).at(-1)?.cache?.age_ms ?? 0).toBeGreaterThanOrEqual(0)
  })
})

test('real latency: takes its nominal time when the clock is set meanwhile', async () => {
  for (const to of TIMES) {
    const fault = { type: 'delay', for: '60ms' }
    const { call, set, traces } = await under([{ name: 'late', fault }], { skip_latency: false })
    const answer = call()
    while ((await set(to)).json().waiting === 0);
    await set(to)
    await answer
    expect((await traces()).map(({ duration_ms }) => duration_ms)).toEqual([60])
  }
})

test('real clock: measures elapsed time independently of the system time', async () => {
  const { now } = Date
  const [before, passed] = [realClock.now(), realClock.passed()]
  try {
    Date.now = () => before - 3_600_000
    expect(realClock.passed()).toBeGreaterThanOrEqual(passed)
  } finally {
    Date.now = now
  }
})

test('virtual clock: stops at the end of the year 9999 and says so', async () => {
  const { move, set } = await under([])
  await set('9999-12-31T23:00:00Z')
  const { status, text } = await move({ advance: '2h' })
  expect([status, errorOf(text, status).param]).toEqual([400, 'advance'])
  expect(text).toContain('3599999 ms after the time of this clock, got 7200000 ms')
  expect((await move({ advance: '30m' })).json()).toMatchObject({ now: '9999-12-31T23:30:00.000Z', waiting: 0 })
})
