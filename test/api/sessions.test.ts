// Sessions: how a call selects one, and that no two of them share anything.
import { afterAll, describe, expect, test } from 'bun:test'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { folderWith } from '../support/fixtures.ts'

const CHAT = '/v2/router/chat/completions'
const folder = folderWith({
  'chat.completions/x.yaml': `
- match: { user: next }
  replies: [{ content: one }, { content: two }]
- match: { user: wait }
  reply: { content: done, timing: { first_token: 90s } }
`,
})
const app = createTestApp({ fixtures: [folder.path] })
afterAll(() => {
  app.close()
  folder.remove()
})

interface Way {
  path?: string
  headers?: Record<string, string>
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const named = (name: string): Way => ({ headers: { 'x-understudy-session': name } })
const ask = (content: string, { path = '', headers = {} }: Way = {}, target = app) =>
  target.post(`${path}${CHAT}`, { model: 'openai/gpt-4o', messages: [{ role: 'user', content }] }, headers)
async function tracesOf({ path = '', headers = {} }: Way = {}): Promise<TraceRecord[]> {
  return (await app.fetch(`${path}/_understudy/traces`, { headers })).json().data as TraceRecord[]
}

const ways: [string, Way, string][] = [
  ['any token', { headers: bearer('sk-whatever') }, 'default'],
  ['a token session:<name>', { headers: bearer('session:blue') }, 'blue'],
  ['a token that ends in #<name>', { headers: bearer('sk-whatever#green') }, 'green'],
  ['a token that ends in #session:<name>', { headers: bearer('sk-whatever#session:mint') }, 'mint'],
  ['the header', named('red'), 'red'],
  ['the header over the token', { headers: { ...bearer('session:blue'), 'x-understudy-session': 'pink' } }, 'pink'],
  ['the path', { path: '/s/grey' }, 'grey'],
  [
    'the path over header and token',
    { path: '/s/grey2', headers: { ...bearer('x#y'), 'x-understudy-session': 'z' } },
    'grey2',
  ],
  ['the name of the default session', { path: '/s/default' }, 'default'],
  ['every character that a name may have', named('A-z_0.9/b'), 'A-z_0.9/b'],
  ['an escaped slash in the path', { path: '/s/a.test.ts%2Fpays' }, 'a.test.ts/pays'],
]
test.each(ways)('session selection: uses %s', async (_, way, session) => {
  const answer = await ask('Hello!', way)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-understudy-session')).toBe(session)
  const [newest] = await tracesOf(way)
  expect(newest).toMatchObject({ id: answer.headers.get('x-understudy-trace') as string, session })
})

const wrong: [string, Way][] = [
  ['a space', named('a b')],
  ['an empty part', { path: '/s/a%2F%2Fb' }],
  ['a part of two dots', named('a/../b')],
  ['an invalid escape', { path: '/s/a%2' }],
  ['121 letters', named('x'.repeat(121))],
  ['no characters', named('')],
  ['nothing after session:, as from an unset variable', { headers: bearer('session:') }],
  ['nothing after #', { headers: bearer('sk-whatever#') }],
  ['letters beyond ASCII', { path: '/s/gr%C3%BCn' }],
]
test.each(wrong)('session name with %s: is rejected', async (_, way) => {
  const { message, code } = errorOf((await ask('Hello!', way)).text, 400)
  expect(code).toBe('invalid_session')
  expect(message).toContain("must be 1 to 110 letters, digits, '.', '_', '-' or '/'")
})

describe('two sessions', () => {
  test('share no traces', async () => {
    const answer = await ask('Hello!', named('traces-a'))
    const id = answer.headers.get('x-understudy-trace')
    await ask('Hello!', named('traces-b'))
    for (const name of ['traces-a', 'traces-b']) {
      expect((await tracesOf(named(name))).map(({ session }) => session)).toEqual([name])
    }
    const read = async (way: Way) => (await app.fetch(`/_understudy/traces/${id}`, way)).status
    expect([await read(named('traces-a')), await read(named('traces-b')), await read({})]).toEqual([200, 404, 404])
  })
  test('share no replies of a sequence', async () => {
    const said = async (name: string) => {
      const { choices } = (await ask('next', named(name))).json() as { choices: [{ message: { content: string } }] }
      return choices[0].message.content
    }
    expect([await said('seq-a'), await said('seq-b'), await said('seq-a'), await said('seq-b')]).toEqual([
      'one',
      'one',
      'two',
      'two',
    ])
  })
  test('share no clock', async () => {
    await ask('wait', named('clock-a'))
    const begun = async (name: string) => (await app.traceOf(await ask('Hello!', named(name)))).started_at
    expect(await begun('clock-a')).toBe('2025-01-01T00:01:30.000Z')
    expect(await begun('clock-b')).toBe('2025-01-01T00:00:00.000Z')
  })
  test('share no ids', async () => {
    const ids = await Promise.all(
      ['ids-a', 'ids-b', 'ids-c'].map(async (name) => (await ask('Hello!', named(name))).json().id),
    )
    expect(new Set(ids).size).toBe(3)
  })
})

test('session: changes nothing in another session', async () => {
  const transcript = async (target: typeof app) => {
    const texts = []
    for (const content of ['next', 'wait', 'Hello!', 'nobody has a fixture for this', 'next']) {
      const answer = await ask(content, named('steady'), target)
      texts.push([answer.text, answer.headers.get('x-understudy-trace')])
    }
    return [...texts, (await target.fetch('/_understudy/traces', named('steady'))).text]
  }
  const alone = createTestApp({ fixtures: [folder.path] })
  const busy = createTestApp({ fixtures: [folder.path] })
  const noise = async () => {
    for (let call = 0; call < 20; call++) await ask(call % 2 ? 'next' : 'wait', named(`noise-${call % 3}`), busy)
  }
  const [quiet, loud] = await Promise.all([transcript(alone), transcript(busy), noise(), noise()])
  alone.close()
  busy.close()
  expect(loud).toEqual(quiet)
})

test('session limit: rejects new sessions while existing ones continue', async () => {
  const full = createTestApp()
  for (let number = 1; number < 1_000; number++) full.understudy.sessions.get(`n${number}`)
  const refused = await ask('Hello!', named('one-more'), full)
  const { code, message } = errorOf(refused.text, 429)
  expect(code).toBe('session_limit')
  expect(message).toContain('1000 sessions')
  expect((await ask('Hello!', named('n999'), full)).status).toBe(200)
  full.close()
})
