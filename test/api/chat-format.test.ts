// response_format: the response has the requested form, and an unsatisfiable schema is rejected.
import { afterAll, describe, expect, test } from 'bun:test'
import { judgement } from '../support/ajv.ts'
import { createTestApp } from '../support/app.ts'
import { both, FIXTURES, messageOf, refused, streamed, user, whole } from '../support/chat.ts'
import { withFreshMemory } from '../support/memory.ts'
import { impossible, isMalformed, satisfiable } from '../support/schemas.ts'

const app = createTestApp({ fixtures: [FIXTURES] })
afterAll(app.close)

const PARAM = 'response_format.json_schema.schema'
const asked = (schema: unknown, more: object = {}) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, ...more } },
})
const isObject = (schema: unknown) => typeof schema === 'object' && schema !== null
/** The rows that fit into a request: one of them is nested too deeply for any JSON. */
const sendable = impossible.filter(([name, schema]) => isObject(schema) && name !== 'nesting without end')
const person = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
  required: ['name', 'age'],
  additionalProperties: false,
}
// Every message that a ready answer would answer with prose.
const prose = ['What is up?', 'hello', 'Tell me a long story', 'Think step by step', 'What about JSON?', 'count']

test.each([undefined, null, { type: 'text' }])('response_format %p: returns plain text', async (response_format) => {
  expect(messageOf(await both(app, { response_format, ...user('count') })).content).toStartWith('one two three')
})

describe('response_format json_object', () => {
  test.each(prose)('returns a JSON object for %s', async (question) => {
    const { content } = messageOf(await both(app, { response_format: { type: 'json_object' }, ...user(question) }))
    expect(JSON.parse(content ?? '')).toBeObject()
  })
})

describe('response_format json_schema', () => {
  test.each(prose)('satisfies its schema for %s', async (question) => {
    for (const strict of [true, false, null, undefined]) {
      const { content } = messageOf(await both(app, { ...asked(person, { strict }), ...user(question) }))
      expect(judgement(person, JSON.parse(content ?? ''))).toEqual([])
    }
  })

  test.each(satisfiable.filter(([, schema]) => isObject(schema)))('satisfies its schema with %s', async (_, schema) => {
    const { completion } = await whole(app, asked(schema))
    expect(judgement(schema, JSON.parse(messageOf(completion).content ?? ''))).toEqual([])
  })

  test('needs only a name', async () => {
    const { content } = messageOf(await both(app, asked(undefined, { description: 'Anything.' })))
    expect(() => JSON.parse(content ?? '')).not.toThrow()
  })

  test('satisfies its schema with a tool result in the history', async () => {
    const messages = [
      ...user('the weather in Paris?').messages,
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'get_weather' } }] },
      { role: 'tool', tool_call_id: 'a', content: 'fine' },
    ]
    const tools = [{ type: 'function', function: { name: 'get_weather' } }]
    const { content } = messageOf(await both(app, { messages, tools, ...asked(person) }))
    expect(judgement(person, JSON.parse(content ?? ''))).toEqual([])
  })

  test('streams in chunks', async () => {
    const { chunks } = await streamed(app, asked(person))
    expect(chunks.filter(({ choices }) => choices[0]?.delta.content).length).toBeGreaterThan(5)
  })
})

describe('response_format with an unusable schema', () => {
  withFreshMemory()
  test.each(sendable)('is rejected with the reason: %s', async (_, schema, { path, message }) => {
    const malformed = isMalformed({ message })
    const error = await refused(app, asked(schema), malformed ? 400 : 422)
    const code = malformed ? 'invalid_schema' : 'sample_not_found'
    expect(error).toMatchObject({ param: PARAM, code, type: 'invalid_request_error' })
    const at = path === '' ? '' : ` (at ${path})`
    expect(error.message).toBe(
      malformed
        ? `'${PARAM}' is not a valid JSON Schema: ${message}${at}`
        : `no answer was found that satisfies '${PARAM}': ${message}${at}; a fixture can answer this call`,
    )
  })

  const wrong: [string, unknown, string][] = [
    ['false', false, PARAM],
    ['null', null, PARAM],
    ['a text', 'string', PARAM],
    ['a list', [], PARAM],
  ]
  test.each(wrong)('is rejected when the schema is %s', async (_, schema, param) => {
    expect((await refused(app, asked(schema))).param).toBe(param)
  })

  test.each(['', 'a b', 'x'.repeat(65), 'ä'])('is rejected when its name is not an identifier: %p', async (name) => {
    expect((await refused(app, asked(person, { name }))).param).toBe('response_format.json_schema.name')
  })
})
