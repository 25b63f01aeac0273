// The running server against the specification, field by field: an invalid value is a 400 that names the field, a value at a limit is
// accepted, and defaults are applied.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Answer, createTestApp, SHIPPED_WORKSPACE } from '../support/app.ts'
import { newServerOf } from '../support/new-server.ts'
import {
  type Field,
  type Fields,
  type JsonType,
  SPECIFICATION,
  type SpecifiedOperation,
} from '../support/specification.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp(SHIPPED_WORKSPACE)
afterAll(app.close)
let server: Awaited<ReturnType<typeof newServerOf>>
beforeAll(async () => {
  server = await newServerOf(app)
})

const nameOf = ({ method, path }: SpecifiedOperation) => `${method.toUpperCase()} ${path}`
const rowsOf = (part: (operation: SpecifiedOperation) => Fields | undefined) =>
  SPECIFICATION.flatMap((operation) =>
    Object.entries(part(operation) ?? {}).map(
      ([path, field]) => [nameOf(operation), path, { operation, field }] as const,
    ),
  )

const stepsOf = (path: string) => path.match(/\[\]|[^.[\]]+/g) ?? []
const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null
/** Whether a body has something at a path. */
const has = (body: unknown, [step, ...rest]: readonly string[]): boolean => {
  if (step === undefined) return body !== undefined
  if (step === '[]') return Array.isArray(body) && body.length > 0 && has(body[0], rest)
  return isRecord(body) && has(body[step], rest)
}
/** A body with a value at a path; undefined takes it away. */
function put(body: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value
  if (step === '[]') {
    const [first, ...others] = Array.isArray(body) ? body : []
    return [put(first, rest, value), ...others]
  }
  const record = isRecord(body) && !Array.isArray(body) ? body : {}
  return { ...record, [step]: put(record[step], rest, value) }
}
/** The bodies in which a field is looked at: those that have it, or else have the most of what it lies in. */
function bodiesFor({ bodies = [] }: SpecifiedOperation, path: string): readonly Json[] {
  const steps = stepsOf(path)
  for (let length = steps.length; length > 0; length--) {
    const found = bodies.filter((body) => has(body, steps.slice(0, length)))
    if (found.length > 0) return found
  }
  return bodies
}
const withValue = (body: Json, path: string, value: unknown) => put(body, stepsOf(path), value) as Json

let sessions = 0
const sendIn = (session: string, { method, path, form }: SpecifiedOperation, value: Json | undefined, query: string) =>
  server.send(session, { method, path, value, form: form === true, query })
/** Sends a body; of records each in a session of its own, as names may be there once. */
const send = (operation: SpecifiedOperation, value: Json | undefined, query = '') =>
  sendIn(operation.path.includes('/router/') ? 'default' : `s-${sessions++}`, operation, value, query)
/** Sends what must be refused: it leaves nothing behind, so the same session serves for all of it. */
const sendWrong = (operation: SpecifiedOperation, value: Json | undefined, query = '') =>
  sendIn('default', operation, value, query)

const VALUES: readonly [JsonType, unknown][] = [
  ['string', 'x'],
  ['number', 7.5],
  ['boolean', true],
  ['object', {}],
  ['array', []],
]
/** Values of every type that a field may not have. */
function wrongTypes({ type }: Field, inForm: boolean): unknown[] {
  const allowed: readonly JsonType[] = [type].flat()
  const wrong = VALUES.filter(([name]) => !allowed.includes(name)).map(([, value]) => value)
  // A form has texts, which are read as what the field is; what is no JSON is none of an object or a list.
  if (!inForm) return wrong
  return allowed.includes('string') ? [] : ['x', ...(allowed.includes('boolean') ? ['7'] : ['true'])]
}
const times = (count: number, item: unknown) => Array.from({ length: count }, () => item)
const pairs = (count: number) => Object.fromEntries(times(count, '').map((_, index) => [`k${index}`, 'v']))
const step = ({ type }: Field) => (type === 'integer' ? 1 : 0.001)

