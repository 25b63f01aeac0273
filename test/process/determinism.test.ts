// The same seed on a virtual clock: two processes, the executable's and this one, give the same bytes, ids and traces to the same calls.
// Another seed does not.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { allOperations } from '../../src/endpoints/index.ts'
import { serveHere } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'
import { startServer } from '../support/server.ts'

const operations = allOperations()

const CHAT = '/v2/router/chat/completions'
const folder = folderWith({
  'fixtures/chat.completions/x.yaml': `
- match: { user: slow }
  reply: { content: 'one two three {{call.model}}', timing: { first_token: 300ms, tokens_per_second: 30 } }
- match: { user: tools }
  reply: { tool_calls: [{ name: look }, { name: look }] }
- match: { user: next }
  replies: [{ content: one }, { content: two }]
`,
})
afterAll(folder.remove)

const say = (content: string, more: object = {}) => ({
  model: 'openai/gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})
const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' }, when: { type: 'string', format: 'date-time' } },
  required: ['name', 'age', 'when'],
}
/** The body of each chat call, and the session it is made in. */
const chats: [unknown, string][] = [
  [say('Hello!'), 'default'],
  [say('Hello!', { stream: true, n: 2, stream_options: { include_usage: true } }), 'default'],
  [say('slow'), 'default'],
  [say('slow', { stream: true }), 'other'],
  [say('tools', { tools: [{ type: 'function', function: { name: 'look' } }], stream: true }), 'other'],
  [say('next'), 'other'],
  [say('next'), 'default'],
  [say('next'), 'other'],
  [say('Is there no fixture?', { logprobs: true, top_logprobs: 3, reasoning_effort: 'high' }), 'default'],
  [say('A person', { response_format: { type: 'json_schema', json_schema: { name: 'person', schema } } }), 'default'],
  [say('Hello!', { temperature: 5 }), 'default'],
  ['{ broken', 'default'],
]

/** Every call: the chat calls, then the examples of every operation that takes JSON. */
const calls = [
  ...chats.map(([body, session]) => ({ path: CHAT, body, session })),
  ...operations
    .filter(({ body }) => body === 'json')
    .flatMap(({ path, examples }) => Object.values(examples).map((body) => ({ path, body, session: 'examples' }))),
]

/** Everything that a client can see of these calls on a fresh server, in order. */
async function transcript(seed: number, start: typeof startServer | typeof serveHere) {
  const args = [
    '--seed',
    String(seed),
    '--clock',
    'virtual',
    '--db',
    ':memory:',
    '--fixtures',
    join(folder.path, 'fixtures'),
  ]
  const server = await start(args, { cwd: folder.path })
  const seen: { status: number; headers: [string, string][]; text: string }[] = []
  const see = async (path: string, session: string, body?: unknown) => {
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json', 'x-understudy-session': session }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: text }
    const response = await fetch(`${server.url}${path}`, init)
    const kept = [...response.headers].filter(([name]) => name !== 'date' && name !== 'x-understudy-instance')
    // The port is the one thing that is the machine's.
    const answer = (await response.text()).replaceAll(new URL(server.url).host, 'server')
    seen.push({ status: response.status, headers: kept, text: answer })
    return response.headers.get('x-understudy-trace')
  }
  const ids: [string | null, string][] = []
  for (const { path, body, session } of calls) ids.push([await see(path, session, body), session])
  for (const session of ['default', 'other', 'examples']) await see('/_understudy/traces', session)
  for (const [id, session] of ids) await see(`/_understudy/traces/${id}`, session)
  await server.stop()
  return seen
}

let first: Awaited<ReturnType<typeof transcript>>
let second: typeof first
let other: typeof first
beforeAll(async () => {
  ;[first, second, other] = await Promise.all([
    transcript(7, startServer),
    transcript(7, serveHere),
    transcript(8, serveHere),
  ])
}, 30_000)

test('determinism check: compares responses, errors and traces', () => {
  const statuses = first.map(({ status }) => status)
  expect(statuses.slice(0, chats.length)).toEqual([...Array(10).fill(200), 400, 400])
  expect(statuses.slice(chats.length)).toEqual(Array(calls.length - chats.length + 3 + calls.length).fill(200))
  expect(calls.length).toBeGreaterThan(chats.length + 10)
})

test('same seed: gives the same bytes in two processes', () => {
  expect(second).toEqual(first)
})

describe('another seed', () => {
  const idsIn = (all: typeof first) => all.flatMap(({ text }) => text.match(/01[0-9A-HJKMNP-TV-Z]{24}/g) ?? [])
  test('gives other ids', () => {
    const known = new Set(idsIn(first))
    expect(known.size).toBe(calls.length)
    expect(idsIn(other).filter((id) => known.has(id))).toEqual([])
  })
  test('gives the same texts at the same times', () => {
    const contents = (all: typeof first) =>
      all.slice(0, 10).flatMap(({ text }) => text.match(/"content":"[^"]*"/g) ?? [])
    expect(contents(other)).toEqual(contents(first))
    const times = (all: typeof first) => all.flatMap(({ text }) => text.match(/"started_at":"[^"]*"/g) ?? [])
    expect(times(other)).toEqual(times(first))
    expect(new Set(times(first)).size).toBeGreaterThan(2)
  })
})
