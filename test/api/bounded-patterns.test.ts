// Patterns of fixtures and scenarios end, whatever they are and whatever they meet.
import { afterAll, expect } from 'bun:test'
import fc from 'fast-check'
import { boundedRegex, RegexLimit, regexBudget } from '../../src/lib/bounded-regex.ts'
import { globRegex } from '../../src/lib/match.ts'
import { testApps } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { property, runs, test } from '../support/property.ts'

const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

const put = (path: string, body: unknown, session: string) =>
  app.fetch(`/s/${session}/_understudy/${path}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const ask = (session: string, text: string, headers = {}) =>
  app.post(`/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user(text) }, headers)

const A = 'a'.repeat(60)
/** Patterns that the engine of the runtime needs 2^n steps for, with texts that they do not match. */
const EXPONENTIAL: [string, string][] = [
  ['^(a+)+$', `${A}!`],
  ['^(?:a|a)*$', `${A}!`],
  ['^(?:a|aa)+$', `${A}!`],
  ['^(?:\\w+\\s?)*$', `${'word '.repeat(20)}!`],
  ['(x+x+)+y', 'x'.repeat(60)],
  ['^(?:(?:a*)*)*$', `${A}!`],
  ['^(?=(?:a+)+$)', `${A}!`],
  ['^(?!(?:a+)+!)b', `${A}!`],
  ['(?<=^(?:a+)+)!!', `${A}!`],
  ['^([^@]+)*@$', A],
  ['^(?:a?){40}a{40}$', 'a'.repeat(30)],
]

test.each(EXPONENTIAL)('fixture pattern /%s/: matches in few steps', async (regex, text) => {
  const session = `f${Bun.hash(regex)}`
  const match = { operation: 'chat.completions', user: { regex } }
  expect((await put('fixtures', { match, reply: { content: 'Yes it is.' } }, session)).status).toBe(200)
  const answer = await ask(session, text)
  expect(answer.status).toBe(200)
  expect(answer.text).not.toContain('Yes it is.')
})

test.each(EXPONENTIAL)('rule pattern /%s/: matches in few steps', async (regex, text) => {
  const session = `r${Bun.hash(regex)}`
  const fault = { type: 'http-error', status: 503 }
  const rules = [
    { name: 'text', match: { text: { regex } }, fault },
    { name: 'header', match: { header: { 'x-name': { regex, ignore_case: true } } }, fault },
  ]
  expect((await put('scenario', { name: 'patterns', rules }, session)).status).toBe(200)
  expect((await ask(session, text, { 'x-name': text })).status).toBe(200)
})

test('pattern: stops at the step limit with an error that names it', async () => {
  const regex = '^(?:(?<x>a+)+)+\\k<x>!$'
  const match = { operation: 'chat.completions', user: { regex } }
  await put('fixtures', { match, reply: { content: 'x' } }, 'limit')
  const answer = await ask('limit', `${A}b`)
  expect(answer.status).toBe(400)
  expect(answer.json()).toMatchObject({ error: { code: 'pattern_limit', message: expect.stringContaining(regex) } })
  await put(
    'scenario',
    { name: 'x', rules: [{ name: 'r', match: { text: { regex } }, fault: { type: 'reset' } }] },
    'rule',
  )
  const faulty = await ask('rule', `${A}b`)
  expect(faulty.status).toBe(400)
  expect(faulty.json()).toMatchObject({ error: { code: 'pattern_limit' } })
})

test('fixture patterns: share the step limit of a call', async () => {
  const slow = (index: number) => ({
    match: { operation: 'chat.completions', user: { regex: `(?:a{0,9}){0,9}${index}$` } },
    reply: { content: 'x' },
  })
  await put(
    'fixtures',
    Array.from({ length: 200 }, (_, index) => slow(index)),
    'many',
  )
  const answer = await ask('many', 'a'.repeat(20_000))
  expect(answer.json()).toMatchObject({ error: { code: 'pattern_limit' } })
})

test('pattern: is rejected with its fixture when it nests repetitions', async () => {
  const match = { operation: 'chat.completions', user: { regex: '(?:a{1000}){1000}' } }
  const answer = await put('fixtures', { match, reply: { content: 'x' } }, 'large')
  expect(answer.status).toBe(400)
  expect(answer.text).toContain('is too large')
})

