// Schemas in requests: a sample is made only when an answer is synthesized, and what cannot be made is said with its place.
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { endWorkers } from '../../src/lib/worker/pool.ts'
import { judgement } from '../support/ajv.ts'
import { type TestApp, testApps } from '../support/app.ts'
import { runs } from '../support/property.ts'

const { appWith, close } = testApps()
const folder = mkdtempSync(join(tmpdir(), 'samples-'))
afterAll(async () => {
  await close()
  endWorkers()
  rmSync(folder, { recursive: true })
})

const CHAT = '/v2/router/chat/completions'
const RESPONSES = '/v2/router/responses'
const messages = [{ role: 'user', content: 'A word, please' }]
const chatOf = (schema: object) => ({
  model: 'openai/gpt-4o',
  messages,
  response_format: { type: 'json_schema', json_schema: { name: 'word', schema } },
})
const responseOf = (schema: object) => ({
  model: 'openai/gpt-4o',
  input: 'A word, please',
  text: { format: { type: 'json_schema', name: 'word', schema } },
})
const wordOf = (rules: object) => ({
  type: 'object',
  properties: { word: { type: 'string', ...rules } },
  required: ['word'],
})

/** What the content of the answer says. */
async function answered(app: TestApp, schema: object): Promise<unknown> {
  const answer = await app.post(CHAT, chatOf(schema))
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: expect.any(String) })
  const { choices } = answer.json() as { choices: { message: { content: string } }[] }
  return JSON.parse(choices[0]?.message.content ?? '')
}

const app = appWith()

describe('patterns are satisfied', () => {
  const patterns: [string, object][] = [
    ['lengths and an inner text by look-aheads', { pattern: '^(?=.{20,40}$)(?=.*zz)[a-z]+$' }],
    ['a password', { pattern: '^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[!@#$%]).{12,24}$' }],
    ['what must not stand there', { pattern: '^(?!.*(?:admin|root))[a-z]{3,}$' }],
    ['what must not stand before', { pattern: '^[a-z]{3}$(?<!abc)' }],
    ['borders of words', { pattern: '\\bfoo\\b', minLength: 12 }],
    ['edges in a choice', { pattern: '(^|,)x+(,|$)' }],
    ['a back reference', { pattern: '^(["\'])[a-z]+\\1$' }],
    ['no character twice in a row', { pattern: '^(?!.*(.)\\1)[a-z]{10}$' }],
    ['several at once', { allOf: [{ pattern: '^a' }, { pattern: 'b$' }, { pattern: 'c' }] }],
    ['a pattern and what is not one', { pattern: '^[a-c]{2}$', not: { pattern: '^a' } }],
    ['a pattern and its length', { pattern: '^[a-z]+$', minLength: 500, maxLength: 500 }],
    ['a long count', { pattern: '^[a-z]{2000}$' }],
    ['counts in counts', { pattern: '^(?:a{1,200}b){1,200}$' }],
    ['a date of a year', { pattern: '^2024-', format: 'date' }],
    ['an address of a host', { pattern: '@example\\.com$', format: 'email', minLength: 20 }],
    ['letters beyond ASCII', { pattern: '^\\p{Lu}\\p{Ll}+[\\u{1F600}-\\u{1F64F}]$' }],
    ['one character four times', { pattern: '^(\\w)\\1{3}$' }],
    ['an element and its end', { pattern: '^<(\\w+)>.*</\\1>$' }],
    ['groups in groups, and back', { pattern: '^((a|b)\\2)+-\\1$' }],
    ['a reference to what is not there yet', { pattern: '^(?<a>x\\k<b>)(?<b>y\\k<a>)\\k<b>$' }],
    ['a group that may be left out', { pattern: '^(?:(?<x>a)|(?<y>b))\\k<x>\\k<y>$' }],
    ['what may not follow itself', { pattern: '^(.)(?!\\1)(.)(?!\\2).$' }],
    ['the name of a host', { pattern: '^(?=.{1,253}$)(?:(?!-)[a-zA-Z0-9-]{1,63}(?<!-)\\.)+[a-zA-Z]{2,63}$' }],
    ['a very long text', { pattern: '^(ab){5000}$' }],
    ['a very long count, and more', { pattern: '^[a-z]{9000,}-$' }],
    ['times with a zone', { pattern: '\\+02:00$', format: 'date-time' }],
    ['an IPv4 address', { pattern: '^((25[0-5]|2[0-4]\\d|1?\\d?\\d)(\\.(?!$)|$)){4}$' }],
  ]
  test.each(patterns)('%s', async (_, rules) => {
    const schema = wordOf(rules)
    const value = await answered(app, schema)
    expect({ value, wrong: judgement(schema, value) }).toEqual({ value, wrong: [] })
  })

  test('any that some text has', async () => {
    const piece = fc.constantFrom('[a-f]', 'x', '\\d', '(?:ab|c)', '(?:yes|no)', '.')
    const count = fc.constantFrom('', '+', '*', '{2}', '{1,3}')
    const body = fc.array(fc.tuple(piece, count), { minLength: 1, maxLength: 5 })
    // What is looked for stands behind the body too, so that some text has it.
    const look = fc.constantFrom('', '(?=.*z)', '(?=.{12,}$)', '(?!.*zzzz)', '(?=.*\\d)')
    const pattern = fc
      .tuple(look, look, body)
      .map(([one, other, parts]) => `^${one}${other}${parts.map((part) => part.join('')).join('')}.*$`)
    await fc.assert(
      fc.asyncProperty(pattern, fc.integer({ min: 0, max: 30 }), async (pattern, minLength) => {
        const schema = wordOf({ pattern, minLength })
        const value = await answered(app, schema)
        expect({ pattern, value, wrong: judgement(schema, value) }).toEqual({ pattern, value, wrong: [] })
      }),
      { seed: 11, numRuns: runs(60) },
    )
  })

  test('with the same text each time', async () => {
    const schema = wordOf({ pattern: '^(?=.*q)[a-z]{8}$' })
    expect(await answered(appWith(), schema)).toEqual(await answered(appWith(), schema))
  })
})

