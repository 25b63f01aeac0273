// Timeout: `call_timeout` bounds every attempt: a whole response, the wait for a stream's first content, and each silence after it.
import { afterAll, describe, expect, test } from 'bun:test'
import { startDeadline } from '../../src/lib/deadline.ts'
import { virtualClock } from '../../src/lib/virtual-clock.ts'
import { errorOf } from '../support/errors.ts'
import {
  A,
  after,
  attemptsOf,
  B,
  closeScripted,
  createScripted,
  cutOf,
  DONE,
  FORMS,
  hangs,
  type Piece,
  ROLE,
  refuses,
  STOP,
  said,
  says,
  streams,
  textOf,
} from '../support/scripted.ts'

afterAll(closeScripted)
const timeout = { call_timeout: 1000 }

describe.each(FORMS)('timeout, %s', (_, stream) => {
  test('ends a late response and not one in time', async () => {
    const app = createScripted({ [A]: [after(999, says('Just in time.')), after(1001, says('Too late.'))] })
    expect(textOf(await app.ask({ stream, timeout }))).toBe('Just in time.')
    const answer = await app.ask({ stream, timeout })
    const error = errorOf(answer.text, 504)
    expect(error).toMatchObject({ type: 'timeout_error', code: 'timeout' })
    expect(error.message).toMatch(/openai\/a .* within the call_timeout of 1000 ms/)
    expect(await app.traceOf(answer)).toMatchObject({ outcome: 'timed_out', status: 504, duration_ms: 1000 })
    expect(app.reached.at(-1)?.signal.aborted).toBe(true)
  })

  test('applies to each attempt, fallbacks included', async () => {
    const app = createScripted({ [A]: [hangs], [B]: [hangs] })
    const answer = await app.ask({ stream, timeout, retry: { count: 1 }, fallbacks: [{ model: B }] })
    errorOf(answer.text, 504)
    expect(await attemptsOf(app, answer)).toEqual([
      ...[`${A} 1 first timed_out 504`, `${A} 2 retry timed_out 504`],
      ...[`${B} 1 fallback timed_out 504`, `${B} 2 retry timed_out 504`],
    ])
    const { attempts } = await app.traceOf(answer)
    expect(attempts.map(({ duration_ms }) => duration_ms)).toEqual([1000, 1000, 1000, 1000])
    expect(app.reached.every(({ signal }) => signal.aborted)).toBe(true)
  })

  test('covers one attempt without waits or other attempts', async () => {
    const app = createScripted({
      [A]: [after(900, refuses(429, { 'retry-after': '30' })), after(900, says('Patience.'))],
    })
    const answer = await app.ask({ stream, timeout, retry: {} })
    expect(textOf(answer)).toBe('Patience.')
    expect((await app.traceOf(answer)).duration_ms).toBe(900 + 30_000 + 900)
  })

  test('is unlimited when it is not set', async () => {
    const app = createScripted({ [A]: [after(86_400_000, says('Good morning.'))] })
    expect(textOf(await app.ask({ stream }))).toBe('Good morning.')
  })

  test('is also read from the service options', async () => {
    const app = createScripted({ [A]: [hangs] })
    expect(errorOf((await app.ask({ stream, svc: { timeout } })).text, 504).message).toContain('1000 ms')
    const both = await app.ask({ stream, timeout: { call_timeout: 20 }, svc: { timeout } })
    expect(errorOf(both.text, 504).message).toContain('20 ms')
  })

  test('leads to the response of the fallback', async () => {
    const app = createScripted({ [A]: [hangs], [B]: [says('Second best.')] })
    const answer = await app.ask({ stream, timeout, fallbacks: [{ model: B }] })
    expect(textOf(answer)).toBe('Second best.')
    expect((await app.traceOf(answer)).duration_ms).toBe(1000)
  })
})

describe('timeout before the first content of a stream', () => {
  const comment = ': still here\n\n'
  test.each<[what: string, pieces: Piece[]]>([
    ['sends nothing at all', [Number.POSITIVE_INFINITY]],
    ['sends only the role', [ROLE, Number.POSITIVE_INFINITY]],
    ['sends endless comments', Array.from({ length: 40 }, () => [comment, 300]).flat()],
    ['sends endless empty chunks', Array.from({ length: 40 }, () => [said(''), 300]).flat()],
    ['sends its first content too late', [ROLE, 700, comment, 700, said('Hi'), STOP, DONE]],
  ])('ends an attempt that %s', async (_, pieces) => {
    const app = createScripted({ [A]: [streams(...pieces)], [B]: [says('Second best.')] })
    const answer = await app.ask({ stream: true, timeout, fallbacks: [{ model: B }] })
    expect(textOf(answer)).toBe('Second best.')
    expect(await attemptsOf(app, answer)).toEqual([`${A} 1 first timed_out 504`, `${B} 1 fallback succeeded 200`])
    expect((await app.traceOf(answer)).duration_ms).toBe(1000)
  })
})

