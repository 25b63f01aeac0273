// Timeout: `call_timeout` bounds every attempt: a whole answer, the wait for a stream's first content, and each silence after it.
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

describe.each(FORMS)('%s', (_, stream) => {
  test('an answer that comes in time is no timeout; one that comes later is', async () => {
    const app = createScripted({ [A]: [after(999, says('Just in time.')), after(1001, says('Too late.'))] })
    expect(textOf(await app.ask({ stream, timeout }))).toBe('Just in time.')
    const answer = await app.ask({ stream, timeout })
    const error = errorOf(answer.text, 504)
    expect(error).toMatchObject({ type: 'timeout_error', code: 'timeout' })
    expect(error.message).toMatch(/openai\/a .* within the call_timeout of 1000 ms/)
    expect(await app.traceOf(answer)).toMatchObject({ outcome: 'timed_out', status: 504, duration_ms: 1000 })
    expect(app.reached.at(-1)?.signal.aborted).toBe(true)
  })

  test('each attempt has its own, the fallbacks included', async () => {
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

  test('the time of an attempt ends with it: neither waits nor other attempts count', async () => {
    const app = createScripted({
      [A]: [after(900, refuses(429, { 'retry-after': '30' })), after(900, says('Patience.'))],
    })
    const answer = await app.ask({ stream, timeout, retry: {} })
    expect(textOf(answer)).toBe('Patience.')
    expect((await app.traceOf(answer)).duration_ms).toBe(900 + 30_000 + 900)
  })

  test('without one, an answer may take its time', async () => {
    const app = createScripted({ [A]: [after(86_400_000, says('Good morning.'))] })
    expect(textOf(await app.ask({ stream }))).toBe('Good morning.')
  })

  test('may stand in the service options', async () => {
    const app = createScripted({ [A]: [hangs] })
    expect(errorOf((await app.ask({ stream, svc: { timeout } })).text, 504).message).toContain('1000 ms')
    const both = await app.ask({ stream, timeout: { call_timeout: 20 }, svc: { timeout } })
    expect(errorOf(both.text, 504).message).toContain('20 ms')
  })

  test('ends a call with the answer of the fallback', async () => {
    const app = createScripted({ [A]: [hangs], [B]: [says('Second best.')] })
    const answer = await app.ask({ stream, timeout, fallbacks: [{ model: B }] })
    expect(textOf(answer)).toBe('Second best.')
    expect((await app.traceOf(answer)).duration_ms).toBe(1000)
  })
})

describe('before its first content a stream', () => {
  const comment = ': still here\n\n'
  test.each<[what: string, pieces: Piece[]]>([
    ['sends nothing at all', [Number.POSITIVE_INFINITY]],
    ['sends the role alone', [ROLE, Number.POSITIVE_INFINITY]],
    ['sends comments for ever', Array.from({ length: 40 }, () => [comment, 300]).flat()],
    ['sends empty chunks for ever', Array.from({ length: 40 }, () => [said(''), 300]).flat()],
    ['says its first word too late', [ROLE, 700, comment, 700, said('Hi'), STOP, DONE]],
  ])('%s: it is as late as if it were silent', async (_, pieces) => {
    const app = createScripted({ [A]: [streams(...pieces)], [B]: [says('Second best.')] })
    const answer = await app.ask({ stream: true, timeout, fallbacks: [{ model: B }] })
    expect(textOf(answer)).toBe('Second best.')
    expect(await attemptsOf(app, answer)).toEqual([`${A} 1 first timed_out 504`, `${B} 1 fallback succeeded 200`])
    expect((await app.traceOf(answer)).duration_ms).toBe(1000)
  })
})

describe('after its first content a stream', () => {
  test('may take as long as it likes, as long as it is never silent for that long', async () => {
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

  test('that falls silent ends in an error event; nothing is tried again', async () => {
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

  test('that has said why it ended is complete, whatever is silent then', async () => {
    const app = createScripted({ [A]: [streams(ROLE, said('All.'), STOP, Number.POSITIVE_INFINITY)] })
    const answer = await app.ask({ stream: true, timeout })
    expect(textOf(answer)).toBe('All.')
    expect((await app.traceOf(answer)).outcome).toBe('succeeded')
  })
})

test.each<[what: string, timeout: unknown, param: string]>([
  ['0', { call_timeout: 0 }, 'timeout.call_timeout'],
  ['a negative one', { call_timeout: -1 }, 'timeout.call_timeout'],
  ['half a millisecond', { call_timeout: 0.5 }, 'timeout.call_timeout'],
  ['a text', { call_timeout: '1000' }, 'timeout.call_timeout'],
  ['none', {}, 'timeout.call_timeout'],
  ['a bare number', 1000, 'timeout'],
])('a timeout of %s is refused', async (_, timeout, param) => {
  const app = createScripted({ [A]: [says('too early')] })
  expect(errorOf((await app.ask({ timeout })).text, 400).param).toBe(param)
  expect(errorOf((await app.ask({ svc: { timeout } })).text, 400).param).toBe(`svc.${param}`)
})

describe('a limit on silence', () => {
  const late = new Error('late')
  const start = (outer = new AbortController().signal) => {
    const clock = virtualClock()
    const deadline = startDeadline(clock, 1000, { outer, reason: () => late })
    return { clock, deadline, signal: deadline.signal }
  }

  test('ends when its time is up, counted from the last sign of life', async () => {
    const { clock, deadline, signal } = start()
    await clock.sleep(900)
    deadline.restart()
    await clock.sleep(900)
    expect(signal.aborted).toBe(false)
    await clock.sleep(101)
    expect(signal.reason).toBe(late)
  })

  test('stands still while nobody waits for anything', async () => {
    const { clock, deadline, signal } = start()
    deadline.hold()
    await clock.sleep(60_000)
    deadline.restart()
    await clock.sleep(999)
    expect(signal.aborted).toBe(false)
    await clock.sleep(2)
    expect(signal.reason).toBe(late)
  })

  test.each([false, true])('ends nothing once it has been stopped (held: %p)', async (held) => {
    const { clock, deadline, signal } = start()
    if (held) deadline.hold()
    await clock.sleep(2000 * Number(held))
    deadline.stop()
    await clock.sleep(5000)
    expect(signal.aborted).toBe(false)
  })

  test('ends with what is around it', async () => {
    const outer = new AbortController()
    const { signal } = start(outer.signal)
    const gone = new Error('gone')
    outer.abort(gone)
    expect(signal.reason).toBe(gone)
  })
})