/** What is just within the limits of a field, and what is just beyond them. */
function edges(field: Field, sample: unknown): { within: unknown[]; beyond: unknown[] } {
  const within: unknown[] = []
  const beyond: unknown[] = []
  const add = (good: unknown, bad: unknown) => {
    within.push(good)
    beyond.push(bad)
  }
  const item = Array.isArray(sample) ? sample[0] : 'x'
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, maxProperties, maxKeyLength, maxValueLength } =
    field
  if (minimum !== undefined) add(minimum, minimum - step(field))
  if (maximum !== undefined) add(maximum, maximum + step(field))
  if (minLength !== undefined) add('a'.repeat(minLength), 'a'.repeat(minLength - 1))
  if (maxLength !== undefined) add('a'.repeat(maxLength), 'a'.repeat(maxLength + 1))
  if (minItems !== undefined) add(times(minItems, item), times(minItems - 1, item))
  if (maxItems !== undefined) add(times(maxItems, item), times(maxItems + 1, item))
  if (maxProperties !== undefined) add(pairs(maxProperties), pairs(maxProperties + 1))
  if (maxKeyLength !== undefined) add({ ['k'.repeat(maxKeyLength)]: 'v' }, { ['k'.repeat(maxKeyLength + 1)]: 'v' })
  if (maxValueLength !== undefined) add({ k: 'v'.repeat(maxValueLength) }, { k: 'v'.repeat(maxValueLength + 1) })
  if (field.pattern !== undefined) beyond.push('no such form!')
  if (field.enum !== undefined) beyond.push('no-such-value')
  within.push(...(field.enum ?? []), ...(field.values ?? []))
  return { within, beyond }
}
const valueAt = (body: unknown, steps: readonly string[]): unknown =>
  steps.reduce<unknown>((value, one) => (value as Json | undefined)?.[one === '[]' ? '0' : one], body)

/** Whether what an error names is the field, something in it, or what it lies in. */
function names(param: unknown, path: string): boolean {
  const concrete = path.replaceAll('[]', '[0]')
  return typeof param === 'string' && (concrete.startsWith(param) || param.startsWith(concrete))
}
function expectRefused({ path, form }: SpecifiedOperation, at: string, [value, answer]: [unknown, Answer]): void {
  const said = [path, at, value, answer.status, answer.text.slice(0, 300)]
  const { error } = answer.json() as { error?: { param: unknown } }
  // A form that is not valid is a 422.
  expect([...said, answer.status, names(error?.param, at)]).toEqual([...said, form ? 422 : 400, true])
}

describe('specification of requests', () => {
  test.each(SPECIFICATION.filter(({ bodies }) => bodies).map((one) => [nameOf(one), one] as const))(
    '%s accepts bodies with every field',
    async (_, operation) => {
      for (const body of operation.bodies ?? []) {
        const answer = await send(operation, body)
        expect([answer.status, answer.text.slice(0, 300)]).toEqual([operation.status, expect.any(String)])
      }
    },
  )

  test.each(rowsOf(({ body }) => body))('%s rejects other types of %s', async (_, path, { operation, field }) => {
    const [body = {}] = bodiesFor(operation, path)
    for (const value of wrongTypes(field, operation.form === true && !/[.[]/.test(path)))
      expectRefused(operation, path, [value, await sendWrong(operation, withValue(body, path, value))])
  })

  const limited = rowsOf(({ body }) => body).filter(
    ([, path, { operation, field }]) =>
      edges(field, valueAt(bodiesFor(operation, path)[0], stepsOf(path))).beyond.length > 0 || field.values,
  )
  test.each(limited)('%s enforces limits and values of %s', async (_, path, { operation, field }) => {
    const bodies = bodiesFor(operation, path)
    const all = operation.bodies ?? []
    const { within, beyond } = edges(field, valueAt(bodies[0], stepsOf(path)))
    for (const value of beyond)
      expectRefused(operation, path, [value, await sendWrong(operation, withValue(bodies[0] ?? {}, path, value))])
    for (const value of within) {
      // Not every model takes every value: one of the bodies must.
      const answers: Answer[] = []
      for (const body of new Set([...bodies, ...all])) {
        answers.push(await send(operation, withValue(body, path, value)))
        if (answers.at(-1)?.status === operation.status) break
      }
      const said = [value, answers.map(({ text }) => text.slice(0, 300))]
      expect([...said, answers.at(-1)?.status]).toEqual([...said, operation.status])
    }
  })

  const mandatory = rowsOf(({ body }) => body).filter(([, , { field }]) => field.required)
  test.each(mandatory)('%s requires %s', async (_, path, { operation }) => {
    const [body = {}] = bodiesFor(operation, path)
    expectRefused(operation, path, [undefined, await sendWrong(operation, withValue(body, path, undefined))])
  })

  const queries = rowsOf(({ parameters }) => parameters).filter(
    ([, name, { operation }]) => !operation.path.includes(`{${name}}`),
  )
  test.each(queries)('%s enforces limits of the parameter %s', async (_, name, { operation, field }) => {
    const { within, beyond } = edges(field, undefined)
    const wrong = field.type === 'integer' ? ['x', '1.5', ''] : []
    for (const value of [...beyond, ...wrong])
      expectRefused(operation, name, [value, await sendWrong(operation, undefined, `?${name}=${value}`)])
    for (const value of within) {
      const { status } = await send(operation, undefined, `?${name}=${value}`)
      expect([value, status]).toEqual([value, operation.status])
    }
  })
})

/** What shows the default of a field: what is sent, and where the answer has it. */
interface Shown {
  body: Json
  /** What the answer shows. */
  look(answer: Answer): unknown
  /** What it shows when the default is in force, and when another value is sent. */
  expected: unknown
  other: { value: unknown; expected: unknown }
}
const COMPLETION = { model: 'openai/gpt-3.5-turbo-instruct', prompt: 'Tell me a long story.' }
const CHAT = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }
const RESPONSE = { model: 'openai/gpt-4o', input: 'Hello' }
const EVALUATOR = {
  type: 'llm_eval',
  prompt: 'Is it?',
  path: 'Default',
  key: 'is-it',
  mode: 'single',
  model: 'openai/gpt-4o',
}
const typeOf = ({ headers }: Answer) => headers.get('content-type')?.split(';')[0]
const choicesOf = (answer: Answer) => answer.json().choices as Json[]
const streamed = { look: typeOf, expected: 'application/json', other: { value: true, expected: 'text/event-stream' } }
const echoes = (body: Json, name: string, expected: unknown, value: unknown): Shown => ({
  body,
  look: (answer) => answer.json()[name],
  expected,
  other: { value, expected: value },
})
/** By operation and field. What only steers a model has no other trace than that the default may be sent as well. */
const SHOWN: Record<string, Shown> = {
  'POST /v2/router/responses service_tier': echoes(RESPONSE, 'service_tier', 'auto', 'flex'),
  'POST /v2/router/responses stream': { ...streamed, body: RESPONSE },
  'POST /v2/router/chat/completions modalities': {
    body: { ...CHAT, model: 'openai/gpt-4o-audio-preview', audio: { voice: 'alloy', format: 'mp3' } },
    look: (answer) => 'audio' in ((choicesOf(answer)[0]?.message ?? {}) as Json),
    expected: false,
    other: { value: ['text', 'audio'], expected: true },
  },
  'POST /v2/router/chat/completions stream': { ...streamed, body: CHAT },
  'POST /v2/router/completions echo': {
    body: COMPLETION,
    look: (answer) => String(choicesOf(answer)[0]?.text).startsWith(COMPLETION.prompt),
    expected: false,
    other: { value: true, expected: true },
  },
  'POST /v2/router/completions max_tokens': {
    body: COMPLETION,
    look: (answer) => (answer.json().usage as Json).completion_tokens,
    expected: 16,
    other: { value: 5, expected: 5 },
  },
  'POST /v2/router/completions n': {
    body: COMPLETION,
    look: (answer) => choicesOf(answer).length,
    expected: 1,
    other: { value: 2, expected: 2 },
  },
  'POST /v2/router/completions stream': { ...streamed, body: COMPLETION },
  'POST /v2/router/images/generations n': {
    body: { model: 'openai/dall-e-2', prompt: 'a cat', size: '256x256' },
    look: (answer) => (answer.json().data as Json[]).length,
    expected: 1,
    other: { value: 3, expected: 3 },
  },
  'POST /v2/agents engine': echoes(
    SPECIFICATION.find(({ path }) => path === '/v2/agents')?.bodies?.[0] ?? {},
    'engine',
    'text',
    'jinja',
  ),
  'POST /v2/evaluators description': echoes(EVALUATOR, 'description', '', 'Whether it is.'),
}
const STEERS_A_MODEL = ['frequency_penalty', 'presence_penalty', 'temperature', 'top_p']

