// When a run waits, and when it hangs: from the last activity of its client, on a clock that the test moves.
import { expect, test } from 'bun:test'
import { runActivity } from '../../src/cli/run/run-activity.ts'
import type { ClientTimeout } from '../../src/contract/core/finding.ts'
import type { TraceRecord } from '../../src/contract/core/trace.ts'

const LIMITS = { silenceMs: 6_000, timeoutMs: 120_000, totalMs: 200_000, repeats: 30 }
const BODY = new TextEncoder().encode('{}')
const traceOf = (fields: Partial<TraceRecord> = {}) =>
  ({ outcome: 'succeeded', faults: [], retry_after_ms: null, ...fields }) as TraceRecord
const FAILED = traceOf({ outcome: 'http_error', faults: ['a rule'] })

/** A run whose time the test moves. */
function runAt() {
  let now = 0
  const activity = runActivity(() => now)
  return {
    activity,
    pass(ms: number) {
      now += ms
    },
    /** A call that ends at once. */
    call(trace: TraceRecord) {
      activity.ends(activity.begins('/v1', BODY, undefined), trace)
    },
    begin: (timeout?: ClientTimeout) => activity.begins('/v1', BODY, timeout),
    kind: () => activity.hangs(LIMITS)?.kind ?? 'goes on',
  }
}

test('run activity: a silent call hangs when the limit is over', () => {
  const { begin, pass, kind } = runAt()
  begin()
  pass(6_000)
  expect(kind()).toBe('goes on')
  pass(1)
  expect(kind()).toBe('silent')
})

test('run activity: data of a response starts the limit again', () => {
  const { activity, begin, pass, kind } = runAt()
  const call = begin()
  pass(5_000)
  activity.receives(call)
  activity.waits(call)
  pass(5_000)
  expect(kind()).toBe('goes on')
})

test('run activity: waits for a declared timeout', () => {
  const { begin, pass, kind } = runAt()
  begin({ ms: 60_000 })
  pass(65_000)
  expect(kind()).toBe('goes on')
  pass(1_001)
  expect(kind()).toBe('silent')
})

test('run activity: does not wait for a timeout that is longer than --timeout, and reports it', () => {
  const { activity, begin, pass } = runAt()
  begin({ ms: 600_000, assumed: true })
  pass(6_001)
  expect(activity.hangs(LIMITS)).toMatchObject({ kind: 'silent', timeout: { ms: 600_000, assumed: true } })
})

test.each([
  ['an assumed', { ms: 600_000, assumed: true }, undefined],
  ['a declared', { ms: 600_000 }, { ms: 600_000 }],
] as const)('run activity: for a stalled stream %s timeout may or may not count', (_, timeout, reported) => {
  const { activity, begin, pass } = runAt()
  const call = begin(timeout)
  activity.receives(call)
  activity.waits(call)
  pass(6_001)
  expect(activity.hangs(LIMITS)?.timeout).toEqual(reported)
})

test.each([
  ['back-offs of 2 s and 4 s', [2_000, 4_000], 0],
  ['back-offs that double up to 16 s', [500, 1_000, 2_000, 4_000, 8_000, 16_000], 0],
  ['the Retry-After of 30 s', [30_000], 30_000],
])('run activity: never calls a client hung that honors %s', (_, pauses, wait) => {
  const { call, pass, kind } = runAt()
  for (const pause of pauses) {
    call({ ...FAILED, retry_after_ms: wait })
    pass(pause)
    expect(kind()).toBe('goes on')
  }
})

test('run activity: three tries of a client with timeouts of its own do not add up', () => {
  const { activity, begin, pass, kind } = runAt()
  for (let tries = 1; tries <= 3; tries++) {
    const call = begin()
    pass(2_000)
    expect(kind()).toBe('goes on')
    activity.ends(call, traceOf({ outcome: 'canceled' }))
  }
})

test('run activity: a client that does nothing after a failed call hangs', () => {
  const { call, pass, kind } = runAt()
  call(FAILED)
  pass(10_001)
  expect(kind()).toBe('silent')
})

test('run activity: a client that repeats a request without end hangs', () => {
  const { call, pass, kind } = runAt()
  for (let tries = 1; tries <= 30; tries++) {
    call(FAILED)
    pass(200)
  }
  expect(kind()).toBe('goes on')
  call(FAILED)
  expect(kind()).toBe('endless')
})

test('run activity: a run that is never silent hangs when all of its time is over', () => {
  const { activity, pass, kind } = runAt()
  for (let second = 0; second <= 200; second++) {
    expect(kind()).toBe('goes on')
    pass(1_000)
    activity.note()
  }
  expect(kind()).toBe('long')
})

test('run activity: a run waits during a silent call and a back-off, and works otherwise', () => {
  const { activity, call, begin, pass } = runAt()
  const states: boolean[] = []
  const look = (ms: number) => {
    pass(ms)
    states.push(activity.isWaiting)
  }
  // It starts.
  look(1_000)
  const silent = begin()
  look(50)
  look(50)
  activity.ends(silent, traceOf())
  // It works on the response.
  look(1_000)
  call(FAILED)
  look(200)
  look(50)
  begin()
  look(0)
  expect(states).toEqual([false, false, true, false, false, true, false])
})

test('run activity: remembers the longest pause', () => {
  const { activity, call, pass } = runAt()
  pass(700)
  call(traceOf())
  pass(300)
  call(traceOf())
  expect(activity.longestPauseMs).toBe(700)
  pass(900)
  expect(activity.longestPauseMs).toBe(900)
})
