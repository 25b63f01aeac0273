// The inspector's page: who gets it, what it may do, how large it is, and the data of its lists.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'
import type { CallRow } from '../../src/contract/core/call-row.ts'
import { createTestApp, SHIPPED_WORKSPACE, send, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'

let app: TestApp
beforeAll(() => {
  app = createTestApp({ ...SHIPPED_WORKSPACE, token: ['secret'] })
})
afterAll(() => app.close())
const secret = { authorization: 'Bearer secret' }
const asBrowser = { headers: { accept: 'text/html,application/xhtml+xml' } }

test('inspector: is served to browsers at / and to all at its own path, while programs get JSON at /', async () => {
  for (const [path, init] of [
    ['/', asBrowser],
    ['/_understudy/ui', {}],
  ] as const) {
    const { status, headers, text } = await send(app, path, init)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(text).toStartWith('<!doctype html>')
  }
  expect(errorOf((await send(app, '/', { headers: secret })).text, 404).message).toContain('there is no path /')
  expect((await send(app, '/', { ...asBrowser, method: 'POST' })).status).toBe(401)
})

test('inspector: begins with the newest calls only for those who have a token', async () => {
  const other = createTestApp({ token: ['secret'] })
  try {
    for (const text of ['One', 'Two']) await other.post(CHAT, { model: 'openai/gpt-4o', ...user(text) }, secret)
    const path = '/_understudy/ui/calls'
    expect(errorOf((await other.fetch(path)).text, 401).message).toContain('token')
    const first = await other.fetch(path, { headers: secret })
    const whole = await other.fetch('/_understudy/calls?sessions=all&limit=100', { headers: secret })
    const { data, next } = whole.json() as { data: CallRow[]; next: string | null }
    expect(data.map(({ seq }) => seq)).toEqual([2, 1])
    expect(first.json()).toEqual({ data, next })
    expect(errorOf((await send(other, path, { method: 'POST', headers: secret })).text, 404).message).toContain(path)
  } finally {
    await other.close()
  }
})

test('inspector: is small, calls no other host, and has a policy that says so', async () => {
  const response = await app.understudy.app.fetch(
    new Request('http://localhost/', { headers: { ...asBrowser.headers, 'accept-encoding': 'gzip, br' } }),
  )
  expect(response.headers.get('content-encoding')).toBe('gzip')
  const sent = new Uint8Array(await response.arrayBuffer())
  expect(sent.length).toBeLessThan(350_000)
  const text = gunzipSync(sent).toString()
  expect(text.length).toBeLessThan(1_000_000)
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
  expect(text).not.toMatch(/(?:src|href)="(?!data:)[^"#]/)
})

test('inspector: lists calls in brief, in pages over all sessions', async () => {
  for (const session of ['a', 'b', 'c']) {
    for (const text of ['Hello!', 'Good <b>day</b>!', 'Bye!'])
      await app.post(`/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user(text) }, secret)
  }
  const all = async (query: string, session = 'default') => {
    const rows: CallRow[] = []
    for (let cursor: string | null = '', pages = 0; cursor !== null && pages < 20; pages++) {
      const from: string = cursor && `&cursor=${encodeURIComponent(cursor)}`
      const answer = await app.fetch(`/s/${session}/_understudy/calls?${query}${from}`, { headers: secret })
      const page = answer.json() as { data: CallRow[]; next: string | null }
      rows.push(...page.data)
      cursor = page.next
    }
    return rows.map(({ session: name, seq }) => `${name}${seq}`).join(' ')
  }
  const whole = 'a3 a2 a1 b3 b2 b1 c3 c2 c1'
  for (const limit of [1, 2, 3, 4, 1000]) expect(await all(`sessions=all&limit=${limit}`)).toBe(whole)
  expect(await all('limit=2', 'b')).toBe('b3 b2 b1')
  expect(await all('above=2', 'b')).toBe('b3')
  expect(await all('sessions=all&limit=2&text=good%20%3CB')).toBe('a2 b2 c2')
  const refused = await app.fetch('/_understudy/calls?cursor=x', { headers: secret })
  expect(errorOf(refused.text, 400).message).toContain('cursor "x" is not valid')
})

test('call rows: contain the prompt and the requested model, however long the request is', async () => {
  const long = `${'word '.repeat(40_000)}the end`
  const requests = [
    { model: 'gpt-4o', messages: [{ role: 'system', content: 'Be brief.' }, ...user('Good\n morning').messages] },
    { model: 'nobody/x', ...user('Hi') },
    { model: 'gpt-4o', ...user(long) },
  ]
  for (const request of requests) await app.post(`/s/brief${CHAT}`, request, secret)
  const listed = await app.fetch('/s/brief/_understudy/calls', { headers: secret })
  const rows = (listed.json() as { data: CallRow[] }).data.toReversed()
  const [whole, unknown, cut] = rows.map(({ prompt, requested_model }) => [prompt, requested_model])
  expect(whole).toEqual(['Good morning', 'gpt-4o'])
  expect(unknown).toEqual(['Hi', 'nobody/x'])
  expect(cut).toEqual([`${long.slice(0, 119)}…`, 'gpt-4o'])
  expect(rows[1]?.error).toContain('nobody/x')
})

test('record counts: contain the records of a session by kind, seeds too, and no fault applies to them', async () => {
  const rules = [{ name: 'all', at: 'workspace', fault: { type: 'http-error', status: 500 } }]
  const get = async (path: string) => (await app.fetch(`/s/counted${path}`, { headers: secret })).json()
  const counts = async () => (await get('/_understudy/records')).counts as Record<string, number>
  expect((await counts()).tool).toBe(((await get('/v2/tools')).data as unknown[]).length)
  const before = (await counts()).dataset ?? 0
  await app.post('/s/counted/v2/datasets', { display_name: 'Own', path: 'Default' }, secret)
  const active = { headers: { ...secret, 'content-type': 'application/json' }, method: 'PUT' }
  await app.fetch('/s/counted/_understudy/scenario', { ...active, body: JSON.stringify({ name: 'down', rules }) })
  expect((await app.fetch('/s/counted/v2/datasets', { headers: secret })).status).toBe(500)
  expect((await counts()).dataset).toBe(before + 1)
})
