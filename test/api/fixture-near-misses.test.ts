// A call that no fixture matches: it is answered by the generator, which says so, or refused with the nearest fixtures.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp, eventsOf } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { folderWith } from '../support/fixtures.ts'

const CHAT = '/v2/router/chat/completions'
const call = (content: string, more: object = {}) => ({
  model: 'openai/gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})

describe('--on-unmatched generate', () => {
  const app = createTestApp()
  afterAll(app.close)

  test('returns a generated response and says so in the header and the trace', async () => {
    const answer = await app.post(CHAT, call('Is anybody there?'))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-understudy-fixture')).toBe('generated')
    const { choices } = answer.json() as { choices: { message: { content: string } }[] }
    expect(choices[0]?.message.content).toContain('generated response to message 1')
    expect(choices[0]?.message.content).toContain('"Is anybody there?"')
    expect(await app.traceOf(answer)).toMatchObject({
      status: 200,
      outcome: 'succeeded',
      fixture: null,
      generated: true,
    })
  })
  test('generates the same text for the same call, whole and streamed, and another for another call', async () => {
    const textOf = async (body: object) => {
      const { choices } = (await app.post(CHAT, body)).json() as { choices: { message: { content: string } }[] }
      return choices[0]?.message.content
    }
    const text = await textOf(call('Who is it?'))
    expect(await textOf(call('Who is it?'))).toBe(text)
    expect(await textOf(call('Who was it?'))).not.toBe(text)
    const events = eventsOf((await app.post(CHAT, call('Who is it?', { stream: true }))).text)
    const chunks = events.slice(0, -1) as { choices: { delta: { content?: string } }[] }[]
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(text as string)
  })
})

describe('--on-unmatched error', () => {
  const folder = folderWith({
    'chat.completions/near.yaml': `
- { name: gpt, match: { model: openai/gpt-4o-mini }, reply: { content: x } }
- { name: streamed, match: { stream: true }, reply: { content: x } }
- { name: late, match: { turn: 3, user: "Good night" }, reply: { content: x } }
- { name: night, match: { model: openai/*, user: { contains: night } }, reply: { content: x } }
- { name: gold, match: { user: { regex: '^Good' }, body: { metadata.tier: gold } }, reply: { content: x } }
- { name: tooled, match: { tools: [look, send] }, reply: { content: x } }
`,
  })
  const app = createTestApp({ fixtures: [folder.path], on_unmatched: 'error', shipped_fixtures: true })
  const empty = createTestApp({ on_unmatched: 'error', shipped_fixtures: true })
  afterAll(() => {
    app.close()
    empty.close()
    folder.remove()
  })

  const rows: [string, object, string[]][] = [
    [
      'two conditions of which one differs, then one that differs alone',
      call('Good morning', { metadata: { tier: 'silver' } }),
      [
        'night (user: expected contains "night", got "Good morning")',
        'gold (body.metadata.tier: expected "gold", got "silver")',
        'gpt (model: expected "openai/gpt-4o-mini", got "openai/gpt-4o")',
      ],
    ],
    [
      'a missing field and a turn',
      call('Good night', { model: 'groq/some-model' }),
      [
        'late (turn: expected 3, got 1)',
        'night (model: expected "openai/*", got "groq/some-model")',
        'gold (body.metadata.tier: expected "gold", got nothing)',
      ],
    ],
    [
      'a tool that is not offered',
      call('x', { model: 'groq/some-model', stream: false, tools: [{ type: 'function', function: { name: 'look' } }] }),
      [
        'gpt (model: expected "openai/gpt-4o-mini", got "groq/some-model")',
        'streamed (stream: expected true, got false)',
        'tooled (tools: expected a tool named send, got ["look"])',
      ],
    ],
  ]
  test.each(rows)('names the nearest fixtures: %s', async (_, body, said) => {
    const answer = await app.post(CHAT, body)
    expect(answer.status).toBe(404)
    const error = errorOf(answer.text, 404)
    expect(error).toMatchObject({ code: 'fixture_not_found', type: 'not_found_error', param: null })
    expect(error.message).toBe(`no fixture matches this call; nearest: ${said.join('; ')}`)
  })
  test('lists all conditions that differ', async () => {
    const folder = folderWith({
      'chat.completions/x.yaml': 'match: { model: openai/*, turn: 2, system: { regex: "^A" } }\nreply: { content: x }',
    })
    const one = createTestApp({ fixtures: [folder.path], on_unmatched: 'error', shipped_fixtures: true })
    const { message } = errorOf((await one.post(CHAT, call('x'))).text, 404)
    one.close()
    folder.remove()
    expect(message).toContain('x (system: expected to match /^A/, got "", turn: expected 2, got 1)')
  })
  test('records the call as an HTTP error', async () => {
    const answer = await app.post(CHAT, call('x'))
    const trace = await app.traceOf(answer)
    expect(trace).toMatchObject({ status: 404, outcome: 'http_error', fixture: null, generated: false, response: null })
    expect(trace.error).toMatchObject({ code: 'fixture_not_found' })
    expect(trace.request).toEqual(call('x'))
  })
  test('rejects a streamed call the same way before the stream', async () => {
    const answer = await empty.post(CHAT, call('x', { stream: true }))
    expect(answer.headers.get('content-type')).toStartWith('application/json')
    expect(errorOf(answer.text, 404).code).toBe('fixture_not_found')
  })
  test('does not affect calls that match a fixture', async () => {
    expect((await app.post(CHAT, call('Good night'))).headers.get('x-understudy-fixture')).toBe('night')
    expect((await empty.post(CHAT, call('Hello!'))).status).toBe(200)
  })
})
