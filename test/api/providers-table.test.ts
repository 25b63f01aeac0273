// Every provider of the registry: one file contains all about it, and its errors, quota headers, prices and calls are those of its file.
import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { readForwarding } from '../../src/config/providers.ts'
import { costOf, modelOf } from '../../src/providers/catalogue.ts'
import type { Provider } from '../../src/providers/define.ts'
import { endpointOf, FORWARDABLE, PROVIDER_KINDS } from '../../src/providers/endpoints.ts'
import type { RefusalReason } from '../../src/providers/error-messages.ts'
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

test('provider: is one file and one line of the registry', () => {
  expect(new Set(names).size).toBe(names.length)
  const registry = codeOf('providers/index.ts')
  for (const name of names) {
    expect(codeOf(`providers/${name}.ts`)).toContain(`name: '${name}'`)
    expect(registry.match(new RegExp(`\\b${name}Provider,`, 'g'))).toHaveLength(1)
  }
})

test('shared code: names no provider', () => {
  const shared = ['backends/forward', 'gateway', 'faults', 'answers', 'endpoints', 'config'].flatMap((folder) => [
    ...new Glob(`${folder}/**/*.ts`).scanSync(src),
  ])
  const beside = [
    'define',
    'catalogue',
    'endpoints',
    'names',
    'error-messages',
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

describe.each(rows)('provider %s', (name, provider) => {
  test.each(REASONS)('has an error with a message for %s', (problem) => {
    const { status, headers, body } = provider.error({ ...refusal, problem })
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
    expect(Object.keys(headers)).toEqual(Object.keys(headers).map((header) => header.toLowerCase()))
    expect(JSON.stringify(body).length).toBeGreaterThan(20)
  })

  test.each([400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529, 599])(
    'has an error with status %d',
    (status) => {
      expect(provider.error({ ...refusal, problem: 'status', status }).status).toBe(status)
    },
  )

  test('has lower-case quota headers, or none', () => {
    const headers = provider.quota('requests', { limit: 9, remaining: 3, resets: 5_000 }, 1_000)
    expect(Object.keys(headers)).toEqual(Object.keys(headers).map((header) => header.toLowerCase()))
  })

  test('finds its models by id, dated ones too, with a price', () => {
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

test('unlisted provider: behaves like OpenAI, with the endpoint of its kind', () => {
  const { error, quota } = providerNamed('nobody')
  expect([error, quota]).toEqual([providerNamed('openai').error, providerNamed('openai').quota])
  expect(endpointOf('nobody', undefined)).toEqual({})
  for (const kind of PROVIDER_KINDS.slice(1)) expect(endpointOf('mine', kind)).toBe(endpointOf(kind, undefined))
})

describe('forwarding to a provider', () => {
  const stops: (() => unknown)[] = []
  afterAll(async () => {
    for (const stop of stops) await stop()
  })
  const forwarded = FORWARDABLE.map((name): [string, Provider] => [name, providerNamed(name)])

  test.each(forwarded)('%s: sends the key and returns the error', async (name) => {
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

describe('rate-limit fault', () => {
  const app = createTestApp()
  afterAll(app.close)

  test.each(names)('of %s has a retry time only if the provider sends one', async (name) => {
    const { chat } = await playing(app, [{ fault: { type: 'rate-limit', requests: 0 } }])
    const answer = await chat({ model: `${name}/m` })
    expect(answer.status).toBe(429)
    const says = answer.headers.get('retry-after') !== null
    expect(says).toBe(providerNamed(name).sendsRetryAfter)
  })
})

test('configured provider names: are known to one program and to no other', () => {
  const mine = providerNames(['mine'])
  expect(mine.known).toEqual([...names, 'mine'])
  expect(() => mine.check('mine/m')).not.toThrow()
  expect(() => providerNames([]).check('mine/m', 'fallbacks[0].model')).toThrow(
    /has no known provider; known: anthropic/,
  )
})
