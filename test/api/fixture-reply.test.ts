// What a fixture replies: templates, every part of a reply, replies for successive calls, and timing on the session's clock.
import { afterAll, describe, expect, test } from 'bun:test'
import type { ChatCompletion } from '../../src/contract/router/chat.ts'
import { createTestApp, eventsOf } from '../support/app.ts'
import { folderWith } from '../support/fixtures.ts'

const CHAT = '/v2/router/chat/completions'
const folder = folderWith({
  'chat.completions/replies.yaml': `
- match: { user: { regex: '(?<item>\\S+) costs (?<price>[\\d.]+)' }, system: { regex: 'called (?<name>\\w+)' } }
  reply: { content: '{{captures.name}}: {{captures.item}} at {{captures.price}} & <no> escapes' }
- match: { user: { contains: describe the call } }
  reply:
    content: '{{call.model}}|{{call.metadata.tier}}|{{call.messages.0.content}}|{{prompt.user}}|{{prompt.system}}|{{prompt.turn}}|{{call.nothing}}'
- match: { user: { regex: 'look up (?<city>\\w+)' } }
  reply:
    tool_calls:
      - { name: look, arguments: { city: '{{captures.city}}', deep: [1, '{{captures.city}}!', null, true] } }
      - { name: raw, arguments: '{not json', id: call_mine }
      - { name: bare }
- match: { user: refuse }
  reply: { refusal: 'No, {{call.model}}.' }
- match: { user: think }
  reply: { reasoning: Let me see., content: Done., usage: { prompt_tokens: 7, completion_tokens: 11 } }
- match: { user: filtered }
  reply: { content: cut, finish_reason: content_filter }
- match: { user: next }
  replies: [{ content: one }, { content: two }, { refusal: three }]
- match: { user: other next }
  replies: [{ content: uno }, { content: dos }]
- match: { user: slow }
  reply: { content: one two three four five, timing: { first_token: 2s, tokens_per_second: 2 } }
- match: { user: slow start }
  reply: { content: one two three, timing: { first_token: 1500 } }
- match: { user: slow tokens }
  reply: { content: one two three four five, timing: { tokens_per_second: 0.5 } }
`,
})
const app = createTestApp({ fixtures: [folder.path] })
afterAll(() => {
  app.close()
  folder.remove()
})

const ask = (content: string, more: object = {}, headers: Record<string, string> = {}) =>
  app.post(CHAT, { model: 'openai/gpt-4o', messages: [{ role: 'user', content }], ...more }, headers)
async function choiceOf(...call: Parameters<typeof ask>) {
  const answer = await ask(...call)
  expect(answer.status).toBe(200)
  const { choices, usage } = answer.json() as unknown as ChatCompletion
  return { ...choices[0], usage }
}

describe('template in a fixture', () => {
  test('renders captures of the user and system message', async () => {
    const messages = [
      { role: 'system', content: 'You are called Ada.' },
      { role: 'user', content: 'The lamp costs 12.50' },
    ]
    const { message } = await choiceOf('', { messages })
    expect(message?.content).toBe('Ada: lamp at 12.50 & <no> escapes')
  })
  test('renders fields of the call, and nothing for missing ones', async () => {
    const { message } = await choiceOf('Please describe the call', { metadata: { tier: 'gold' } })
    expect(message?.content).toBe('openai/gpt-4o|gold|Please describe the call|Please describe the call||1|')
  })
  test('is rendered in tool call arguments and leaves other values unchanged', async () => {
    const { message, finish_reason } = await choiceOf('look up Paris')
    expect(finish_reason).toBe('tool_calls')
    expect(message?.content).toBeNull()
    const calls = message?.tool_calls ?? []
    expect(calls.map((call) => call.type === 'function' && [call.function.name, call.function.arguments])).toEqual([
      ['look', '{"city":"Paris","deep":[1,"Paris!",null,true]}'],
      ['raw', '{not json'],
      ['bare', '{}'],
    ])
    expect(calls[1]?.id).toBe('call_mine')
    expect(calls[0]?.id).toMatch(/^call_[0-9a-f]{16}$/)
  })
  test('is not rendered again inside a captured text', async () => {
    const { message } = await choiceOf('', {
      messages: [
        { role: 'system', content: 'called X' },
        { role: 'user', content: '{{call.model}} costs 1' },
      ],
    })
    expect(message?.content).toBe('X: {{call.model}} at 1 & <no> escapes')
    expect((await choiceOf('describe the call {{call.model}}')).message?.content).toContain('{{call.model}}')
  })
})

