// Latency that a client feels takes real time on a virtual clock, which then shows exactly the scheduled time.
import { afterAll, describe, expect, test } from 'bun:test'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { realClock } from '../../src/lib/clock.ts'
import { VIRTUAL_START, virtualClock } from '../../src/lib/virtual-clock.ts'
import { accepted } from '../support/accepted.ts'
import { testApps } from '../support/app.ts'

/** Timers of the machine and ours round differently. */
const ROUNDING_MS = 2

/** How long something really takes, in ms, from before its start. */
async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const began = performance.now()
  const value = await work()
  return [value, performance.now() - began]
}
const stood = (clock: { now(): number }) => clock.now() - VIRTUAL_START

describe('virtual clock', () => {
  test('takes real time for latency and stands at exactly its end', async () => {
    const clock = virtualClock()
    const [, took] = await timed(() => clock.latency(60))
    expect(took).toBeGreaterThanOrEqual(60 - ROUNDING_MS)
    expect(stood(clock)).toBe(60)
    expect(clock.jumped).toBe(0)
  })

  test('jumps to waits that end before a latency, and to no later one', async () => {
    const clock = virtualClock()
    const order: [string, number][] = []
    const note = (name: string) => () => order.push([name, stood(clock)])
    const latency = clock.latency(80).then(note('latency'))
    await clock.sleep(50).then(note('earlier'))
    await Promise.all([latency, clock.sleep(40_000).then(note('later'))])
    expect(order).toEqual([
      ['earlier', 50],
      ['latency', 80],
      ['later', 40_050],
    ])
  })

  test('ends latencies of different lengths in the order of their ends', async () => {
    const clock = virtualClock()
    const ends = await Promise.all([30, 10, 20].map((ms) => clock.latency(ms).then(() => stood(clock))))
    expect(ends).toEqual([30, 10, 20])
  })

  test('adds up successive latencies', async () => {
    const clock = virtualClock()
    const { signal } = new AbortController()
    const [, took] = await timed(async () => {
      for (let count = 0; count < 40; count++) await clock.latency(2.5, signal)
    })
    expect(stood(clock)).toBe(100)
    expect(took).toBeGreaterThanOrEqual(100 - ROUNDING_MS)
  })

  test('counts the time really waited, to the nearest 100 ms, when the client leaves', async () => {
    for (const ms of [Number.POSITIVE_INFINITY, 60_000]) {
      const clock = virtualClock()
      const gone = new AbortController()
      const began = performance.now()
      const latency = clock.latency(ms, gone.signal).catch(() => stood(clock))
      await Bun.sleep(110)
      const least = performance.now() - began
      gone.abort()
      const left = Number(await latency)
      // On a busy machine, time passes between these lines, too.
      const most = performance.now() - began
      expect(left % 100).toBe(0)
      expect(left).toBeGreaterThanOrEqual(least - 50 - ROUNDING_MS)
      expect(left).toBeLessThanOrEqual(most + 50 + ROUNDING_MS)
    }
  })

  test('counts nothing of a latency that a shorter wait ends at once', async () => {
    const clock = virtualClock()
    const ended = new AbortController()
    const latency = clock.latency(60_000, ended.signal).catch((reason) => reason)
    const [, took] = await timed(() => clock.sleep(20_000).then(() => ended.abort('late')))
    expect(await latency).toBe('late')
    expect(stood(clock)).toBe(20_000)
    expect(took).toBeLessThan(10_000)
  })

  test('ends a latency after its real time and stands still when frozen', async () => {
    const clock = virtualClock()
    clock.freeze()
    expect((await timed(() => clock.latency(30)))[1]).toBeGreaterThanOrEqual(30 - ROUNDING_MS)
    expect(stood(clock)).toBe(0)
    const frozenMeanwhile = clock.latency(30)
    clock.resume()
    clock.freeze()
    await frozenMeanwhile
    expect(stood(clock)).toBe(0)
  })

  test('continues from the new time when set during latency', async () => {
    for (const to of [VIRTUAL_START + 3_600_000, VIRTUAL_START - 3_600_000]) {
      const clock = virtualClock()
      const latency = clock.latency(30)
      clock.set(to)
      await latency
      expect(clock.now()).toBe(to + 30)
    }
  })

  test('passes a latency at once and does not go back when advanced', async () => {
    const clock = virtualClock()
    let isOver = false
    const latency = clock.latency(500).then(() => {
      isOver = true
    })
    await clock.advance(600_000)
    expect(isOver).toBe(false)
    await latency
    expect(stood(clock)).toBe(600_000)
  })

  test('rejects latencies with the reason when ended', async () => {
    const clock = virtualClock()
    const latency = clock.latency(60_000)
    clock.end('over')
    expect(await latency.catch((reason) => reason)).toBe('over')
    expect(await clock.latency(1).catch((reason) => reason)).toBe('over')
  })

  test('skips latency with --skip-latency', async () => {
    const clock = virtualClock()
    clock.skipLatency(true)
    const [, took] = await timed(() => clock.latency(60_000))
    expect(took).toBeLessThan(10_000)
    expect(stood(clock)).toBe(60_000)
  })
})

