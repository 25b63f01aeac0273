// Rules for fields that change from run to run, proposed from two recordings.
import { expect, test } from 'bun:test'
import { proposeRules, rulesText } from '../../src/cassettes/doctor.ts'
import type { Interaction } from '../../src/contract/core/cassette.ts'
import { answered } from '../support/cassettes.ts'

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

test('doctor: proposes nothing for parallel calls in another order', () => {
  const calls = ['a', 'b', 'c'].map((name) => user(`tell of ${name}`))
  expect(diagnosed(calls, calls.toReversed())).toEqual({ rules: [], remaining: [] })
})

test('doctor: compares parallel calls with the same ones of the other run', () => {
  const calls = (time: string) => ['apples', 'bees', 'cars'].map((name) => user(`At ${time}: tell of ${name}`))
  const { rules, remaining } = diagnosed(calls('2026-11-26T10:15:00Z'), calls('2026-11-27T11:16:01Z').toReversed())
  expect(rules.map(({ rule: { path }, examples }) => [path, examples.length])).toEqual([['messages[0].content', 1]])
  expect(rules[0]?.rule.pattern).toBe('\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z')
  expect(remaining).toEqual([])
})

test.each([
  ['whole', ({ text, called }: { text: string; called: object }) => JSON.stringify({ content: text, called })],
  [
    'streamed',
    ({ text, called }: { text: string; called: object }) =>
      [{ called }, ...text.split(/(?<= )/).map((content) => ({ choices: [{ index: 0, delta: { content } }] }))]
        .map((data) => `data: ${JSON.stringify(data)}\n\n`)
        .join(''),
  ],
])('doctor: proposes nothing for what a %s response contains, and a rule for what the program adds', (_, response) => {
  const calls = (id: string, text: string, own: string) => {
    const called = { id, function: { name: 'f', arguments: '{}' } }
    const bytes = new TextEncoder().encode(response({ text, called }))
    const messages = [
      ...user('a').messages,
      { role: 'assistant', content: text, tool_calls: [called] },
      { role: 'tool', tool_call_id: id, content: `{"order":"${own}"}` },
    ]
    return [{ ...interaction(user('a')), attempts: [answered({ at: 1, bytes })] }, interaction({ messages, run: own })]
  }
  const first = calls('call_Zs81kQ2w', 'Let me look: café open?', 'order_7fK2m9Qx')
  const second = calls('call_9xPl3vTt', 'One moment, "please".', 'order_1aB8c7Dy')
  const { rules, remaining } = proposeRules([{ session: 's', first, second }], [])
  expect(rules.map(({ rule: { path } }) => path).sort()).toEqual(['messages[2].content', 'run'])
  expect(remaining).toEqual([])
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
  ['a counter', 'build #9 of 12 lines', 'build #10 of 12 lines'],
  [
    'a temporary folder',
    'In /tmp/proj-Ab3dEf/src and /tmp/proj-Ab3dEf/b',
    'In /tmp/proj-xyzuvw/src and /tmp/proj-xyzuvw/b',
  ],
  ['fields of JSON', '{"ts":1764136000123,"id":"8f3a2b1c"}', '{"ts":1764136000999,"id":"0e9d8c7b"}'],
  ['a number at the start', '17 files changed', '4 files changed'],
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

test('doctor: proposes patterns, not whole texts, for messages that differ in several ways', () => {
  const texts = (time: string, folder: string, build: number) =>
    [`Today is ${time}.`, `Files in /tmp/proj-${folder}/src`, `build #${build} failed`].map(user)
  const { rules, remaining } = diagnosed(
    texts('2026-11-26T10:15:00Z', 'aB3dEf', 9),
    texts('2026-11-26T10:16:30Z', 'Zz9yXw', 10),
  )
  expect(remaining).toEqual([])
  expect(rules.map(({ rule: { path, pattern }, count, examples }) => [path, pattern, count, examples.length])).toEqual([
    [
      'messages[0].content',
      '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z|in \\/tmp\\/proj-[A-Za-z0-9_-]{6}|^build #\\d+',
      3,
      3,
    ],
  ])
})

test('doctor: proposes patterns of which none takes a part of what another one matches', () => {
  const texts = (id: string, hex: string, day: number, seconds: number) =>
    [
      `run ${hex}`,
      `id ${id}`,
      `on 2026-11-${day}`,
      `at 2026-11-26T10:15:0${day % 10}Z`,
      `s ${seconds}`,
      `ms ${seconds}123`,
    ].map(user)
  const { remaining } = diagnosed(
    texts('35a65590-b5c9-4ed8-8451-d895925b7737', '1149f4fc254f04a7', 26, 1764136000),
    texts('a5a65590-b5c9-4ed8-8451-d895925b9999', '86edb5e09db07408', 27, 1764136007),
  )
  expect(remaining).toEqual([])
})

test.each([
  ['Now 11:16:49 PM', 'Now 11:17:02 PM', 'Now 9:05:00 AM'],
  ['On Thu, 26 Nov 2026', 'On Fri, 27 Nov 2026', 'On Sat, 5 Dec 2026'],
])('doctor: proposes a pattern for %j that matches at other times, too', (first, second, later) => {
  const [proposed] = diagnosed([user(first)], [user(second)]).rules
  const pattern = new RegExp(proposed?.rule.pattern ?? '', 'gu')
  expect(later.replace(pattern, '')).toBe(first.replace(pattern, ''))
})

test('doctor: does not propose to ignore every message when only some are other texts', () => {
  const pair = (first: string, second: string) => ({ messages: [first, second].map((content) => ({ content })) })
  const { rules } = diagnosed([pair('Be good.', 'tell of dogs')], [pair('Be kind.', 'tell of cats')])
  expect(rules.map(({ rule: { path, pattern } }) => [path, pattern])).toEqual([
    ['messages[0].content', undefined],
    ['messages[1].content', undefined],
  ])
})

test('doctor: reports requests that only one run made', () => {
  const { rules, remaining } = diagnosed([user('a'), user('b')], [user('a')])
  expect(rules).toEqual([])
  expect(remaining).toEqual(['session s: 1 of 2 requests of the first run have no equal in the second, which made 1'])
})

test('doctor: prints rules as YAML that the settings accept', () => {
  const text = (day: number) =>
    `on 2026-11-${day} in a text of /tmp/folder-${day}-abcdefgh/and/more, build #${day} of the project`
  const { rules } = diagnosed([user(text(26)), user(`"${text(1)}`)], [user(text(27)), user(`"${text(2)}`)])
  expect(rules[0]?.rule.pattern?.length).toBeGreaterThan(80)
  const parsed = Bun.YAML.parse(rulesText(rules)) as { volatile: object[] }
  expect(parsed.volatile).toEqual(rules.map(({ rule }) => rule))
})
