// Retry: which failures are repeated, how often, and after which waits.
import { afterAll, describe, expect, test } from 'bun:test'
import { VIRTUAL_START } from '../../src/lib/virtual-clock.ts'
import { errorOf } from '../support/errors.ts'
import {
  A,
  attemptsOf,
  B,
  closeScripted,
  createScripted,
  drops,
  FORMS,
  hangs,
  refuses,
  type Step,
  says,
  sends,
  textOf,
  waitsOf,
} from '../support/scripted.ts'

afterAll(closeScripted)
const times = (count: number, step: Step) => Array.from({ length: count }, () => step)

describe.each(FORMS)('retry, %s', (_, stream) => {
  const rows: [what: string, failure: Step, retry: object | undefined, attempts: number][] = [
    ['429 without retry', refuses(429), undefined, 1],
    ['429 with default retry', refuses(429), {}, 4],
    ['429 with a count', refuses(429), { count: 2 }, 3],
    ['429 that is not listed', refuses(429), { count: 2, on_codes: [500] }, 1],
    ['500 that is not listed', refuses(500), {}, 1],
    ['503 that is listed', refuses(503), { count: 5, on_codes: [500, 503] }, 6],
    ['a 4xx that is listed', refuses(404), { count: 1, on_codes: [404] }, 2],
    ['no codes', refuses(429), { on_codes: [] }, 1],
    ['no connection, which has no status', drops, { count: 1 }, 2],
    ['an empty response, which has no status either', sends(''), { count: 1, on_codes: [] }, 2],
    ['no connection without retry', drops, undefined, 1],
  ]
  test.each(rows)('makes the right number of attempts for %s', async (_, failure, retry, count) => {
    const app = createScripted({ [A]: [failure] })
    const answer = await app.ask({ stream, retry })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(app.reached).toHaveLength(count)
    expect(answer.headers.get('x-understudy-attempts')).toBe(String(count))
    const whys = (await app.traceOf(answer)).attempts.map(({ number, reason: why }) => [number, why])
    expect(whys).toEqual(Array.from({ length: count }, (_, at) => [at + 1, at ? 'retry' : 'first']))
  })

  test('ends with the first valid response', async () => {
    const app = createScripted({ [A]: [...times(2, refuses(429)), drops, says('Here I am.'), refuses(500)] })
    const answer = await app.ask({ stream, retry: { count: 5 } })
    expect(textOf(answer)).toBe('Here I am.')
    expect(await attemptsOf(app, answer)).toEqual([
      `${A} 1 first http_error 429`,
      `${A} 2 retry http_error 429`,
      `${A} 3 retry disconnected 502`,
      `${A} 4 retry succeeded 200`,
    ])
  })

  test('ends with a failure that is not listed', async () => {
    const app = createScripted({ [A]: [refuses(429), refuses(400), says('too late')] })
    expect(errorOf((await app.ask({ stream, retry: {} })).text, 400).message).toBe('no: 400')
    expect(app.reached).toHaveLength(2)
  })

  test('starts again for each target', async () => {
    const app = createScripted({ [A]: [refuses(429)], [B]: [refuses(429), refuses(429), says('Second best.')] })
    const answer = await app.ask({ stream, retry: { count: 2 }, fallbacks: [{ model: B }] })
    expect(textOf(answer)).toBe('Second best.')
    expect(await attemptsOf(app, answer)).toEqual([
      ...[`${A} 1 first http_error 429`, `${A} 2 retry http_error 429`, `${A} 3 retry http_error 429`],
      ...[`${B} 1 fallback http_error 429`, `${B} 2 retry http_error 429`, `${B} 3 retry succeeded 200`],
    ])
    const waits = await waitsOf(app, answer)
    expect(waits.map((ms) => Math.round(ms / 1000))).toEqual([0, 1, 2, 0, 1, 2])
  })

  test('waits 1, 2, 4, 8 and 16 s, plus or minus a quarter', async () => {
    const app = createScripted({ [A]: [refuses(429)] })
    const answer = await app.ask({ stream, retry: { count: 5 } })
    const [first, ...waits] = await waitsOf(app, answer)
    expect(first).toBe(0)
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(750 * 2 ** index)
      expect(wait).toBeLessThanOrEqual(1250 * 2 ** index)
    }
    expect(waits).toHaveLength(5)
    // The provider sees them too, and they are no round figures.
    expect(app.reached.map(({ at }) => at)).toEqual(
      [0, ...waits].map((_, at) => waits.slice(0, at).reduce((a, b) => a + b, 0)),
    )
    expect(waits.filter((wait) => wait % 1000 === 0)).toEqual([])
    expect((await app.traceOf(answer)).duration_ms).toBe(waits.reduce((sum, wait) => sum + wait, 0))
  })

  test('repeats a timeout whatever the codes are', async () => {
    const app = createScripted({ [A]: [hangs, says('Awake.')] })
    const answer = await app.ask({ stream, timeout: { call_timeout: 300 }, retry: { count: 1, on_codes: [] } })
    expect(textOf(answer)).toBe('Awake.')
    expect(await attemptsOf(app, answer)).toEqual([`${A} 1 first timed_out 504`, `${A} 2 retry succeeded 200`])
  })
})

