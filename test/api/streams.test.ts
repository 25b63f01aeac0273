// Streams of providers: until the first content event another target may answer; after it nothing that was cut, broken or reordered is
// ever passed off as complete.
import { afterAll, describe, expect, test } from 'bun:test'
import { ConnectionFailure } from '../../src/contract/core/reply.ts'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import {
  A,
  attemptsOf,
  B,
  chunk,
  closeScripted,
  createScripted,
  cutOf,
  DONE,
  event,
  type Piece,
  ROLE,
  STOP,
  said,
  says,
  streams,
  textOf,
} from '../support/scripted.ts'

afterAll(closeScripted)
const reset = new ConnectionFailure('the provider reset the connection')
const overloaded = event({ error: { message: 'overloaded', type: 'server_error', code: 'overloaded' } })
const busy = event({ error: { message: 'slow down', code: 429 } })

type Failure = [what: string, pieces: Piece[], outcome: TraceRecord['outcome'], status: number, code: string]
/** What may be wrong with a stream, after something that is right. */
const failures: Failure[] = [
  ['ends', [], 'disconnected', 502, 'provider_disconnected'],
  ['breaks', [reset], 'disconnected', 502, 'provider_disconnected'],
  ['ends with its end mark alone', [DONE], 'disconnected', 502, 'provider_disconnected'],
  ['sends an error', [overloaded], 'http_error', 502, 'overloaded'],
  ['sends an error with a status', [busy], 'http_error', 429, 'provider_error'],
  ['sends broken JSON', ['data: {"choices":[{"delta"\n\n', STOP, DONE], 'invalid_response', 502, 'provider_unreadable'],
  ['sends a list', [event([]), STOP, DONE], 'invalid_response', 502, 'provider_unreadable'],
  ['sends a text', [event('hello'), STOP, DONE], 'invalid_response', 502, 'provider_unreadable'],
  ['sends no choices', [event({ object: 'ping' }), STOP, DONE], 'invalid_response', 502, 'provider_unreadable'],
  [
    'sends content that is not text',
    ['data: \u0000\uFFFD\n\n', STOP, DONE],
    'invalid_response',
    502,
    'provider_unreadable',
  ],
  ['ends in the middle of a chunk', [STOP.slice(0, -20)], 'disconnected', 502, 'provider_disconnected'],
]

describe('stream before its first content', () => {
  const early: Failure[] = [
    ...failures.map(([what, pieces, ...rest]): Failure => [`${what} after its role`, [ROLE, ...pieces], ...rest]),
    ...failures.slice(3, -1).map(([what, pieces, ...rest]): Failure => [`${what} at once`, pieces, ...rest]),
    ['is empty', [], 'invalid_response', 502, 'provider_unreadable'],
    ['is an end mark alone', [DONE], 'invalid_response', 502, 'provider_unreadable'],
    ['is comments alone', [': ping\n\n', ': ping\n\n'], 'invalid_response', 502, 'provider_unreadable'],
    ['breaks at once', [reset], 'disconnected', 502, 'provider_disconnected'],
    ['has empty choices', [event({ choices: [] }), DONE], 'disconnected', 502, 'provider_disconnected'],
  ]
  test.each(early)('that %s is a failed attempt and leads to the fallback', async (_, pieces, outcome, status) => {
    const app = createScripted({ [A]: [streams(...pieces)], [B]: [says('Second best.')] })
    const answer = await app.ask({ stream: true, fallbacks: [{ model: B }] })
    expect(textOf(answer)).toBe('Second best.')
    expect(answer.text).not.toContain('error')
    expect(await attemptsOf(app, answer)).toEqual([
      `${A} 1 first ${outcome} ${status}`,
      `${B} 1 fallback succeeded 200`,
    ])
  })

  test('is also retried', async () => {
    const app = createScripted({ [A]: [streams(ROLE), streams(), streams(ROLE, busy), says('At last.')] })
    const answer = await app.ask({ stream: true, retry: { count: 3 } })
    expect(textOf(answer)).toBe('At last.')
    expect(await attemptsOf(app, answer)).toEqual([
      ...[`${A} 1 first disconnected 502`, `${A} 2 retry invalid_response 502`],
      ...[`${A} 3 retry http_error 429`, `${A} 4 retry succeeded 200`],
    ])
  })

  test('shows nothing of a failed attempt', async () => {
    const role = chunk({ role: 'assistant', content: '', refusal: null })
    const app = createScripted({ [A]: [streams(role, overloaded)], [B]: [says('Clean.')] })
    const answer = await app.ask({ stream: true, fallbacks: [{ model: B }] })
    expect(answer.text.match(/"role"/g)).toHaveLength(1)
  })

  test('ends with the last failure as an ordinary error', async () => {
    const app = createScripted({ [A]: [streams(ROLE, busy)] })
    const answer = await app.ask({ stream: true })
    expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([429, 'application/json'])
    expect(answer.json()).toMatchObject({ code: '429', message: 'slow down' })
  })

  test.each<[what: string, delta: object]>([
    ['a text', { content: 'x' }],
    ['a refusal', { refusal: 'No.' }],
    ['reasoning', { reasoning: 'Hm.' }],
    ['reasoning in the fields of other providers', { reasoning_content: 'Hm.' }],
    ['a tool call', { tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } }] }],
  ])('counts as content: %s', async (_, delta) => {
    const app = createScripted({ [A]: [streams(ROLE, chunk(delta), reset)], [B]: [says('never')] })
    const answer = await app.ask({ stream: true, fallbacks: [{ model: B }] })
    cutOf(answer)
    expect(app.reached).toHaveLength(1)
  })
})
describe('stream after its first content', () => {
  test.each(failures)('that %s ends in an error event', async (_, pieces, outcome, status, code) => {
    const app = createScripted({ [A]: [streams(ROLE, said('Half '), said('of'), ...pieces)] })
    const cache = { type: 'exact_match' }
    const answer = await app.ask({ stream: true, retry: { count: 5 }, fallbacks: [{ model: B }], cache })
    const { heard, error } = cutOf(answer)
    expect(heard).toBe('Half of')
    expect(error.code).toBe(code)
    expect(answer.text).not.toContain('[DONE]')
    expect(answer.text).not.toContain('"finish_reason":"')
    expect(app.reached).toHaveLength(1)
    const trace = await app.traceOf(answer)
    expect(trace).toMatchObject({ outcome, status: 200, error: { code }, attempts: [{ outcome, status }] })
    expect(trace.response).toMatchObject({ choices: [{ message: { content: 'Half of' } }] })
    expect(JSON.stringify(trace.response)).not.toContain('"finish_reason":"stop"')
  })

  test('is incomplete when one of two choices never ends', async () => {
    const second = (delta: object, reason: string | null) => chunk(delta, reason).replace('"index":0', '"index":1')
    const pieces = [ROLE, said('One.'), second({ content: 'Tw' }, null), STOP]
    const app = createScripted({
      [A]: [streams(...pieces, DONE), streams(...pieces, second({}, 'stop'), DONE)],
    })
    expect(cutOf(await app.ask({ stream: true, n: 2 })).error.code).toBe('provider_disconnected')
    expect((await app.ask({ stream: true, n: 2 })).text).toEndWith(DONE)
  })
})

