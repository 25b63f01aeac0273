// The cache: which calls are equal, what is stored and for how long, and how a stored response is returned.
import { afterAll, describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { errorOf } from '../support/errors.ts'
import {
  A,
  after,
  B,
  closeScripted,
  createScripted,
  DONE,
  drops,
  FORMS,
  ROLE,
  refuses,
  type ScriptedApp,
  type Step,
  said,
  says,
  sends,
  streams,
  textOf,
} from '../support/scripted.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(() => {
  closeScripted()
  folder.remove()
})
const cache = { type: 'exact_match', ttl: 60 }
type Heard = Awaited<ReturnType<ScriptedApp['ask']>>
const status = ({ headers }: Heard) => headers.get('x-understudy-cache')
const ageOf = ({ headers }: Heard) => headers.get('age')
/** Answers `1`, `2`, ... to one call after the other. */
const counting = () => createScripted((_, number) => says(`Answer ${number + 1}.`))
const clockOf = (app: ScriptedApp) => app.understudy.sessions.get('default').clock

describe.each(FORMS)('cache, first call %s', (_, stream) => {
  test.each(FORMS)('returns one attempt, one text and two ids when repeated %s', async (_, again) => {
    const app = counting()
    const first = await app.ask({ stream, cache })
    await clockOf(app).sleep(5_400)
    const second = await app.ask({ stream: again, cache })
    expect([first, second].map(textOf)).toEqual(['Answer 1.', 'Answer 1.'])
    expect([first, second].map(status)).toEqual(['miss', 'hit'])
    expect([first, second].map(ageOf)).toEqual([null, '5'])
    expect(second.headers.get('x-understudy-attempts')).toBe('0')
    expect(second.headers.get('x-understudy-model')).toBe(A)
    expect(app.reached).toHaveLength(1)
    const trace = await app.traceOf(second)
    expect(trace).toMatchObject({ outcome: 'succeeded', model: A, attempts: [], cost: 0, stream: again })
    expect(trace.cache).toEqual({ status: 'hit', key: expect.any(String), age_ms: 5_400, started_ms: 0 })
    expect(trace.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 3 })
    const ids = [first, second].map(({ text }) => /"id":"(chatcmpl-[^"]+)"/.exec(text)?.[1])
    expect(new Set(ids).size).toBe(2)
  })

  test("keeps a response for its ttl to the millisecond on the session's clock", async () => {
    const app = counting()
    const heard: (string | null)[] = []
    for (const wait of [0, 59_999, 1, 59_999]) {
      await clockOf(app).sleep(wait)
      heard.push(status(await app.ask({ stream, cache })))
    }
    expect(heard).toEqual(['miss', 'hit', 'miss', 'hit'])
    expect(textOf(await app.ask({ stream, cache }))).toBe('Answer 2.')
  })

  test('keeps a response for half an hour when no ttl is given', async () => {
    const app = counting()
    const ask = () => app.ask({ stream, cache: { type: 'exact_match' } })
    await ask()
    await clockOf(app).sleep(1_799_999)
    expect(status(await ask())).toBe('hit')
    await clockOf(app).sleep(1)
    expect(status(await ask())).toBe('miss')
  })

  test.each<[what: string, failure: Step]>([
    ['an error response', refuses(400)],
    ['a server error', refuses(500)],
    ['a dropped connection', drops],
    ['an empty response', sends('')],
    ['a truncated stream', streams(ROLE, said('Half'))],
    ['a stream that breaks', streams(ROLE, said('Half'), new Error('reset'))],
    ['a stream with an error event', streams(ROLE, said('Half'), 'data: {"error":{"message":"no"}}\n\n', DONE)],
  ])('never stores %s', async (_, failure) => {
    const app = createScripted({ [A]: [failure, says('Good.')] })
    await app.ask({ stream, cache })
    const second = await app.ask({ stream, cache })
    expect(status(second)).toBe('miss')
    expect(textOf(second)).toBe('Good.')
  })

  test("repeats a fallback's response under its own model", async () => {
    const app = createScripted({ [A]: [refuses(500)], [B]: [says('Second best.')] })
    const body = { stream, cache, fallbacks: [{ model: B }] }
    await app.ask(body)
    const again = await app.ask(body)
    expect(textOf(again)).toBe('Second best.')
    expect([status(again), again.headers.get('x-understudy-model')]).toEqual(['hit', B])
    expect(app.reached).toHaveLength(2)
  })

  test('answers simultaneous equal calls separately and stores one response', async () => {
    const app = createScripted((_, number) => after(1000 - number, says(`Answer ${number + 1}.`)))
    const answers = await Promise.all([1, 2, 3].map(() => app.ask({ stream, cache })))
    expect(answers.map(textOf)).toEqual(['Answer 1.', 'Answer 2.', 'Answer 3.'])
    expect(answers.map(status)).toEqual(['miss', 'miss', 'miss'])
    const later = await app.ask({ stream, cache })
    expect(status(later)).toBe('hit')
    expect(answers.map(textOf)).toContain(textOf(later))
  })
})

