// Fallback: after which failures the next target is tried, in which order, and the response when all have failed.
import { afterAll, describe, expect, test } from 'bun:test'
import { errorOf } from '../support/errors.ts'
import {
  A,
  attemptsOf,
  B,
  bytesOf,
  C,
  closeScripted,
  completion,
  createScripted,
  drops,
  event,
  FORMS,
  hangs,
  refuses,
  type Step,
  says,
  sends,
  streams,
  textOf,
} from '../support/scripted.ts'

afterAll(closeScripted)
const fallbacks = [{ model: B }, { model: C }]

describe.each(FORMS)('fallback, %s', (_, stream) => {
  const rows: [what: string, failure: Step, falls: boolean, status: number][] = [
    ...([408, 429, 500, 501, 502, 503, 504, 529, 599] as const).map((status): [string, Step, boolean, number] => [
      `status ${status}`,
      refuses(status),
      true,
      status,
    ]),
    ...([400, 401, 402, 403, 404, 409, 413, 422, 499] as const).map((status): [string, Step, boolean, number] => [
      `status ${status}`,
      refuses(status),
      false,
      status,
    ]),
    ['a timeout', hangs, true, 504],
    ['a dropped connection', drops, true, 502],
    ['an empty 200 response', sends(''), true, 502],
    ['an HTML page', sends('<h1>Welcome</h1>', 'text/html'), true, 502],
    ['broken JSON', sends('{"choices": [', stream ? 'text/event-stream' : undefined), true, 502],
    ['an error in a 200 response', sends(JSON.stringify({ error: { message: 'overloaded' } })), true, 502],
    ['a 400 in a 200 response', sends(JSON.stringify({ error: { message: 'no', code: 400 } })), false, 400],
    [
      'missing choices',
      stream
        ? streams(event({ choices: [] }), 'data: [DONE]\n\n')
        : sends(JSON.stringify(completion('', { choices: [] }))),
      true,
      502,
    ],
  ]
  test.each(rows)('follows the outcome of the first target: %s', async (_, failure, falls, status) => {
    const app = createScripted({ [A]: [failure], [B]: [says('Second best.')] })
    const body = { stream, timeout: { call_timeout: 1000 } }
    const answer = await app.ask({ ...body, fallbacks })
    expect(app.reached.map(({ model }) => model)).toEqual(falls ? [A, B] : [A])
    if (falls) {
      expect(textOf(answer)).toBe('Second best.')
      expect(answer.headers.get('x-understudy-fallback')).toBe('1')
      expect(answer.headers.get('x-understudy-model')).toBe(B)
    } else errorOf(answer.text, status)
    errorOf((await app.ask(body)).text, status)
  })

  test('tries the list in its order, one attempt each', async () => {
    const app = createScripted({ [A]: [refuses(500)], [B]: [drops], [C]: [says('Third best.')] })
    const answer = await app.ask({ stream, fallbacks })
    expect(textOf(answer)).toBe('Third best.')
    expect(await attemptsOf(app, answer)).toEqual([
      ...[`${A} 1 first http_error 500`, `${B} 1 fallback disconnected 502`, `${C} 1 fallback succeeded 200`],
    ])
    expect(await app.traceOf(answer)).toMatchObject({ plan: [A, B, C], model: C, outcome: 'succeeded', error: null })
    expect(app.reached.map(({ request }) => request.model)).toEqual([A, B, C])
  })

  test('stops where a fallback rejects the request itself', async () => {
    const app = createScripted({ [A]: [refuses(500)], [B]: [refuses(400)], [C]: [says('too late')] })
    expect(errorOf((await app.ask({ stream, fallbacks })).text, 400).message).toBe('no: 400')
    expect(app.reached.map(({ model }) => model)).toEqual([A, B])
  })

  test('may repeat its own target', async () => {
    const app = createScripted({ [A]: [refuses(500), says('At last.')] })
    expect(textOf(await app.ask({ stream, fallbacks: [{ model: A }] }))).toBe('At last.')
  })

  test('is not tried after a valid response', async () => {
    const app = createScripted({ [A]: [says('First.')] })
    const answer = await app.ask({ stream, fallbacks, retry: {} })
    expect(textOf(answer)).toBe('First.')
    expect(answer.headers.get('x-understudy-fallback')).toBe('0')
    expect(app.reached).toHaveLength(1)
  })

  test('returns the last failure with its retry time when all have failed', async () => {
    const limits = {
      'retry-after': '17',
      'x-ratelimit-remaining-requests': '0',
      'x-request-id': 'req-9',
      'set-cookie': 'a=b',
    }
    const app = createScripted({ [A]: [refuses(503)], [B]: [refuses(500)], [C]: [refuses(429, limits, 'slow down')] })
    const answer = await app.ask({ stream, fallbacks })
    expect(errorOf(answer.text, 429)).toEqual({
      message: 'slow down',
      type: 'rate_limit_error',
      param: null,
      code: 'why',
    })
    expect(answer.headers.get('content-type')).toStartWith('application/json')
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'retry-after': '17',
      'x-ratelimit-remaining-requests': '0',
      'x-request-id': 'req-9',
      'x-understudy-attempts': '3',
      'x-understudy-fallback': '2',
      'x-understudy-model': C,
    })
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect(await app.traceOf(answer)).toMatchObject({
      ...{ outcome: 'http_error', status: 429, model: C, response: null },
      error: { message: 'slow down', code: 'why' },
    })
  })

  test.each<[what: string, last: Step, status: number, type: string, code: string]>([
    ['a timeout', hangs, 504, 'timeout_error', 'timeout'],
    ['a dropped connection', drops, 502, 'server_error', 'provider_disconnected'],
    ['an empty response', sends(' '), 502, 'server_error', 'provider_unreadable'],
    [
      'an error that is not JSON',
      async () => bytesOf('upstream connect error', 'text/plain', 503),
      503,
      'server_error',
      'provider_error',
    ],
  ])('returns the last failure of any kind: %s', async (_, last, status, type, code) => {
    const app = createScripted({ [A]: [refuses(429, { 'retry-after': '5' })], [B]: [last] })
    const answer = await app.ask({ stream, fallbacks: [{ model: B }], timeout: { call_timeout: 50 } })
    expect(errorOf(answer.text, status)).toMatchObject({ type, code })
    expect(answer.headers.get('retry-after')).toBeNull()
  })
})

test.each<[what: string, body: object, status: number, param: string, names: string]>([
  ['an unknown provider', { fallbacks: [{ model: B }, { model: 'nobody/x' }] }, 404, 'fallbacks[1].model', 'openai'],
  [
    'a fallback that is not a model id',
    { fallbacks: [{ model: '/gpt-4o' }] },
    400,
    'fallbacks[0].model',
    '<provider>/<model>',
  ],
  ['a fallback that is text', { fallbacks: [B] }, 400, 'fallbacks[0]', B],
  ['fallbacks that are not a list', { fallbacks: { model: B } }, 400, 'fallbacks', 'array'],
])('fallback: rejects %s before any attempt', async (_, body, status, param, names) => {
  const app = createScripted({ [A]: [says('too early')] })
  const error = errorOf((await app.ask(body)).text, status)
  expect(error).toMatchObject({ param, message: expect.stringContaining(names) })
  expect(app.reached).toEqual([])
})
