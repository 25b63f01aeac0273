// The settings of a call: top level and service options merged field by field, and which operation takes which (the specification).
import { afterAll, describe, expect, test } from 'bun:test'
import { allOperations } from '../../src/endpoints/index.ts'
import { settingsOf } from '../../src/gateway/settings.ts'
import { errorOf } from '../support/errors.ts'
import {
  A,
  attemptsOf,
  B,
  C,
  closeScripted,
  createScripted,
  refuses,
  says,
  sends,
  textOf,
} from '../support/scripted.ts'

afterAll(closeScripted)
const operations = allOperations()
const TRANSLATIONS = '/v2/router/audio/translations'
const operation = (name: string) => {
  const found = operations.find((one) => one.name === name)
  if (!found) throw new Error(`there is no operation ${name}`)
  return found
}
const balancer = (model: string) => ({ type: 'weight_based', models: [{ model, weight: 1 }] })
const kept = (ttl: number) => ({ type: 'exact_match', ttl })

describe('call settings at the top and in the service options', () => {
  const base = { model: A, messages: [{ role: 'user', content: 'Hello!' }] }
  const rows: [what: string, body: object, settings: object][] = [
    ['no settings', {}, { fallbacks: [], guardrails: [], knowledge: [] }],
    ['retry at the top', { retry: { count: 2 } }, { retry: { count: 2, codes: [429] } }],
    ['retry in the options', { svc: { retry: { on_codes: [500] } } }, { retry: { count: 3, codes: [500] } }],
    [
      'half of retry in each place',
      { retry: { count: 2 }, svc: { retry: { on_codes: [500] } } },
      { retry: { count: 2, codes: [500] } },
    ],
    [
      'all of retry in both places',
      { retry: { count: 2, on_codes: [500] }, svc: { retry: { count: 5, on_codes: [503] } } },
      { retry: { count: 2, codes: [500] } },
    ],
    [
      'an empty retry over a complete one',
      { retry: {}, svc: { retry: { count: 5 } } },
      { retry: { count: 5, codes: [429] } },
    ],
    [
      'null at the top, which counts as missing',
      { retry: null, svc: { retry: { count: 5 } } },
      { retry: { count: 5 } },
    ],
    ['fallbacks in the options', { svc: { fallbacks: [{ model: B }] } }, { fallbacks: [B] }],
    [
      'fallbacks in both places, where a list is one field',
      { fallbacks: [{ model: C }], svc: { fallbacks: [{ model: B }] } },
      { fallbacks: [C] },
    ],
    ['an empty list at the top', { fallbacks: [], svc: { fallbacks: [{ model: B }] } }, { fallbacks: [] }],
    [
      'a balancer in both places',
      { load_balancer: balancer(B), svc: { load_balancer: balancer(C) } },
      { balance: [{ model: B, weight: 1 }] },
    ],
    ['a balancer in the options', { svc: { load_balancer: balancer(C) } }, { balance: [{ model: C, weight: 1 }] }],
    [
      'a timeout in both places',
      { timeout: { call_timeout: 1 }, svc: { timeout: { call_timeout: 2 } } },
      { callTimeout: 1 },
    ],
    ['a timeout in the options', { svc: { timeout: { call_timeout: 2 } } }, { callTimeout: 2 }],
    ['a cache in both places', { cache: kept(1), svc: { cache: kept(2) } }, { cacheTtl: 1 }],
    ['half a cache at the top', { cache: { type: 'exact_match' }, svc: { cache: kept(2) } }, { cacheTtl: 2 }],
    ['a default cache', { cache: { type: 'exact_match' } }, { cacheTtl: 1800 }],
    ['a name in both places', { name: 'top', svc: { name: 'inner' } }, { name: 'top' }],
    ['a name in the options', { svc: { name: 'inner' } }, { name: 'inner' }],
    ['an identity in the options', { svc: { identity: { id: 'ada' } } }, { identity: { id: 'ada' } }],
    [
      'an identity in both places',
      { identity: { id: 'eve' }, svc: { identity: { id: 'ada', email: 'ada@example.com' } } },
      { identity: { id: 'eve' } },
    ],
    ['an identity under the older name', { svc: { contact: { id: 'ada' } } }, { identity: { id: 'ada' } }],
    [
      'a thread in both places',
      { thread: { id: 'a' }, svc: { thread: { id: 'b', tags: ['x'] } } },
      { thread: { id: 'a' } },
    ],
    ['knowledge', { svc: { knowledge_bases: [{ knowledge_id: 'k' }] } }, { knowledge: [{ knowledge_id: 'k' }] }],
    ['guardrails', { guardrails: [{ id: 'g', execute_on: 'input' }] }, { guardrails: [{ id: 'g' }] }],
  ]
  test.each(rows)('are merged for %s', (_, body, wanted) => {
    const chat = operation('chat.completions')
    expect(settingsOf(chat, chat.request.parse({ ...base, ...body }))).toMatchObject(wanted)
  })

  test('are absent when the request has none', () => {
    const chat = operation('chat.completions')
    expect(Object.keys(settingsOf(chat, chat.request.parse(base)))).toEqual(['fallbacks', 'guardrails', 'knowledge'])
  })

  test('take effect together in one call', async () => {
    const app = createScripted({ [A]: [refuses(503)], [B]: [says('Second best.')] })
    const svc = { retry: { on_codes: [503] }, fallbacks: [{ model: B }] }
    const answer = await app.ask({ retry: { count: 1 }, svc })
    expect(textOf(answer)).toBe('Second best.')
    expect(await attemptsOf(app, answer)).toEqual([
      ...[`${A} 1 first http_error 503`, `${A} 2 retry http_error 503`, `${B} 1 fallback succeeded 200`],
    ])
  })
})

