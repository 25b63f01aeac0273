// Schemas that would be walked forever: each is answered, rejected or given up, wherever a schema is read.
import { afterAll, describe, expect, test } from 'bun:test'
import { endWorkers, workerCounts } from '../../src/workers/pool.ts'
import { type Answer, testApps } from '../support/app.ts'
import { bodyOf, CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { shortJobs } from '../support/job-limits.ts'

const { appWith, close } = testApps()
afterAll(async () => {
  await close()
  endWorkers()
})

type Json = Record<string, unknown>
const RESPONSES = '/v2/router/responses'

/** A schema of references, each of which leads to two more, `deep` times, and then to `end`. */
function doubling(deep: number, end: Json = { type: 'string' }, link: (next: Json) => Json = allOf): Json {
  const $defs: Json = { [`a${deep}`]: end }
  for (let level = 0; level < deep; level++) $defs[`a${level}`] = link({ $ref: `#/$defs/a${level + 1}` })
  return { $defs, type: 'object', properties: { x: { $ref: '#/$defs/a0' } }, required: ['x'] }
}
const allOf = (next: Json) => ({ allOf: [next, { ...next, title: 'again' }] })
const anyOf = (next: Json) => ({ anyOf: [next, { ...next, title: 'again' }] })
const oneOf = (next: Json) => ({ oneOf: [{ type: 'null' }, { allOf: [next, { not: { not: next } }] }] })
const condition = (next: Json) => Object.fromEntries(['if', 'then', 'else'].map((key) => [key, next]))

/** Schemas with `$id` in schemas with `$id`. */
function identified(deep: number): Json {
  let schema: Json = { type: 'string' }
  for (let level = 0; level < deep; level++)
    schema = { $id: `https://example.com/${level}`, type: 'object', properties: { x: schema }, required: ['x'] }
  return schema
}

const HOSTILE: [what: string, schema: Json][] = [
  ['allOf of references that double', doubling(40)],
  ['anyOf of references that double', doubling(40, { type: 'string' }, anyOf)],
  ['oneOf and not of references that double', doubling(40, { type: 'string' }, oneOf)],
  ['if, then and else of references that double', doubling(40, { type: 'string' }, condition)],
  ['references that double and match nothing', doubling(40, { not: {} })],
  ['nested ids', identified(60)],
  ['a pattern that backtracks endlessly', { type: 'string', pattern: '^(a+)+$', minLength: 40 }],
  [
    'patterns in many places',
    { type: 'object', patternProperties: { '^(a|aa)+$': { pattern: '(x+x+)+y' } }, minProperties: 50 },
  ],
  ['a huge list', { type: 'array', items: { type: 'string' }, minItems: 1e9 }],
  ['a huge list of different items', { type: 'array', items: { enum: [1, 2] }, uniqueItems: true, minItems: 900 }],
  ['a huge text', { type: 'string', minLength: 1e12 }],
  ['many long texts', { type: 'array', items: { type: 'string', minLength: 100_000 }, minItems: 1000 }],
  ['a tiny multipleOf', { type: 'number', multipleOf: 5e-324, exclusiveMinimum: 1e308 }],
  ['90,000 values', { type: 'array', items: { enum: Array.from({ length: 90_000 }, (_, index) => `v${index}`) } }],
  ['a URL with an endless host', { type: 'string', format: 'url', example: `http://${'a'.repeat(50)}!` }],
  ['a reference to itself', { allOf: [{ $ref: '#' }, { $ref: '#' }] }],
]

/** What a schema may come to: an answer, or a word about the schema. */
const expectSettled = ({ status, text }: Answer, what: string) => {
  if (![400, 422].includes(status)) return expect([what, status]).toEqual([what, 200])
  const { code } = errorOf(text, status)
  expect(['invalid_schema', 'sample_not_found', 'slow_schema', 'context_length_exceeded']).toContain(code)
}

/** A schema as the parameters of a function, which are an object. */
const asParameters = (schema: Json): Json =>
  schema.type === 'object' ? schema : { type: 'object', properties: { v: schema }, required: ['v'] }
const tool = (schema: Json) => ({ type: 'function', function: { name: 'f', parameters: asParameters(schema) } })
const wherever: [where: string, path: string, body: (schema: Json) => Json][] = [
  [
    'the format of a chat',
    CHAT,
    (schema) => bodyOf({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } }),
  ],
  ['the tools of a chat', CHAT, (schema) => bodyOf({ tools: [tool(schema)], tool_choice: 'required' })],
  [
    'the format of a response',
    RESPONSES,
    (schema) => ({ model: 'openai/gpt-4o', input: 'Hi', text: { format: { type: 'json_schema', name: 'a', schema } } }),
  ],
  [
    'the tools of a response',
    RESPONSES,
    (schema) => ({
      model: 'openai/gpt-4o',
      input: 'Hi',
      tools: [{ type: 'function', name: 'f', parameters: asParameters(schema) }],
      tool_choice: 'required',
    }),
  ],
]

/** A sample is looked for in the same way wherever one is asked for: one schema of each end shows that it is asked for there. */
const [firstPlace, ...otherPlaces] = wherever
const ENDS = [
  'allOf of references that double',
  'references that double and match nothing',
  'a huge text',
  '90,000 values',
  'a reference to itself',
]
const some = HOSTILE.filter(([what]) => ENDS.includes(what))
/** What takes the worker's whole budget of steps, or a second of one pattern: the worker is ended before. The main thread gives up by itself. */
const LONG = HOSTILE.filter(([what]) =>
  /^(allOf|anyOf|oneOf and not) of references that double|match nothing$|endless host$/.test(what),
)
const others = HOSTILE.filter((row) => !LONG.includes(row))
// With the usual limits in one place, where what looks for a sample gives up by itself, and short ones everywhere else.
const usual = appWith()
const app = appWith({}, { jobLimits: shortJobs(50) })

