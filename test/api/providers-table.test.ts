// Every provider of the registry: one file holds all that is known of it, and that it refuses, counts down, is priced and is
// called as its file says.
import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { readForwarding } from '../../src/config/providers.ts'
import { costOf, modelOf } from '../../src/providers/catalogue.ts'
import type { Provider } from '../../src/providers/define.ts'
import { endpointOf, FORWARDABLE, PROVIDER_KINDS } from '../../src/providers/endpoints.ts'
import type { RefusalReason } from '../../src/providers/error-words.ts'
import { PROVIDERS, providerNamed } from '../../src/providers/index.ts'
import { providerNames } from '../../src/providers/names.ts'
import { createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { at, HELLO, KEY, startProvider } from '../support/forward.ts'
import { playing } from '../support/scenario.ts'

const src = join(import.meta.dir, '..', '..', 'src')
const codeOf = (file: string) => readFileSync(join(src, file), 'utf8').replace(/^\s*\/\/.*$/gm, '')
const names = PROVIDERS.map(({ name }) => name)
const rows = PROVIDERS.map((provider): [string, Provider] => [provider.name, provider])

test('a provider is one file and one line of the registry', () => {
  expect(new Set(names).size).toBe(names.length)
  const registry = codeOf('providers/index.ts')
  for (const name of names) {
    expect(codeOf(`providers/${name}.ts`)).toContain(`name: '${name}'`)
    expect(registry.match(new RegExp(`\\b${name}Provider,`, 'g'))).toHaveLength(1)
  }
})

test('no provider is named where all are alike', () => {
  const shared = ['backends/forward', 'gateway', 'faults', 'answers', 'endpoints', 'config'].flatMap((folder) => [
    ...new Glob(`${folder}/**/*.ts`).scanSync(src),
  ])
  const beside = [
    'define',
    'catalogue',
    'endpoints',
    'names',
    'error-words',
    'error-body',
    'quota-headers',
    'request-id',
  ]
  const files = [...shared, ...beside.map((name) => `providers/${name}.ts`), 'providers/model-package.ts']
  expect(files.length).toBeGreaterThan(40)
  const named = files.filter((file) => new RegExp(`['"\`](?:${names.join('|')})['"\`]`).test(codeOf(file)))
  expect(named).toEqual([])
})

const REASONS: Exclude<RefusalReason, 'status'>[] = [
  ...(['rate-limit', 'auth-failure', 'context-length', 'content-filter', 'quota-exceeded', 'model-not-found'] as const),
]
const refusal = { model: 'm', id: '0123456789abcdef01234567', limit: 10, asked: 20, retryAfter: 2_000 }

describe.each(rows)('%s', (name, provider) => {
  test.each(REASONS)('refuses for %s in words', (problem) => {
    const { status, headers, body } = provider.error({ ...refusal, problem })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
    expect(Object.keys(headers)).toEqual(Object.keys(headers).map((header) => header.toLowerCase()))
    expect(JSON.stringify(body).length).toBeGreaterThan(20)
  })

  test.each([400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529, 599])(
    'refuses with %d',
    (status) => {
      expect(provider.error({ ...refusal, problem: 'status', status }).status).toBe(status)
    },
  )

  test('counts a quota down in lower case, or not at all', () => {
    const headers = provider.quota('requests', { limit: 9, remaining: 3, resets: 5_000 }, 1_000)
    expect(Object.keys(headers)).toEqual(Object.keys(headers).map((header) => header.toLowerCase()))
  })

  test('its models are found by id, dated too, and have a price', () => {
    for (const [model, known] of Object.entries(provider.models)) {
      for (const id of [model, `${model}-2026-01-01`]) expect(modelOf(`${name}/${id}`)).toBe(known)
      expect(Object.values(known.price).length).toBeGreaterThan(0)
      expect(costOf(`${name}/${model}`, { prompt_tokens: 1_000_000, completion_tokens: 0 })).toBe(
        known.price.input ?? 0,
      )
    }
    expect(modelOf(`${name}/constructor`)).toBeUndefined()
  })
})

test('what is not listed is like OpenAI, and so is its address', () => {
  const { error, quota } = providerNamed('nobody')
  expect([error, quota]).toEqual([providerNamed('openai').error, providerNamed('openai').quota])
  expect(endpointOf('nobody', undefined)).toEqual({})
  for (const kind of PROVIDER_KINDS.slice(1)) expect(endpointOf('mine', kind)).toBe(endpointOf(kind, undefined))
})

describe('forwarding', () => {
  const stops: (() => unknown)[] = []
  afterAll(async () => {
    for (const stop of stops) await stop()
  })
  const forwarded = FORWARDABLE.map((name): [string, Provider] => [name, providerNamed(name)])

  test.each(forwarded)('%s: a call reaches it with the key, and its refusal comes back', async (name) => {
    const upstream = startProvider(() => Response.json({ error: { message: 'busy' } }, { status: 503 }))
    const section = { value: { [name]: at(upstream.url) }, locationOf: () => '' }
    const app = createTestApp({
      clock: 'real',
      forwarding: readForwarding({ section, backend: 'fixture', environment: {} }),
    })
    stops.push(upstream.stop, app.close)
    const answer = await app.post('/v2/router/chat/completions', { ...HELLO, model: `${name}/m` })
    expect(errorOf(answer.text, 503).message).toBe(`busy (${name})`)
    expect(Object.values(upstream.last().headers).join(' ')).toContain(KEY)
    expect(await app.traceOf(answer)).toMatchObject({ outcome: 'http_error', status: 503 })
  })
})

describe('a fault speaks as the provider does', () => {
  const app = createTestApp()
  afterAll(app.close)

  test.each(names)('%s', async (name) => {
    const { chat } = await playing(app, [{ fault: { type: 'rate-limit', requests: 0 } }])
    const answer = await chat({ model: `${name}/m` })
    expect(answer.status).toBe(429)
    const says = answer.headers.get('retry-after') !== null
    expect(says).toBe(providerNamed(name).sendsRetryAfter)
  })
})

test('names that the settings add are known to one program, and to no other', () => {
  const mine = providerNames(['mine'])
  expect(mine.known).toEqual([...names, 'mine'])
  expect(() => mine.check('mine/m')).not.toThrow()
  expect(() => providerNames([]).check('mine/m', 'fallbacks[0].model')).toThrow(
    /has no known provider; known: anthropic/,
  )
})