describe('fixture reply', () => {
  test('may be a refusal', async () => {
    const { message, finish_reason } = await choiceOf('refuse')
    expect({ ...message, finish_reason }).toMatchObject({
      content: null,
      refusal: 'No, openai/gpt-4o.',
      finish_reason: 'stop',
    })
  })
  test('may have reasoning and usage', async () => {
    const { message, usage } = await choiceOf('think')
    expect(message).toMatchObject({ reasoning: 'Let me see.', content: 'Done.' })
    expect(usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 11, total_tokens: 18 })
  })
  test('may set the finish reason, whole and streamed', async () => {
    expect((await choiceOf('filtered')).finish_reason).toBe('content_filter')
    const { text } = await ask('filtered', { stream: true })
    const events = eventsOf(text) as { choices: { finish_reason: string | null }[] }[]
    expect(events.at(-2)?.choices[0]?.finish_reason).toBe('content_filter')
  })
})

describe('fixture replies for successive calls', () => {
  const said = async (content: string, session: string) => {
    const { message } = await choiceOf(content, {}, { 'x-understudy-session': session })
    return message?.content ?? message?.refusal
  }
  test('are returned one by one, and the last one repeats', async () => {
    const all = []
    for (let call = 0; call < 5; call++) all.push(await said('next', 'first'))
    expect(all).toEqual(['one', 'two', 'three', 'three', 'three'])
  })
  test('are counted by session and fixture', async () => {
    const calls = [
      ['next', 'second'],
      ['next', 'third'],
      ['other next', 'second'],
      ['next', 'second'],
      ['other next', 'second'],
    ] as const
    const all = []
    for (const [content, session] of calls) all.push(await said(content, session))
    expect(all).toEqual(['one', 'one', 'uno', 'two', 'dos'])
  })
  test('continue when streamed', async () => {
    const headers = { 'x-understudy-session': 'fourth' }
    await ask('next', { stream: true }, headers)
    expect(await said('next', 'fourth')).toBe('two')
  })
})

describe('fixture timing', () => {
  // Five tokens: the first after `first_token`, four more at the pace. Milliseconds to the first content, and of the whole call.
  const rows: [string, number, number, number][] = [
    ['slow', 2000, 2000 + (4 / 2) * 1000, 5],
    ['slow start', 1500, 1500, 3],
    ['slow tokens', 0, (4 / 0.5) * 1000, 5],
  ]
  test.each(rows)(
    '%s: first content after %d ms, all after %d ms of the virtual clock',
    async (content, first, all, tokens) => {
      const streamed = await ask(content, { stream: true, stream_options: { include_usage: true } })
      const trace = await app.traceOf(streamed)
      expect(trace).toMatchObject({ duration_ms: all, attempts: [{ first_content_ms: first, duration_ms: all }] })
      expect(trace.usage).toMatchObject({ completion_tokens: tokens })
      const whole = await app.traceOf(await ask(content))
      expect(whole).toMatchObject({ duration_ms: all, attempts: [{ first_content_ms: all, duration_ms: all }] })
    },
  )
  test('continues where the last call of the session ended', async () => {
    const headers = { 'x-understudy-session': 'timed' }
    const [one, two] = [await ask('slow', {}, headers), await ask('slow', {}, headers)]
    const began = async (answer: typeof one) => (await app.traceOf(answer)).started_at
    expect([await began(one), await began(two)]).toEqual(['2025-01-01T00:00:00.000Z', '2025-01-01T00:00:04.000Z'])
  })
  test('runs in parallel for parallel calls', async () => {
    const headers = { 'x-understudy-session': 'together' }
    const answers = await Promise.all(['slow', 'slow start', 'slow'].map((content) => ask(content, {}, headers)))
    const traces = await Promise.all(answers.map((answer) => app.traceOf(answer)))
    expect(traces.map(({ started_at }) => started_at)).toEqual(Array(3).fill('2025-01-01T00:00:00.000Z'))
    expect(traces.map(({ duration_ms }) => duration_ms)).toEqual([4000, 1500, 4000])
  })
})