describe.each([
  ...(firstPlace
    ? ([
        [...firstPlace, usual, others],
        [...firstPlace, app, LONG],
      ] as const)
    : []),
  ...otherPlaces.map((place) => [...place, app, some] as const),
])('heavy schema in %s', (_, path, body, app, schemas) => {
  test.each([...schemas])('is settled in time: %s', async (what, schema) => {
    expectSettled(await app.post(path, body(schema)), what)
  })
})

describe('heavy schema of an evaluator', () => {
  const values: [what: string, schema: Json, text: string][] = [
    ...HOSTILE.map(([what, schema]): [string, Json, string] => [what, schema, '{"x":"y"}']),
    ['references that double, and a text that fits', doubling(40), '{"x":"y"}'],
    ['references that double, and a text that does not', doubling(40), '{"x":1}'],
    [
      'references that double with each level of the text',
      {
        allOf: [{ $ref: '#/$defs/a' }],
        $defs: { a: { properties: { x: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } } },
      },
      `${'{"x":'.repeat(60)}1${'}'.repeat(60)}`,
    ],
    [
      'a list of 20,000 different items',
      { uniqueItems: true },
      JSON.stringify(Array.from({ length: 20_000 }, (_, i) => i)),
    ],
    ['a pattern that backtracks', { pattern: '^(a+)+$' }, JSON.stringify(`${'a'.repeat(40)}!`)],
    [
      'many patterns that backtrack',
      { items: { pattern: '^(a|aa)+$' } },
      JSON.stringify(Array(100).fill(`${'a'.repeat(60)}!`)),
    ],
    [
      '90,000 values outside an enum of 1,000',
      { items: { enum: Array.from({ length: 90_000 }, (_, index) => `v${index}`) } },
      JSON.stringify(Array.from({ length: 1_000 }, (_, index) => index)),
    ],
    ['an endlessly nested text', { type: 'array' }, `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
  ]
  let sessions = 0
  test.each(values)('is settled in time: %s', async (what, schema, output) => {
    const key = 'shape'
    const headers = { 'x-understudy-session': `values-${sessions++}` }
    const evaluator = { type: 'json_schema', key, path: 'Default', schema }
    expect((await app.post('/v2/evaluators', evaluator, headers)).status).toBe(200)
    expectSettled(await app.post(`/v2/evaluators/${key}/invoke`, { output }, headers), what)
    // A guardrail checks a text in the same way: one schema of each end shows that it does.
    if (HOSTILE.some(([own]) => own === what) && !ENDS.includes(what)) return
    const guarded = bodyOf({ guardrails: [{ id: key, execute_on: 'input' }], ...user(output) })
    const { status } = await app.post(CHAT, guarded, headers)
    expect([400, 422]).toContain(status)
  })

  test('names only the first values of a long enum in its reason', async () => {
    const app = appWith()
    const schema = { enum: Array.from({ length: 5_000 }, (_, index) => `v${index}`) }
    await app.post('/v2/evaluators', { type: 'json_schema', key: 'shape', path: 'Default', schema })
    const { text } = await app.post('/_understudy/evaluators/shape/run', { text: '"none"' })
    expect(text).toContain('v0')
    expect(text).toContain('and 4950 more')
    expect(text.length).toBeLessThan(2_000)
  })

  test('is rejected when its JSON is nested endlessly', async () => {
    const app = appWith()
    const schema = `${'{"not":'.repeat(50_000)}{}${'}'.repeat(50_000)}`
    const { status, text } = await app.post('/v2/evaluators', {
      type: 'json_schema',
      key: 'deep',
      path: 'Default',
      schema,
    })
    expect(errorOf(text, status).param).toBe('schema')
    expect(status).toBe(400)
  })
})

test('schema: is not circular when several parts share another', async () => {
  const app = appWith()
  const part = (name: string) => ({
    allOf: [{ $ref: '#/$defs/base' }, { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] }],
  })
  const base = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }
  const schema = { $defs: { base, b: part('b'), c: part('c') }, allOf: [{ $ref: '#/$defs/b' }, { $ref: '#/$defs/c' }] }
  const format = { type: 'json_schema', json_schema: { name: 'a', schema } }
  const { choices } = (await app.post(CHAT, bodyOf({ response_format: format }))).json() as {
    choices: { message: { content: string } }[]
  }
  expect(Object.keys(JSON.parse(choices[0]?.message.content ?? '{}')).sort()).toEqual(['b', 'c', 'id'])
})

test('heavy schemas: do not block other calls, and their work is dropped for clients that have gone', async () => {
  const app = appWith()
  const { abandoned } = workerCounts()
  const gone = new AbortController()
  const schema = (index: number) => ({
    type: 'object',
    properties: { [`p${index}`]: { pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' } },
    minProperties: 900,
  })
  const hostile = Array.from({ length: 20 }, (_, index) =>
    app
      .fetch(CHAT, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(
          bodyOf({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: schema(index) } } }),
        ),
        signal: gone.signal,
      })
      .catch(() => undefined),
  )
  while (workerCounts().jobs === 0) await new Promise((resolve) => setImmediate(resolve))
  expect((await app.post(CHAT, bodyOf({}))).status).toBe(200)
  gone.abort()
  await Promise.all(hostile)
  while (workerCounts().jobs > 0) await new Promise((resolve) => setImmediate(resolve))
  expect(workerCounts().abandoned).toBeGreaterThan(abandoned)
})
