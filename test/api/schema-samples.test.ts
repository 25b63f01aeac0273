// Schemas in requests: a sample is made only when an answer is generated, and what cannot be made is said with its place.
import { afterAll, describe, expect } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { endWorkers } from '../../src/workers/pool.ts'
import { judgement } from '../support/ajv.ts'
import { type TestApp, testApps } from '../support/app.ts'
import { property, runs, test } from '../support/property.ts'

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

/** The pattern that semver.org recommends. */
const SEMVER =
  '^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$'

describe('sample of a pattern', () => {
  const patterns: [string, object][] = [
    ['a date', { pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$' }],
    ['a time', { pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?(Z|[+-]\\d{2}:\\d{2})$' }],
    ['a UUID', { pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' }],
    ['a phone number', { pattern: '^\\+?[1-9]\\d{1,14}$' }],
    ['a phone number in groups', { pattern: '^(\\+\\d{1,2}\\s)?\\(?\\d{3}\\)?[\\s.-]\\d{3}[\\s.-]\\d{4}$' }],
    ['a slug', { pattern: '^[a-z0-9]+(?:-[a-z0-9]+)+$' }],
    ['a key with a prefix', { pattern: '^sk-[A-Za-z0-9]{20}$' }],
    ['a prefix', { pattern: '^acme-', minLength: 20 }],
    ['an email address', { pattern: '^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}$' }],
    ['a semantic version', { pattern: SEMVER }],
    ['a color', { pattern: '^#(?:[0-9a-fA-F]{3}){1,2}$' }],
    ['a URL', { pattern: '^https?://[^\\s/$.?#].[^\\s]*$' }],
    ['an IBAN', { pattern: '^[A-Z]{2}\\d{2}[A-Z0-9]{11,30}$' }],
    ['an IPv4 address', { pattern: '^(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)$' }],
    ['a social security number', { pattern: '^(?!000|666|9\\d\\d)\\d{3}-(?!00)\\d{2}-(?!0000)\\d{4}$' }],
    ['two patterns that share texts', { allOf: [{ pattern: '^[a-z]+$' }, { pattern: '^.{5,8}$' }] }],
    ['a password', { pattern: '^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[!@#$%]).{12,24}$' }],
    ['a negative look-ahead', { pattern: '^(?!.*(?:admin|root))[a-z]{3,}$' }],
    ['a negative look-behind', { pattern: '^[a-z]{3}$(?<!abc)' }],
    ['word boundaries', { pattern: '\\bfoo\\b', minLength: 12 }],
    ['edges in a choice', { pattern: '(^|,)x+(,|$)' }],
    ['a back reference', { pattern: '^(["\'])[a-z]+\\1$' }],
    ['no character twice in a row', { pattern: '^(?!.*(.)\\1)[a-z]{10}$' }],
    ['a pattern and what is not one', { pattern: '^[a-c]{2}$', not: { pattern: '^a' } }],
    ['a pattern and its length', { pattern: '^[a-z]+$', minLength: 500, maxLength: 500 }],
    ['a long count', { pattern: '^[a-z]{2000}$' }],
    ['counts in counts', { pattern: '^(?:a{1,200}b){1,200}$' }],
    ['a date of a year', { pattern: '^2024-', format: 'date' }],
    ['a host address', { pattern: '@example\\.com$', format: 'email', minLength: 20 }],
    ['letters outside ASCII', { pattern: '^\\p{Lu}\\p{Ll}+[\\u{1F600}-\\u{1F64F}]$' }],
    ['one character four times', { pattern: '^(\\w)\\1{3}$' }],
    ['an element and its end tag', { pattern: '^<(\\w+)>.*</\\1>$' }],
    ['groups in groups, and back', { pattern: '^((a|b)\\2)+-\\1$' }],
    ['a forward reference', { pattern: '^(?<a>x\\k<b>)(?<b>y\\k<a>)\\k<b>$' }],
    ['a group that may be left out', { pattern: '^(?:(?<x>a)|(?<y>b))\\k<x>\\k<y>$' }],
    ['a character that may not follow itself', { pattern: '^(.)(?!\\1)(.)(?!\\2).$' }],
    ['a host name', { pattern: '^(?=.{1,253}$)(?:(?!-)[a-zA-Z0-9-]{1,63}(?<!-)\\.)+[a-zA-Z]{2,63}$' }],
    ['a very long text', { pattern: '^(ab){5000}$' }],
    ['a very long count, and more', { pattern: '^[a-z]{9000,}-$' }],
    ['times with a zone', { pattern: '\\+02:00$', format: 'date-time' }],
  ]
  test.each(patterns)('matches %s', async (_, rules) => {
    const schema = wordOf(rules)
    const value = await answered(app, schema)
    expect({ value, wrong: judgement(schema, value) }).toEqual({ value, wrong: [] })
  })

  const piece = fc.constantFrom('[a-f]', 'x', '\\d', '(?:ab|c)', '(?:yes|no)', '.', '(?:[A-Z]-)')
  const count = fc.constantFrom('', '+', '*', '{2}', '{1,3}')
  const body = fc
    .array(fc.tuple(piece, count), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.map((part) => part.join('')).join(''))

  property('matches any pattern without look-around', async () => {
    await fc.assert(
      fc.asyncProperty(body, fc.integer({ min: 0, max: 30 }), async (body, minLength) => {
        const schema = wordOf({ pattern: `^${body}.*$`, minLength })
        const value = await answered(app, schema)
        expect({ body, value, wrong: judgement(schema, value) }).toEqual({ body, value, wrong: [] })
      }),
      { seed: 11, numRuns: runs(60) },
    )
  })

  property('matches any pattern with look-around, or a fixture is requested', async () => {
    const look = fc.constantFrom('(?=.*z)', '(?=.{12,}$)', '(?!.*zzzz)', '(?=.*\\d)', '(?=.*zz)')
    const pattern = fc.tuple(look, look, body).map(([one, other, body]) => `^${one}${other}${body}.*$`)
    await fc.assert(
      fc.asyncProperty(pattern, async (pattern) => {
        const schema = wordOf({ pattern })
        const { status, text } = await app.post(CHAT, chatOf(schema))
        if (status === 422)
          return expect(text).toMatch(/was found that matches .* \(at \/properties\/word\/pattern\); a fixture/)
        const value = await answered(app, schema)
        expect({ pattern, value, wrong: judgement(schema, value) }).toEqual({ pattern, value, wrong: [] })
      }),
      { seed: 11, numRuns: runs(40) },
    )
  })

  test('is the same text each time', async () => {
    const schema = wordOf({ pattern: '^(?=.*q)[a-z]{8}$' })
    expect(await answered(appWith(), schema)).toEqual(await answered(appWith(), schema))
  })
})

describe('pattern of another engine', () => {
  const rows: [string, string, RegExp][] = [
    ['the widely copied e-mail pattern', '^[\\w-\\.]+@([\\w-]+\\.)+[\\w-]{2,4}$', /^[\w-.]+@([\w-]+\.)+[\w-]{2,4}$/],
    ['a brace', '^a{,3}$', /^a\{,3\}$/],
    ['a bracket', '^]$', /^\]$/],
    ['a number that is not a group', '^\\8$', /^8$/],
  ]
  test.each(rows)('is read as meant: %s', async (_, pattern, expected) => {
    expect(await answered(app, wordOf({ pattern }))).toEqual({ word: expect.stringMatching(expected) })
  })

  test.each(['(?i)abc', '(?P<name>a)', '^(a', '[[:alpha:]--x]+('])(
    'is reported as unreadable and not as an invalid schema: %s',
    async (pattern) => {
      const { status, text } = await app.post(CHAT, chatOf(wordOf({ pattern })))
      expect({ status, text }).toEqual({
        status: 422,
        text: expect.stringMatching(/pattern cannot be read.*\/properties\/word\/pattern/),
      })
    },
  )
})

test('reference to another document: is not an invalid schema', async () => {
  const { status, text } = await app.post(CHAT, chatOf({ $ref: 'https://json-schema.org/draft/2020-12/schema' }))
  expect({ status, text }).toEqual({ status: 422, text: expect.stringContaining('leads nowhere in this schema') })
})

describe('schema without a sample', () => {
  const impossible = wordOf({ pattern: '^a{3}$', maxLength: 2 })
  const rows: [string, object, RegExp][] = [
    [
      'a pattern',
      impossible,
      /no text of 0 to 2 characters was found that matches .* \(at \/properties\/word\/pattern\); a fixture can answer this call/,
    ],
    [
      'two patterns',
      wordOf({ allOf: [{ pattern: '^a' }, { pattern: 'b$' }] }),
      /matches "\^a" and "b\$" \(at \/properties/,
    ],
    ['an improbable look-ahead', wordOf({ pattern: '^(?=.*zebra)[a-z]+$' }), /matches "\^\(\?=\.\*zebra/],
    ['an improbable look-behind', wordOf({ pattern: '(?<=zebra )\\d+' }), /matches "\(\?<=zebra /],
    ['a choice with an edge', wordOf({ pattern: '^(\\d(\\.(?!$)|$)){9}$' }), /\(at \/properties\/word\/pattern\)/],
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
  test.each(rows)('is reported with place and keyword: %s', async (_, schema, message) => {
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

  test('does not matter when a fixture answers', async () => {
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

  test('is rejected by every mode when the schema is invalid', async () => {
    const answer = await app.post(CHAT, chatOf(wordOf({ minLength: -1 })))
    expect(answer.status).toBe(400)
    expect(answer.json().error).toMatchObject({
      code: 'invalid_schema',
      message: expect.stringContaining('/properties/word/minLength'),
    })
  })
})