test('pattern: finds its match in a long text when it is plain', async () => {
  const match = { operation: 'chat.completions', user: { regex: 'weather in (?<city>\\p{L}+)' } }
  await put('fixtures', { match, reply: { content: 'Sunny in {{captures.city}}' } }, 'long')
  expect((await ask('long', `${'we '.repeat(60_000)}weather in Zürich?`)).text).toContain('Sunny in Zürich')
})

const part = fc.letrec((tie) => ({
  one: fc.constantFrom('a', 'b', '[ab]', '.', '\\b', '^', '$', '\\w', '\\s', 'é', '😀'),
  any: fc.oneof(
    { depthSize: 'small' },
    tie('one'),
    fc.tuple(tie('any'), tie('any')).map(([a, b]) => `${a}${b}`),
    fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(?:${a}|${b})`),
    fc
      .tuple(tie('any'), fc.constantFrom('*', '+', '?', '*?', '+?', '??', '{2}', '{1,3}'))
      .map(([a, b]) => `(?:${a})${b}`),
    fc.tuple(tie('any'), fc.constantFrom('=', '!', '<=', '<!')).map(([a, b]) => `(?${b}${a})`),
    tie('any').map((a) => `(${a})`),
  ),
})).any as fc.Arbitrary<string>

property("pattern: matches and captures as the runtime's RegExp does", () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'A', ' ', 'é', '😀', '\n'), { maxLength: 10 })
    .map((all) => all.join(''))
  fc.assert(
    fc.property(part, text, fc.boolean(), (raw, subject, ignoreCase) => {
      let count = 0
      const source = raw.replace(/\((?!\?)/g, () => `(?<g${count++}>`)
      const expected = new RegExp(source, ignoreCase ? 'iu' : 'u').exec(subject)
      const found = boundedRegex(source, { ignoreCase }).exec(subject, regexBudget())
      expect(found ?? null).toEqual(expected && { ...expected.groups })
    }),
    { numRuns: runs(2_000) },
  )
})

test("pattern: resolves back references as the runtime's RegExp does", () => {
  for (const [source, text] of [
    ['(?<q>["\']).*?\\k<q>', 'say "it\'s" now'],
    ['(?<l>.)\\k<l>', 'letter'],
    ['(?<=(?<w>\\w+) )\\k<w>', 'bye bye'],
    ['(?:(?<a>x)|(?<b>y))\\k<a>\\k<b>', 'xxy'],
  ] as const)
    expect(boundedRegex(source).exec(text, regexBudget())).toEqual({ ...new RegExp(source, 'u').exec(text)?.groups })
})

test('pattern: does not repeat empty parts forever', () => {
  expect(boundedRegex('^(?:){1000000000}a$').exec('a', { steps: 100 })).toEqual({})
})

property('glob: matches as its regular expression does', () => {
  const piece = fc.string({ unit: fc.constantFrom('a', 'b', '*', '.', '\n'), maxLength: 8 })
  fc.assert(
    fc.property(piece, piece, (glob, text) => {
      const expression = new RegExp(`^${glob.split('*').map(RegExp.escape).join('.*')}$`, 's')
      expect(globRegex(glob).test(text)).toBe(expression.test(text))
    }),
    { numRuns: runs(3_000) },
  )
})

test('glob: matches many stars in one pass', async () => {
  const glob = `${'*a'.repeat(40)}*b`
  expect(globRegex(glob).test('a'.repeat(200))).toBeFalse()
  const match = { operation: 'chat.completions', model: glob }
  await put('fixtures', { match, reply: { content: 'x' } }, 'glob')
  expect((await app.post(`/s/glob${CHAT}`, { model: `openai/${'a'.repeat(100)}`, ...user('Hi') })).status).toBeLessThan(
    500,
  )
})

test('expression: reports that it was given up', () => {
  expect(() => boundedRegex('^(?<x>a+)+\\k<x>!$').exec(A, { steps: 1_000 })).toThrow(RegexLimit)
})
