// Rules for fields that change from run to run, proposed from two recordings.
import { expect, test } from 'bun:test'
import { proposeRules, rulesText } from '../../src/cassettes/doctor.ts'
import type { Interaction } from '../../src/contract/core/cassette.ts'

const interaction = (value: object): Interaction => ({
  turn: 1,
  request: {
    ...{
      provider: 'openai',
      operation: 'chat.completions',
      model: 'gpt-4o',
      path: '/v1/chat/completions',
      headers: {},
    },
    body: { kind: 'json', value },
  },
  attempts: [{ end: 'complete', endedAt: 1, response: { status: 200, headers: [], at: 1, frames: [] } }],
})
const user = (content: string) => ({ messages: [{ role: 'user', content }] })
const diagnosed = (first: readonly object[], second: readonly object[]) =>
  proposeRules([{ session: 's', first: first.map(interaction), second: second.map(interaction) }], [])

test('doctor: proposes nothing for equal runs', () => {
  expect(diagnosed([user('a')], [user('a')])).toEqual({ rules: [], remaining: [] })
})

test('doctor: names a field whose whole value changes', () => {
  const { rules, remaining } = diagnosed(
    [{ ...user('a'), metadata: { run: 'x1' } }],
    [{ ...user('a'), metadata: { run: 'y2' } }],
  )
  expect(rules.map(({ rule, count }) => [rule, count])).toEqual([
    [{ name: 'metadata-run', path: 'metadata.run', operation: 'chat.completions' }, 1],
  ])
  expect(remaining).toEqual([])
})

test.each([
  ['a time', 'Now: 2026-11-26T10:15:00.123Z. Hello', 'Now: 2026-11-26T10:16:01.456Z. Hello'],
  ['a date', 'Today is 2026-11-26.', 'Today is 2026-11-27.'],
  ['a name of a month', 'It is Nov 26, 2026.', 'It is Dec 6, 2026.'],
  ['a UUID', 'run 35a65590-b5c9-4ed8-8451-d895925b7737', 'run a5a65590-b5c9-4ed8-8451-d895925b7739'],
  ['an id with a beginning', 'see run_8f3k2j5h6g7d8s9a', 'see run_1a2b3c4d5e6f7g8h'],
])('doctor: proposes a pattern for %s in a text', (_, first, second) => {
  const { rules, remaining } = diagnosed([user(first)], [user(second)])
  expect(rules.map(({ rule: { path, pattern } }) => [path, typeof pattern])).toEqual([
    ['messages[0].content', 'string'],
  ])
  expect(remaining).toEqual([])
  const pattern = new RegExp(rules[0]?.rule.pattern ?? '', 'gu')
  expect(first.replace(pattern, '')).toBe(second.replace(pattern, ''))
})

test('doctor: covers every item of a list where several change', () => {
  const ids = (name: string) => ({
    messages: ['a', 'b'].map((content) => ({ role: 'user', content, id: `${name}${content}` })),
  })
  expect(diagnosed([ids('x')], [ids('y')]).rules.map(({ rule }) => rule.path)).toEqual(['messages[*].id'])
})

test('doctor: reports requests that only one run made', () => {
  const { rules, remaining } = diagnosed([user('a'), user('b')], [user('a')])
  expect(rules).toEqual([])
  expect(remaining).toEqual(['session s: 1 of 2 requests of the first run have no equal in the second, which made 1'])
})

test('doctor: prints rules as YAML that the settings accept', () => {
  const { rules } = diagnosed([user('on 2026-11-26')], [user('on 2026-11-27')])
  const parsed = Bun.YAML.parse(rulesText(rules)) as { volatile: object[] }
  expect(parsed.volatile).toEqual(rules.map(({ rule }) => rule))
})