describe('stream with a finish reason', () => {
  test.each<[what: string, pieces: Piece[]]>([
    ['with its end mark', [STOP, DONE]],
    ['without its end mark', [STOP]],
    ['with a broken connection after it', [STOP, reset]],
    ['with an invalid chunk after it', [STOP, 'data: {"cho\n\n']],
    ['without a blank line after its end mark', [STOP, 'data: [DONE]\n']],
    ['with usage after it', [STOP, event({ choices: [], usage: { prompt_tokens: 1 } }), DONE]],
    ['with data after its end mark, which is ignored', [STOP, DONE, said(' More.'), overloaded]],
  ])('is complete %s', async (_, pieces) => {
    const app = createScripted({ [A]: [streams(ROLE, said('All.'), ...pieces)] })
    const answer = await app.ask({ stream: true })
    expect(textOf(answer)).toBe('All.')
    expect(answer.text.match(/\[DONE\]/g)).toHaveLength(1)
    expect(await app.traceOf(answer)).toMatchObject({
      outcome: 'succeeded',
      error: null,
      attempts: [{ outcome: 'succeeded' }],
    })
  })

  test('is complete even without content', async () => {
    const app = createScripted({ [A]: [streams(ROLE, chunk({}, 'content_filter'), DONE)] })
    expect(textOf(await app.ask({ stream: true }))).toBe('')
  })

  test('is incomplete when an error follows', async () => {
    const app = createScripted({ [A]: [streams(ROLE, said('All.'), STOP, overloaded)] })
    expect(cutOf(await app.ask({ stream: true })).error.message).toBe('overloaded')
  })
})

describe('stream bytes from a provider', () => {
  const answer = [ROLE, said('Grüße, '), said('日本 🎉'), STOP, DONE].join('')
  const bytes = new TextEncoder().encode(answer)
  test.each([1, 2, 3, 7, 64, 100_000])('may arrive %d at a time', async (size) => {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    const app = createScripted({ [A]: [streams(...pieces)] })
    expect(textOf(await app.ask({ stream: true }))).toBe('Grüße, 日本 🎉')
  })

  test('may have other line ends, comments, event names and no space', async () => {
    const odd = answer.replaceAll('\n', '\r\n').replaceAll('data: ', ': ping\r\nevent: chunk\r\ndata:')
    const app = createScripted({ [A]: [streams(odd)] })
    expect((await app.ask({ stream: true })).text).toContain('日本')
  })

  test('are passed on unchanged', async () => {
    const spaced = `data: {"choices": [ {"index":0, "delta":{"content":"As is"},"finish_reason":null, "own": 1.50} ], "x": 1e3}\n\n`
    const app = createScripted({ [A]: [streams(ROLE, spaced, STOP, DONE)] })
    expect((await app.ask({ stream: true })).text).toBe(`${ROLE}${spaced}${STOP}${DONE}`)
  })
})

test('whole response to a streamed call: is unreadable and leads to the fallback', async () => {
  const app = createScripted({
    [A]: [async (call) => says('Whole.')({ ...call, stream: false })],
    [B]: [says('Streamed.')],
  })
  const answer = await app.ask({ stream: true, fallbacks: [{ model: B }] })
  expect(textOf(answer)).toBe('Streamed.')
  expect((await attemptsOf(app, answer))[0]).toBe(`${A} 1 first invalid_response 502`)
})

test('streamed response to a whole call: is unreadable and leads to the fallback', async () => {
  const app = createScripted({ [A]: [streams(ROLE, said('x'), STOP, DONE)], [B]: [says('Whole.')] })
  expect(textOf(await app.ask({ fallbacks: [{ model: B }] }))).toBe('Whole.')
})