describe('timeout after the first content of a stream', () => {
  test('does not end a stream that is never silent for that long', async () => {
    const words = ['One ', 'two ', 'three ', 'four ', 'five.']
    const app = createScripted({
      [A]: [streams(ROLE, ...words.flatMap((word) => [900, said(word)]), 900, STOP, 900, DONE)],
    })
    const answer = await app.ask({ stream: true, timeout })
    expect(textOf(answer)).toBe('One two three four five.')
    const { attempts, duration_ms } = await app.traceOf(answer)
    expect(duration_ms).toBe(6300)
    expect(attempts).toMatchObject([{ first_content_ms: 900, duration_ms: 6300, outcome: 'succeeded' }])
  })

  test('ends a silent stream in an error event without a retry', async () => {
    const app = createScripted({ [A]: [streams(ROLE, said('One '), 500, said('two'), Number.POSITIVE_INFINITY)] })
    const answer = await app.ask({ stream: true, timeout, retry: {}, fallbacks: [{ model: B }] })
    const { heard, error } = cutOf(answer)
    expect(heard).toBe('One two')
    expect(error).toMatchObject({ type: 'timeout_error', code: 'timeout' })
    expect(app.reached).toHaveLength(1)
    expect(app.reached[0]?.signal.aborted).toBe(true)
    const trace = await app.traceOf(answer)
    expect(trace).toMatchObject({ outcome: 'timed_out', status: 200, duration_ms: 1500, error: { code: 'timeout' } })
    expect(trace.attempts).toMatchObject([{ outcome: 'timed_out', first_content_ms: 0, duration_ms: 1500 }])
    expect(trace.response).toMatchObject({ choices: [{ message: { content: 'One two' } }] })
  })

  test('does not end a stream that has its finish reason', async () => {
    const app = createScripted({ [A]: [streams(ROLE, said('All.'), STOP, Number.POSITIVE_INFINITY)] })
    const answer = await app.ask({ stream: true, timeout })
    expect(textOf(answer)).toBe('All.')
    expect((await app.traceOf(answer)).outcome).toBe('succeeded')
  })
})

test.each<[what: string, timeout: unknown, param: string]>([
  ['0', { call_timeout: 0 }, 'timeout.call_timeout'],
  ['a negative number', { call_timeout: -1 }, 'timeout.call_timeout'],
  ['a fraction of a millisecond', { call_timeout: 0.5 }, 'timeout.call_timeout'],
  ['a text', { call_timeout: '1000' }, 'timeout.call_timeout'],
  ['null', {}, 'timeout.call_timeout'],
  ['a bare number', 1000, 'timeout'],
])('timeout: rejects %s', async (_, timeout, param) => {
  const app = createScripted({ [A]: [says('too early')] })
  expect(errorOf((await app.ask({ timeout })).text, 400).param).toBe(param)
  expect(errorOf((await app.ask({ svc: { timeout } })).text, 400).param).toBe(`svc.${param}`)
})

describe('silence limit', () => {
  const late = new Error('late')
  const start = (outer = new AbortController().signal) => {
    const clock = virtualClock()
    const deadline = startDeadline(clock, 1000, { outer, reason: () => late })
    return { clock, deadline, signal: deadline.signal }
  }

  test('ends when its time is up, counted from the last activity', async () => {
    const { clock, deadline, signal } = start()
    await clock.sleep(900)
    deadline.restart()
    await clock.sleep(900)
    expect(signal.aborted).toBe(false)
    await clock.sleep(101)
    expect(signal.reason).toBe(late)
  })

  test('stands still while nothing waits', async () => {
    const { clock, deadline, signal } = start()
    deadline.hold()
    await clock.sleep(60_000)
    deadline.restart()
    await clock.sleep(999)
    expect(signal.aborted).toBe(false)
    await clock.sleep(2)
    expect(signal.reason).toBe(late)
  })

  test.each([false, true])('ends nothing after it was stopped (paused: %p)', async (held) => {
    const { clock, deadline, signal } = start()
    if (held) deadline.hold()
    await clock.sleep(2000 * Number(held))
    deadline.stop()
    await clock.sleep(5000)
    expect(signal.aborted).toBe(false)
  })

  test('ends when its outer signal ends', async () => {
    const outer = new AbortController()
    const { signal } = start(outer.signal)
    const gone = new Error('gone')
    outer.abort(gone)
    expect(signal.reason).toBe(gone)
  })
})