test('real clock: treats latency as an ordinary wait, and silence ends only by the signal', async () => {
  expect((await timed(() => realClock.latency(20)))[1]).toBeGreaterThanOrEqual(20 - ROUNDING_MS)
  const ended = realClock.latency(Number.POSITIVE_INFINITY, AbortSignal.timeout(10))
  expect(await ended.catch(({ name }) => name)).toBe('TimeoutError')
})

const { appWith, close } = testApps()
afterAll(close)

const body = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] }
const FAULTS: [string, object, object, number][] = [
  ['delay', { type: 'delay', for: '60ms' }, body, 60],
  ['hang', { type: 'hang', for: '60ms' }, body, 60],
  ['slow-stream', { type: 'slow-stream', tokens_per_second: 100 }, { ...body, stream: true }, 50],
  ['stall-stream', { type: 'stall-stream', after_chunks: 2, for: '60ms' }, { ...body, stream: true }, 60],
  [
    'keep-alive-comments',
    { type: 'keep-alive-comments', interval: '10ms', count: 6, every: 50 },
    { ...body, stream: true },
    60,
  ],
  ['split-bytes', { type: 'split-bytes', size: 200, wait: '10ms' }, body, 20],
]
describe.each(FAULTS)('real latency of fault %s', (_, fault, call, least) => {
  test('takes as long as its trace says, the same in each run', async () => {
    const runs = []
    for (const _ of [1, 2]) {
      const app = appWith({ skip_latency: false })
      await accepted(
        app.fetch('/_understudy/scenario', {
          method: 'PUT',
          body: JSON.stringify({ name: 'slow', rules: [{ name: 'slow', fault }] }),
        }),
      )
      const [, took] = await timed(() => app.post('/v2/router/chat/completions', call))
      const { data } = (await app.fetch('/_understudy/traces')).json() as { data: TraceRecord[] }
      const duration = data[0]?.duration_ms ?? 0
      expect(duration).toBeGreaterThanOrEqual(least)
      expect(took).toBeGreaterThanOrEqual(duration - ROUNDING_MS * 2)
      runs.push(data)
    }
    expect(runs[0]).toEqual(runs[1] ?? [])
  })

  test('takes no longer on a frozen clock', async () => {
    const tookOn = async (frozen: boolean) => {
      const app = appWith({ skip_latency: false })
      await accepted(
        app.fetch('/_understudy/scenario', {
          method: 'PUT',
          body: JSON.stringify({ name: 'slow', rules: [{ name: 'slow', fault }] }),
        }),
      )
      if (frozen) {
        const clock = '/_understudy/sessions/default/clock'
        await accepted(app.fetch(clock, { method: 'POST', body: '{"freeze":true}' }))
      }
      return (await timed(() => app.post('/v2/router/chat/completions', call)))[1]
    }
    const running = await tookOn(false)
    expect(await tookOn(true)).toBeLessThan(running * 3 + 500)
  })
})

test('gateway timeout: ends a longer delay at once, and a shorter delay is real', async () => {
  const app = appWith({ skip_latency: false })
  await accepted(
    app.fetch('/_understudy/scenario', {
      method: 'PUT',
      body: JSON.stringify({
        name: 'slow',
        rules: [
          { name: 'slow', match: { provider: 'openai' }, fault: { type: 'delay', for: '50s' } },
          { name: 'little', match: { provider: 'anthropic' }, fault: { type: 'delay', for: '50ms' } },
        ],
      }),
    }),
  )
  const options = { timeout: { call_timeout: 10_000 }, fallbacks: [{ model: 'anthropic/claude-sonnet-4' }] }
  const [answer, took] = await timed(() => app.post('/v2/router/chat/completions', { ...body, ...options }))
  expect(answer.status).toBe(200)
  const trace = (await app.traceOf(answer)) as TraceRecord
  expect(trace.attempts.map(({ outcome, duration_ms }) => [outcome, duration_ms])).toEqual([
    ['timed_out', 10_000],
    ['succeeded', 50],
  ])
  expect(took).toBeGreaterThanOrEqual(50 - ROUNDING_MS)
  expect(took).toBeLessThan(5_000)
})
