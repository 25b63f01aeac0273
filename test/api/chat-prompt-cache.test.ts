// Prompt caching: text marked with cache_control is written once, then read, and expires; only usage shows it.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { messageOf, refused, streamed, user, whole } from '../support/chat.ts'

const app = createTestApp()
afterAll(app.close)

const MINUTE = 60_000
const LONG = 'The handbook of the theatre. '.repeat(20)
const text = (content: string, ttl?: string) => ({
  type: 'text',
  text: content,
  ...(ttl && { cache_control: { type: 'ephemeral', ...(ttl === 'default' ? {} : { ttl }) } }),
})
const system = (ttl?: string, content = LONG) => ({ role: 'system', content: [text(content, ttl)] })
const say = (role: string, content: string, ttl?: string) => ({ role, content: [text(content, ttl)] })

async function usageOf(messages: object[], { session, ...patch }: { session: string } & Record<string, unknown>) {
  const headers = { 'x-understudy-session': session }
  const answer = await app.post('/v2/router/chat/completions', { model: 'openai/gpt-4o', messages, ...patch }, headers)
  expect(answer.status).toBe(200)
  const { prompt_tokens, prompt_tokens_details: details } = (answer.json() as { usage: Record<string, unknown> })
    .usage as { prompt_tokens: number; prompt_tokens_details: Record<string, number> }
  return { prompt: prompt_tokens, read: details.cached_tokens ?? 0, written: details.cache_creation_tokens ?? 0 }
}
const passes = (session: string, milliseconds: number) => app.understudy.sessions.get(session).clock.sleep(milliseconds)

test('prompt cache: caches nothing when nothing is marked', async () => {
  for (let call = 0; call < 2; call++) {
    expect(await usageOf([system(), say('user', 'Hello')], { session: 'none' })).toMatchObject({ read: 0, written: 0 })
  }
})

test('prompt cache: is written by the first call and read by the next, whatever follows the marker', async () => {
  const session = 'twice'
  const first = await usageOf([system('5m'), say('user', 'One?')], { session })
  expect(first).toMatchObject({ read: 0 })
  expect(first.written).toBeGreaterThan(100)
  expect(first.prompt).toBeGreaterThan(first.written)
  for (const question of ['One?', 'Two?', 'Three?']) {
    const later = await usageOf([system('5m'), say('user', question)], { session })
    expect(later).toMatchObject({ read: first.written, written: 0 })
  }
})

test('prompt cache: reads what was written and writes the rest when the marker moves along', async () => {
  const session = 'conversation'
  const first = await usageOf([system(), say('user', 'One?', '5m')], { session })
  const longer = [system(), say('user', 'One?'), say('assistant', 'Yes.'), say('user', 'Two?', '5m')]
  const second = await usageOf(longer, { session })
  expect(second.read).toBe(first.written)
  expect(second.written).toBeGreaterThan(5)
  expect(await usageOf(longer, { session })).toMatchObject({ read: second.read + second.written, written: 0 })
})

test('prompt cache: can be read from each marker', async () => {
  const session = 'marks'
  const { written } = await usageOf([system('1h'), say('user', 'One?', '5m')], { session })
  const other = await usageOf([system('1h'), say('user', 'Another?', '5m')], { session })
  expect(other.read).toBeGreaterThan(100)
  expect(other.read).toBeLessThan(written)
})

describe('prompt cache with a different prefix', () => {
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const rows: [string, object[], object][] = [
    ['the text', [system('5m', `${LONG}.`)], {}],
    ['the role', [{ ...system('5m'), role: 'developer' }], {}],
    ['the model', [system('5m')], { model: 'openai/gpt-4.1' }],
    ['the tools', [system('5m')], { tools }],
    ['the session', [system('5m')], { session: 'stranger' }],
  ]
  test.each(rows)('is not read after a change to %s', async (_, messages, patch) => {
    const session = 'same'
    await usageOf([system('5m'), say('user', 'x')], { session })
    const usage = await usageOf([...messages, say('user', 'x')], { session, ...patch })
    expect(usage).toMatchObject({ read: 0 })
    expect(usage.written).toBeGreaterThan(100)
  })
})

describe('prompt cache expiry', () => {
  const rows: [string, number][] = [
    ['default', 5 * MINUTE],
    ['5m', 5 * MINUTE],
    ['1h', 60 * MINUTE],
  ]
  test.each(rows)('happens after the ttl %s and not before', async (ttl, lifetime) => {
    const session = `time-${ttl}`
    const messages = [system(ttl), say('user', 'x')]
    const { written } = await usageOf(messages, { session })
    await passes(session, lifetime - 1)
    expect(await usageOf(messages, { session })).toMatchObject({ read: written, written: 0 })
    // Reading made it live on.
    await passes(session, lifetime - 1)
    expect(await usageOf(messages, { session })).toMatchObject({ read: written, written: 0 })
    await passes(session, lifetime)
    expect(await usageOf(messages, { session })).toMatchObject({ read: 0, written })
  })
})

test('prompt cache: is written and read by streamed calls, and not written by rejected ones', async () => {
  const messages = [system('5m', `streamed ${LONG}`), say('user', 'x')]
  await refused(app, { messages, n: 0 })
  const details = async () => (await streamed(app, { messages })).chunks.at(-1)?.usage?.prompt_tokens_details
  const first = await details()
  expect(first).toMatchObject({ cached_tokens: 0 })
  expect(await details()).toMatchObject({ cached_tokens: first?.cache_creation_tokens, cache_creation_tokens: 0 })
})

test('prompt cache: accepts markers on images and files without changing the response', async () => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const parts = [
    { type: 'image_url', image_url: { url: 'http://x.invalid/a.png' }, ...mark },
    { type: 'file', file: { uri: 'http://x.invalid/a.pdf' }, ...mark },
    { type: 'text', text: 'What?' },
  ]
  const [one, two] = [await whole(app, user(parts)), await whole(app, user(parts))]
  expect(two.completion.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(765)
  expect(messageOf(two.completion)).toEqual(messageOf(one.completion))
})

test.each([{ type: 'forever' }, { type: 'ephemeral', ttl: '2h' }, {}, 'yes'])(
  'prompt cache: rejects %p as a marker',
  async (cache_control) => {
    const { param } = await refused(app, user([{ type: 'text', text: 'x', cache_control }]))
    expect(param).toStartWith('messages[0].content[0].cache_control')
  },
)
