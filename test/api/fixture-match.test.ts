// Which calls a fixture matches: every key of `match`, and which of several fixtures is first.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { folderWith } from '../support/fixtures.ts'

const CHAT = '/v2/router/chat/completions'
const ends: (() => void)[] = []
afterAll(() => {
  for (const end of ends) end()
})
/** An application over these fixture files, in the order of the folders. */
function appWith(...folders: Record<string, unknown>[]) {
  const made = folders.map(folderWith)
  const app = createTestApp({ fixtures: made.map(({ path }) => path), shipped_fixtures: true })
  ends.push(app.close, ...made.map(({ remove }) => remove))
  return app
}
const user = (content: unknown) => ({ role: 'user', content })
const tool = (name: string) => ({ type: 'function', function: { name } })
const toolTurn = [
  user('weather?'),
  { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: 'c1', content: '21 degrees' },
]

/** What `match` says, the call, and whether it is answered: the call is "Good morning" to GPT-4o unless it says otherwise. */
const rows: [string, object, object, boolean][] = [
  ['no conditions', {}, {}, true],
  ['operation', { operation: 'chat.completions' }, {}, true],
  ['model, full name', { model: 'openai/gpt-4o' }, {}, true],
  ['model, another one', { model: 'openai/gpt-4' }, {}, false],
  ['model, glob', { model: 'openai/*' }, {}, true],
  ['model, glob in the middle', { model: '*/gpt-*o' }, {}, true],
  ['model, glob of another provider', { model: 'anthropic/*' }, {}, false],
  ['model, a dot is a dot', { model: 'openai/gpt.4o' }, {}, false],
  ['user, plain text is all of it', { user: 'Good morning' }, {}, true],
  ['user, plain text is not a part', { user: 'Good' }, {}, false],
  ['user, equals', { user: { equals: 'Good morning' } }, {}, true],
  ['user, equals with its case', { user: { equals: 'good morning' } }, {}, false],
  ['user, equals without case', { user: { equals: 'GOOD MORNING', ignore_case: true } }, {}, true],
  ['user, contains', { user: { contains: 'morn' } }, {}, true],
  ['user, contains with its case', { user: { contains: 'Morn' } }, {}, false],
  ['user, contains without case', { user: { contains: 'MORN', ignore_case: true } }, {}, true],
  ['user, regex', { user: { regex: '^Good \\w+$' } }, {}, true],
  ['user, regex with its case', { user: { regex: '^good' } }, {}, false],
  ['user, regex without case', { user: { regex: '^good', ignore_case: true } }, {}, true],
  ['user, regex of letters in any script', { user: { regex: '^\\p{L}+$' } }, { messages: [user('Grüße')] }, true],
  ['user, the last one', { user: 'second' }, { messages: [user('first'), user('second')] }, true],
  ['user, not the first one', { user: 'first' }, { messages: [user('first'), user('second')] }, false],
  [
    'user, parts of a message',
    { user: 'Good day' },
    { messages: [user(['Good ', 'day'].map((text) => ({ type: 'text', text })))] },
    true,
  ],
  ['user, before a tool result', { user: 'weather?' }, { messages: toolTurn }, true],
  [
    'system',
    { system: { contains: 'terse' } },
    { messages: [{ role: 'system', content: 'Be terse.' }, user('x')] },
    true,
  ],
  [
    'system, as developer',
    { system: 'Be terse.' },
    { messages: [{ role: 'developer', content: 'Be terse.' }, user('x')] },
    true,
  ],
  ['system, missing', { system: { contains: 'terse' } }, {}, false],
  ['body, a field', { body: { temperature: 0.5 } }, { temperature: 0.5 }, true],
  ['body, a field with another value', { body: { temperature: 0.5 } }, { temperature: 0.6 }, false],
  ['body, a missing field', { body: { temperature: 0.5 } }, {}, false],
  ['body, a path', { body: { 'metadata.tier': 'gold' } }, { metadata: { tier: 'gold' } }, true],
  ['body, a path with a number', { body: { 'messages[0].role': 'user' } }, {}, true],
  ['body, a path into nothing', { body: { 'metadata.tier.x': 'gold' } }, {}, false],
  ['body, a whole list', { body: { stop: ['a', 'b'] } }, { stop: ['a', 'b'] }, true],
  ['body, a list in another order', { body: { stop: ['b', 'a'] } }, { stop: ['a', 'b'] }, false],
  [
    'body, a field of the service options',
    { body: { 'svc.identity.id': 'u1' } },
    { svc: { identity: { id: 'u1' } } },
    true,
  ],
  ['body, an unknown field', { body: { extra: { deep: 1 } } }, { extra: { deep: 1 } }, true],
  ['body, two fields of which one differs', { body: { seed: 1, user: 'u' } }, { seed: 1, user: 'v' }, false],
  ['tools', { tools: ['look'] }, { tools: [tool('look'), tool('send')] }, true],
  ['tools, all of them', { tools: ['look', 'send'] }, { tools: [tool('look')] }, false],
  ['tools, none offered', { tools: ['look'] }, {}, false],
  [
    'tools, offered but disabled by tool_choice none',
    { tools: ['look'] },
    { tools: [tool('look')], tool_choice: 'none' },
    false,
  ],
  ['tool_result', { tool_result: true }, { messages: toolTurn }, true],
  ['tool_result, none', { tool_result: true }, {}, false],
  ['tool_result: false', { tool_result: false }, {}, true],
  ['tool_result: false with a tool result', { tool_result: false }, { messages: toolTurn }, false],
  ['output: text', { output: 'text' }, {}, true],
  ['output: text, but JSON', { output: 'text' }, { response_format: { type: 'json_object' } }, false],
  ['output: json', { output: 'json' }, { response_format: { type: 'json_object' } }, true],
  ['output: json, but text', { output: 'json' }, {}, false],
  ['output: tool', { output: 'tool' }, { tools: [tool('look')], tool_choice: 'required' }, true],
  ['output: tool, but none is forced', { output: 'tool' }, { tools: [tool('look')] }, false],
  ['stream', { stream: true }, { stream: true }, true],
  ['stream for a whole request', { stream: true }, {}, false],
  ['stream: false', { stream: false }, {}, true],
  ['stream: false for a streamed request', { stream: false }, { stream: true }, false],
  ['turn', { turn: 2 }, { messages: [user('a'), { role: 'assistant', content: 'b' }, user('c')] }, true],
  ['turn, an earlier one', { turn: 2 }, {}, false],
  ['several keys that match', { model: 'openai/*', user: { contains: 'morning' }, turn: 1, stream: false }, {}, true],
  [
    'several keys of which one does not match',
    { model: 'openai/*', user: { contains: 'evening' }, turn: 1 },
    {},
    false,
  ],
]
test.each(rows)('fixture match: is right for %s', async (_, match, call, answered) => {
  const app = appWith({ 'chat.completions/under-test.json': { match, reply: { content: 'found' } } })
  const body = { model: 'openai/gpt-4o', messages: [user('Good morning')], ...call }
  const answer = await app.post(CHAT, body)
  expect(answer.status).toBe(200)
  const by = answered ? 'chat.completions/under-test' : 'generated'
  expect(answer.headers.get('x-understudy-fixture')).toBe(by)
  expect(await app.traceOf(answer)).toMatchObject({ fixture: answered ? by : null, generated: !answered })
})