/** Which settings each operation has, and where; an unknown field is an extra and means nothing. */
const EVERY = ['retry', 'fallbacks', 'load_balancer', 'timeout', 'identity', 'thread', 'name'] as const
const TAKES: Record<string, readonly string[]> = {
  'chat.completions': [...EVERY, 'cache', 'knowledge', 'guardrails'],
  responses: [...EVERY, 'cache', 'knowledge', 'guardrails'],
  completions: [...EVERY, 'cache', 'knowledge'],
  embeddings: [...EVERY, 'cache'],
  'images.generations': [...EVERY, 'cache'],
  'audio.translations': EVERY,
  'audio.transcriptions': EVERY,
  'audio.speech': EVERY,
  'images.edits': EVERY,
  'images.variations': EVERY,
  moderations: [...EVERY, 'cache'],
  rerank: [...EVERY, 'cache'],
}
const RENAMED: Record<string, string> = { load_balancer: 'balance', cache: 'cacheTtl', timeout: 'callTimeout' }

test('settings table: has every operation', () => {
  expect(Object.keys(TAKES).sort()).toEqual(operations.map(({ name }) => name).sort())
})
describe.each(Object.entries(TAKES))('settings of %s', (name, takes) => {
  const given = {
    ...{ retry: {}, fallbacks: [{ model: B }], load_balancer: balancer(C), timeout: { call_timeout: 9 } },
    ...{ cache: kept(5), identity: { id: 'ada' }, thread: { id: 't' }, name: 'mine' },
  }
  const more = {
    guardrails: [{ id: 'g', execute_on: 'input' }],
    svc: { knowledge_bases: [{ knowledge_id: 'k', search_type: 'hybrid_search' }] },
  }
  const wanted = (skip: readonly string[]) =>
    takes.filter((one) => !skip.includes(one)).map((one) => RENAMED[one] ?? one)
  const filled = (settings: object) =>
    Object.entries(settings)
      .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
      .map(([field]) => field)

  test('are read at the top', () => {
    expect(filled(settingsOf(operation(name), { model: A, ...given, ...more })).sort()).toEqual(wanted([]).sort())
  })

  test('are read in the service options', () => {
    const settings = settingsOf(operation(name), { model: A, svc: { ...given, ...more.svc } })
    expect(filled(settings).sort()).toEqual(wanted(['guardrails']).sort())
  })
})

describe('settings of an audio form', () => {
  const sound = Bun.file(`${import.meta.dir}/../support/media/silence.m4a`)
  const [ONE, TWO] = ['openai/whisper-1', 'groq/whisper-large-v3']
  const heard = sends(JSON.stringify({ text: 'Hello.' }))
  const post = async (app: ReturnType<typeof createScripted>, fields: Record<string, unknown>) => {
    const form = new FormData()
    form.append('file', new File([await sound.bytes()], 'silence.m4a', { type: 'audio/mp4' }))
    form.append('model', ONE)
    for (const [name, value] of Object.entries(fields)) {
      form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
    }
    return app.fetch(TRANSLATIONS, { method: 'POST', body: form })
  }

  test('are read as JSON', async () => {
    const app = createScripted({ [ONE]: [refuses(503)], [TWO]: [heard] })
    const retry = { count: 1, on_codes: [503] }
    const answer = await post(app, { retry, fallbacks: [{ model: TWO }], name: 'dictation', thread: { id: 't' } })
    expect(answer.json()).toEqual({ text: 'Hello.' })
    expect(await attemptsOf(app, answer)).toEqual([
      ...[`${ONE} 1 first http_error 503`, `${ONE} 2 retry http_error 503`, `${TWO} 1 fallback succeeded 200`],
    ])
    expect(await app.traceOf(answer)).toMatchObject({ name: 'dictation', thread: { id: 't' } })
  })

  test('are read as JSON in the service options, below the top', async () => {
    const app = createScripted({ [ONE]: [refuses(503), refuses(503), heard] })
    const svc = { retry: { count: 5, on_codes: [503] }, timeout: { call_timeout: 700 } }
    const answer = await post(app, { retry: { count: 2 }, svc })
    expect(answer.json()).toEqual({ text: 'Hello.' })
    expect(app.reached).toHaveLength(3)
  })

  test('include load balancer and timeout', async () => {
    const app = createScripted({ [TWO]: [heard] })
    const answer = await post(app, { load_balancer: balancer(TWO), timeout: { call_timeout: 700 } })
    expect(answer.headers.get('x-understudy-model')).toBe(TWO)
  })

  test('include no cache', async () => {
    const app = createScripted({ [ONE]: [heard] })
    const body = { cache: kept(60), svc: { cache: kept(60) } }
    const answers = [await post(app, body), await post(app, body)]
    expect(answers.map(({ headers }) => headers.get('x-understudy-cache'))).toEqual(['off', 'off'])
    expect(app.reached).toHaveLength(2)
  })

  test.each<[what: string, fields: Record<string, unknown>, param: string]>([
    ['invalid JSON', { retry: 'twice' }, 'retry'],
    ['a retry count that is too high', { retry: { count: 6 } }, 'retry.count'],
    ['a timeout of 0', { timeout: { call_timeout: 0 } }, 'timeout.call_timeout'],
    ['an invalid service option', { svc: { retry: { on_codes: [1] } } }, 'svc.retry.on_codes[0]'],
  ])('are rejected with 422 for %s', async (_, fields, param) => {
    const app = createScripted({ [ONE]: [heard] })
    expect(errorOf((await post(app, fields)).text, 422).param).toBe(param)
    expect(app.reached).toEqual([])
  })
})