describe('patterns for other engines', () => {
  const rows: [string, string, RegExp][] = [
    [
      'the e-mail address that everybody copies',
      '^[\\w-\\.]+@([\\w-]+\\.)+[\\w-]{2,4}$',
      /^[\w-.]+@([\w-]+\.)+[\w-]{2,4}$/,
    ],
    ['a brace', '^a{,3}$', /^a\{,3\}$/],
    ['a bracket', '^]$', /^\]$/],
    ['a number that is no group', '^\\8$', /^8$/],
  ]
  test.each(rows)('%s', async (_, pattern, expected) => {
    expect(await answered(app, wordOf({ pattern }))).toEqual({ word: expect.stringMatching(expected) })
  })

  test.each(['(?i)abc', '(?P<name>a)', '^(a', '[[:alpha:]--x]+('])(
    'one that cannot be read (%s) is no mistake of the schema',
    async (pattern) => {
      const { status, text } = await app.post(CHAT, chatOf(wordOf({ pattern })))
      expect({ status, text }).toEqual({
        status: 422,
        text: expect.stringMatching(/pattern cannot be read.*\/properties\/word\/pattern/),
      })
    },
  )
})

test('a reference to another document is no mistake of the schema', async () => {
  const { status, text } = await app.post(CHAT, chatOf({ $ref: 'https://json-schema.org/draft/2020-12/schema' }))
  expect({ status, text }).toEqual({ status: 422, text: expect.stringContaining('leads nowhere in this schema') })
})

describe('what cannot be made', () => {
  const impossible = wordOf({ pattern: '^a{3}$', maxLength: 2 })
  const rows: [string, object, RegExp][] = [
    ['a pattern', impossible, /no text of 0 to 2 characters matches .* \(at \/properties\/word\/pattern\)/],
    [
      'a pattern that is too large',
      wordOf({ pattern: '^(?:(?:a{99}){99}){99}$' }),
      /too large.*\/properties\/word\/pattern/,
    ],
    [
      'a range',
      wordOf({ type: 'integer', minimum: 5, maximum: 3 }),
      /at least 5 and at most 3 \(at \/properties\/word\/minimum\)/,
    ],
  ]
  test.each(rows)('is said with place and keyword: %s', async (_, schema, message) => {
    for (const [path, body, param] of [
      [CHAT, chatOf(schema), 'response_format.json_schema.schema'],
      [RESPONSES, responseOf(schema), 'text.format.schema'],
    ] as const) {
      const answer = await app.post(path, body)
      expect(answer.status).toBe(422)
      expect(answer.json().error).toMatchObject({
        code: 'sample_not_found',
        param,
        message: expect.stringMatching(message),
      })
    }
  })

  test('is no matter when a fixture answers', async () => {
    await Bun.write(
      join(folder, 'chat.completions', 'word.yaml'),
      'match: { user: "A word, please" }\nreply: { content: "word" }\n',
    )
    await Bun.write(
      join(folder, 'responses', 'word.yaml'),
      'match: { user: "A word, please" }\nreply: { content: "word" }\n',
    )
    const fixed = appWith({ fixtures: [folder] })
    for (const [path, body] of [
      [CHAT, chatOf(impossible)],
      [RESPONSES, responseOf(impossible)],
    ] as const) {
      const answer = await fixed.post(path, body)
      expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: expect.any(String) })
    }
  })

  test('a schema that is none is refused by every mode', async () => {
    const answer = await app.post(CHAT, chatOf(wordOf({ minLength: -1 })))
    expect(answer.status).toBe(400)
    expect(answer.json().error).toMatchObject({
      code: 'invalid_schema',
      message: expect.stringContaining('/properties/word/minLength'),
    })
  })
})