describe('specification of defaults', () => {
  const rows = rowsOf(({ body }) => body).filter(([, , { field }]) => 'default' in field)

  test('is shown by a response, except for those that only affect a model', () => {
    const names = rows.filter(([, path]) => !STEERS_A_MODEL.includes(path)).map(([name, path]) => `${name} ${path}`)
    expect(names.sort()).toEqual(Object.keys(SHOWN).sort())
  })

  test.each(rows)('%s uses the default for a missing %s', async (name, path, { operation, field }) => {
    const shown = SHOWN[`${name} ${path}`]
    const body = withValue(shown?.body ?? operation.bodies?.[0] ?? {}, path, undefined)
    const missing = await send(operation, body)
    const sent = await send(operation, withValue(body, path, field.default))
    expect([missing.status, sent.status]).toEqual([operation.status, operation.status])
    if (!shown) return
    const { look, expected, other } = shown
    expect([look(missing), look(sent)]).toEqual([expected, expected])
    expect(look(await send(operation, withValue(body, path, other.value)))).toEqual(other.expected)
  })

  test('returns 10 evaluator versions a page', async () => {
    const headers = { 'x-understudy-session': 'versions' }
    const { _id } = (await app.post('/v2/evaluators', EVALUATOR, headers)).json()
    const change = (description: string) => ({
      method: 'PATCH',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ description }),
    })
    for (const text of 'abcdefghijk') await app.fetch(`/v2/evaluators/${_id}`, change(text))
    const pageOf = async (query: string) =>
      (await app.fetch(`/v2/evaluators/${_id}/versions${query}`, { headers })).json() as {
        data: Json[]
        has_more: boolean
      }
    const { data, has_more } = await pageOf('')
    expect([data.length, has_more]).toEqual([10, true])
    expect((await pageOf('?limit=12')).data.length).toBe(12)
  })
})