describe('cache key', () => {
  const hello = { role: 'user', content: 'Hello Ada!' }
  const base = {
    temperature: 0.5,
    messages: [{ role: 'user', content: 'Hello {{name}}!' }],
    variables: { name: 'Ada' },
    metadata: { run: '1' },
    cache,
  }
  test.each<[what: string, patch: object, heard: 'hit' | 'miss']>([
    ['matches the same call', {}, 'hit'],
    ['matches a call with another name', { name: 'other' }, 'hit'],
    ['matches a call with other metadata', { metadata: { run: '2' } }, 'hit'],
    ['matches a call of another identity', { identity: { id: 'ada' } }, 'hit'],
    ['matches a call in another thread', { thread: { id: 't' } }, 'hit'],
    ['matches a call with another ttl', { cache: { type: 'exact_match', ttl: 5 } }, 'hit'],
    [
      'matches a call with retry, timeout and fallbacks',
      { retry: {}, timeout: { call_timeout: 9 }, fallbacks: [{ model: B }] },
      'hit',
    ],
    ['matches a call with cache settings in the service options', { cache: null, svc: { cache } }, 'hit'],
    ['matches a streamed call', { stream: true, stream_options: { include_usage: true } }, 'hit'],
    ['differs for another model', { model: B }, 'miss'],
    ['differs for another temperature', { temperature: 0.6 }, 'miss'],
    ['differs for another message', { messages: [{ role: 'user', content: 'Bye {{name}}!' }] }, 'miss'],
    ['differs for another variable', { variables: { name: 'Eve' } }, 'miss'],
    ['matches a call with another variable that no text names', { variables: { name: 'Ada', id: 7 } }, 'hit'],
    ['matches a call with the same value in its inputs', { variables: null, svc: { inputs: { name: 'Ada' } } }, 'hit'],
    ['matches a call whose text is the same without variables', { variables: null, messages: [hello] }, 'hit'],
    ['matches a call with another template engine', { template_engine: 'mustache' }, 'hit'],
    ['differs for a load balancer', { load_balancer: { type: 'weight_based', models: [{ model: A }] } }, 'miss'],
  ])('%s', async (_, patch, heard) => {
    const app = counting()
    await app.ask(base)
    expect(status(await app.ask({ ...base, ...patch }))).toBe(heard)
  })

  test('matches a call whose object fields are in another order', async () => {
    const app = counting()
    const schema = (properties: object) => ({
      type: 'json_schema',
      json_schema: { name: 'x', schema: { type: 'object', properties } },
    })
    const one = { a: { type: 'string' }, b: { type: 'number' } }
    const two = { b: { type: 'number' }, a: { type: 'string' } }
    await app.ask({ cache, response_format: schema(one) })
    expect(status(await app.ask({ response_format: schema(two), cache }))).toBe('hit')
  })

  test('matches a call of the same balanced set, whichever model is picked', async () => {
    const app = counting()
    const load_balancer = { type: 'weight_based', models: [{ model: A }, { model: B }] }
    const heard: (string | null)[] = []
    for (let call = 0; call < 6; call++) heard.push(status(await app.ask({ cache, load_balancer })))
    expect(heard).toEqual(['miss', 'hit', 'hit', 'hit', 'hit', 'hit'])
    const other = { ...load_balancer, models: [{ model: A }, { model: B, weight: 1 }] }
    expect(status(await app.ask({ cache, load_balancer: other }))).toBe('miss')
  })
})

test('cache: is neither read nor written when the call does not ask for it', async () => {
  const app = counting()
  const heard: [string | null, string][] = []
  for (const more of [{}, { cache }, {}, { cache }]) {
    const answer = await app.ask(more)
    heard.push([status(answer), textOf(answer)])
  }
  expect(heard).toEqual([
    ['off', 'Answer 1.'],
    ['miss', 'Answer 2.'],
    ['off', 'Answer 3.'],
    ['hit', 'Answer 2.'],
  ])
})

test('cache: is not shared between sessions', async () => {
  const app = counting()
  const heard: (string | null)[] = []
  for (const session of ['one', 'two', 'one']) {
    const body = { model: A, messages: [{ role: 'user', content: 'Hello!' }], cache }
    heard.push(status(await app.post(`/s/${session}/v2/router/chat/completions`, body)))
  }
  expect(heard).toEqual(['miss', 'miss', 'hit'])
})

test('cache: survives a restart', async () => {
  const db = join(folder.path, 'cache.db')
  const before = createScripted({ [A]: [says('From before.')] }, { db })
  expect(textOf(await before.ask({ cache }))).toBe('From before.')
  before.close()
  const now = createScripted({ [A]: [says('From now.')] }, { db })
  const answer = await now.ask({ cache })
  expect([status(answer), textOf(answer)]).toEqual(['hit', 'From before.'])
  now.close()
  rmSync(db)
})

test.each<[what: string, cache: unknown, param: string]>([
  ['a missing type', { ttl: 60 }, 'cache.type'],
  ['an unknown type', { type: 'semantic', ttl: 60 }, 'cache.type'],
  ['a ttl of 0', { ...cache, ttl: 0 }, 'cache.ttl'],
  ['a ttl of more than three days', { ...cache, ttl: 259_201 }, 'cache.ttl'],
  ['a ttl that is not a number', { ...cache, ttl: '60' }, 'cache.ttl'],
])('cache: rejects settings with %s', async (_, wrong, param) => {
  const app = counting()
  expect(errorOf((await app.ask({ cache: wrong })).text, 400).param).toBe(param)
  expect(errorOf((await app.ask({ svc: { cache: wrong } })).text, 400).param).toBe(`svc.${param}`)
  expect(status(await app.ask({ cache: { ...cache, ttl: 259_200 } }))).toBe('miss')
})