describe('retry time of a provider', () => {
  const in90Seconds = new Date(VIRTUAL_START + 90_000).toUTCString()
  const in7Seconds = new Date(VIRTUAL_START + 7_000).toUTCString()
  const before = new Date(VIRTUAL_START - 7_000).toUTCString()
  const own = 'its own wait'
  const rows: [what: string, headers: Record<string, string>, wait: number | typeof own][] = [
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['a fraction of a second', { 'retry-after': '0.5' }, 500],
    ['a missing header', { 'retry-after': '0' }, 0],
    ['a date', { 'retry-after': in7Seconds }, 7_000],
    ['a date in the past', { 'retry-after': before }, 0],
    ['milliseconds', { 'retry-after-ms': '1234' }, 1_234],
    ['milliseconds before seconds', { 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    ['a minute', { 'retry-after': '60' }, 60_000],
    ['more than a minute', { 'retry-after': '61' }, own],
    ['a date in more than a minute', { 'retry-after': in90Seconds }, own],
    ['milliseconds beyond a minute', { 'retry-after-ms': '60001' }, own],
    ['an invalid time', { 'retry-after': 'soon' }, own],
    ['a negative number', { 'retry-after': '-5' }, own],
    ['an empty text', { 'retry-after': '', 'retry-after-ms': ' ' }, own],
    ['invalid milliseconds and valid seconds', { 'retry-after-ms': 'x', 'retry-after': '3' }, 3_000],
  ]
  test.each(rows)('is honored for %s', async (_, headers, wanted) => {
    const app = createScripted({ [A]: [refuses(429, headers), says('Yes.')] })
    const [, wait = Number.NaN] = await waitsOf(app, await app.ask({ retry: { count: 1 } }))
    if (wanted === own) {
      expect(wait).toBeGreaterThanOrEqual(750)
      expect(wait).toBeLessThanOrEqual(1250)
    } else expect(wait).toBe(wanted)
  })
})

test('retry jitter: is determined by the seed, the call and the attempt', async () => {
  const waits = async (seed: number) => {
    const app = createScripted({ [A]: [refuses(429)] }, { seed })
    const both = [await app.ask({ retry: { count: 3 } }), await app.ask({ retry: { count: 3 } })]
    return Promise.all(both.map((answer) => waitsOf(app, answer)))
  }
  const [first, second] = await waits(1)
  expect(await waits(1)).toEqual([first, second] as number[][])
  expect(second).not.toEqual(first as number[])
  expect((await waits(2))[0]).not.toEqual(first as number[])
})

test('retry waits: run in parallel for parallel calls', async () => {
  const app = createScripted({
    [A]: [refuses(429, { 'retry-after': '30' }), refuses(429, { 'retry-after': '30' }), says('Yes.')],
  })
  await Promise.all([app.ask({ retry: {} }), app.ask({ retry: {} })])
  expect(app.reached.map(({ at }) => at)).toEqual([0, 0, 30_000, 30_000])
})

const wrong: [what: string, retry: unknown, param: string][] = [
  ['a count of 0', { count: 0 }, 'retry.count'],
  ['a count of 6', { count: 6 }, 'retry.count'],
  ['a fractional count', { count: 1.5 }, 'retry.count'],
  ['a code below 100', { on_codes: [99] }, 'retry.on_codes[0]'],
  ['a code above 599', { on_codes: [429, 600] }, 'retry.on_codes[1]'],
  ['a code that is not a number', { on_codes: ['429'] }, 'retry.on_codes[0]'],
  ['a value that is not an object', 3, 'retry'],
]
test.each(wrong)('retry: rejects %s, at the top and in the service options', async (_, retry, param) => {
  const app = createScripted({ [A]: [says('Yes.')] })
  expect(errorOf((await app.ask({ retry })).text, 400).param).toBe(param)
  expect(errorOf((await app.ask({ svc: { retry } })).text, 400).param).toBe(`svc.${param}`)
  expect(app.reached).toEqual([])
})

test('retry time of a provider: is honored after every attempt', async () => {
  const app = createScripted({
    [A]: [refuses(503, { 'retry-after': '0' }), refuses(503, { 'retry-after': '2' }), says('Yes.')],
  })
  const answer = await app.ask({ retry: { on_codes: [503] } })
  expect(await waitsOf(app, answer)).toEqual([0, 0, 2000])
})