describe('first matching fixture', () => {
  const says = (content: string, match: object = {}) => ({ match, reply: { content } })
  const ask = async (app: ReturnType<typeof appWith>, content = 'Hello!') => {
    const answer = await app.post(CHAT, { model: 'openai/gpt-4o', messages: [user(content)] })
    return answer.headers.get('x-understudy-fixture')
  }

  test('is chosen in the order of a file', async () => {
    const file = [says('one', { user: 'no' }), says('two', { user: 'Hello!' }), says('three')]
    const app = appWith({ 'chat.completions/list.json': file })
    expect([await ask(app), await ask(app, 'no'), await ask(app, 'else')]).toEqual([
      'chat.completions/list[1]',
      'chat.completions/list[0]',
      'chat.completions/list[2]',
    ])
  })
  test('is chosen in the order of file names', async () => {
    const app = appWith({ 'chat.completions/b.yaml': says('b'), 'chat.completions/a.yml': says('a') })
    expect(await ask(app)).toBe('chat.completions/a')
  })
  test('is chosen in the order of the given folders', async () => {
    const app = appWith({ 'chat.completions/z.json': says('z') }, { 'chat.completions/a.json': says('a') })
    expect(await ask(app)).toBe('chat.completions/z')
  })
  test('is chosen from given fixtures before shipped ones', async () => {
    expect(await ask(appWith({}))).toBe('chat.completions/greeting')
    expect(await ask(appWith({ 'chat.completions/mine.json': says('mine', { user: 'Hello!' }) }))).toBe(
      'chat.completions/mine',
    )
  })
  test('is chosen by the operation that the fixture names, whatever its folder', async () => {
    const app = appWith({ 'anything/mine.json': says('mine', { operation: 'chat.completions' }) })
    expect(await ask(app)).toBe('chat.completions/mine')
  })
  test('is named by its own name in headers and traces', async () => {
    const app = appWith({ 'chat.completions/mine.json': { name: 'sunrise', ...says('mine') } })
    expect(await ask(app)).toBe('sunrise')
  })
})
