// Access: tokens, hosts, and pages of other origins.
import { afterAll, describe, expect, test } from 'bun:test'
import { withClientTime } from '../../src/cli/run/client-time.ts'
import { countingRequests } from '../../src/cli/run/suite.ts'
import { send, testApps } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'

const CHAT = '/v2/router/chat/completions'
const body = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'hello' }] }
const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

describe('--token', () => {
  const closed = appWith({ token: ['secret', 'other'] })
  const basic = (password: string) => `Basic ${btoa(`anyone:${password}`)}`
  const paths = [CHAT, '/_understudy/traces', '/_understudy/traces/x', '/nothing', '/s/x/_understudy/traces']
  test.each(paths)('rejects %s without a valid token', async (path) => {
    expect((await send(closed, path)).status).toBe(401)
    const refused = await send(closed, path, { headers: { authorization: 'Bearer wrong' } })
    expect(errorOf(refused.text, 401).message).toContain('--token')
    const admitted = await send(closed, path, { headers: { authorization: 'Bearer secret' } })
    expect(admitted.status).not.toBe(401)
  })

  const open = [
    '/_understudy/health',
    '/_understudy/metrics',
    '/s/x/_understudy/health',
    '/swagger',
    '/swagger/json',
    '/favicon.ico',
  ]
  test.each([...open, '/swagger/assets/swagger-ui.css'])('leaves %s open', async (path) => {
    for (const authorization of ['', 'Bearer wrong', 'Basic eDp5'])
      expect((await send(closed, path, { headers: { authorization } })).status).toBe(200)
  })

  const rows: [string, number, string | null][] = [
    ['Bearer secret', 200, 'default'],
    ['Bearer other', 200, 'default'],
    ['Bearer secret#mine', 200, 'mine'],
    ['Bearer secret#session:mine', 200, 'mine'],
    ['Bearer  secret ', 200, 'default'],
    ['Bearer session:mine', 401, null],
    ['Bearer wrong#secret', 401, null],
    ['Bearer secretx', 401, null],
    ['Bearer', 401, null],
    ['secret', 401, null],
    ['Bearer secret secret', 401, null],
    ['Basic secret', 401, null],
    [basic('secret'), 401, null],
    ['Basic %%%', 401, null],
  ]
  test.each(rows)('answers authorization %j with %d in session %s', async (authorization, status, session) => {
    const answer = await closed.post(CHAT, body, { authorization })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('x-understudy-session')).toBe(session)
  })
})

describe('CORS', () => {
  const origin = 'http://localhost:3000'
  const preflight = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, x-mine',
  }
  const names = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'))

  test('is off when --cors is not set', async () => {
    const answer = await send(app, '/_understudy/health', { headers: { origin } })
    // What a page of another origin may not read, it is not given either.
    expect(answer.status).toBe(403)
    expect(names(answer.headers)).toEqual([])
    expect(names((await send(app, CHAT, { method: 'OPTIONS', headers: { origin, ...preflight } })).headers)).toEqual([])
  })

  test.each([[[origin]], [['*']], [['http://other.example', origin]]])(
    'lets the origin read responses when --cors is %j',
    async (cors) => {
      const answer = await appWith({ cors }).post(CHAT, body, { origin })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
      expect(answer.headers.get('vary')).toContain('Origin')
      expect(answer.headers.get('access-control-expose-headers')).toEndWith(', *')
    },
  )

  const open = appWith({ cors: [origin], token: ['secret'] })
  test('answers a preflight without a token', async () => {
    const { status, headers } = await send(open, CHAT, { method: 'OPTIONS', headers: { origin, ...preflight } })
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-allow-methods')).toContain('POST')
    expect(headers.get('access-control-allow-headers')).toBe('authorization, x-mine')
  })

  test('allows private network access when the browser asks for it', async () => {
    const name = 'access-control-allow-private-network'
    const asking = { origin, ...preflight, 'access-control-request-private-network': 'true' }
    const asked = await send(open, CHAT, { method: 'OPTIONS', headers: asking })
    const plain = await send(open, CHAT, { method: 'OPTIONS', headers: { origin, ...preflight } })
    expect([asked.headers.get(name), plain.headers.get(name)]).toEqual(['true', null])
  })

  test('lets the page read errors', async () => {
    const { status, headers } = await send(open, CHAT, { method: 'POST', headers: { origin } })
    expect(status).toBe(401)
    expect(headers.get('access-control-allow-origin')).toBe(origin)
  })

  test('sends no CORS headers to another origin', async () => {
    const headers = { origin: 'http://evil.example', ...preflight }
    expect(names((await send(open, CHAT, { method: 'OPTIONS', headers })).headers)).toEqual([])
  })
})

test('host check: accepts the configured host name and rejects any other', async () => {
  const named = appWith({ host: 'Build.Example', token: ['secret'] })
  const status = async (host: string) => (await send(named, '/_understudy/health', { headers: { host } })).status
  expect(await status('build.example:8633')).toBe(200)
  expect(await status('localhost:8633')).toBe(200)
  expect(await status('other.example:8633')).toBe(403)
})

describe('session in the path', () => {
  /** An application with all that `serve` and `exec` put around it, and a session that has a scenario. */
  const wrapped = async () => {
    const target = appWith()
    const requests = new Map<string, number>()
    const around = countingRequests(withClientTime(target.understudy), requests)
    const begun = await target.fetch('/_understudy/sessions/begun', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ scenario: 'rate-limit-burst' }),
    })
    expect(begun.status).toBe(201)
    return { target: { ...target, understudy: around }, requests }
  }
  const post = { method: 'POST', headers: { authorization: 'Bearer any', 'content-type': 'application/json' } }
  const nested = [
    '/s/a/s/b/v2/router/chat/completions',
    '/s/a/s/b/v1/chat/completions',
    '/s/a/s/b/messages',
    '/s/a/s/b/s/c/v1/messages',
    '/s/a/s/b/_understudy/traces',
    '/s/a/s/a/v2/datasets',
  ]
  test.each(nested)('is only the first one, even after a scenario was active: POST %s returns 404', async (path) => {
    const { target, requests } = await wrapped()
    const plain = await send(appWith(), path, { ...post, body: JSON.stringify(body) })
    const answer = await send(target, path, { ...post, body: JSON.stringify(body) })
    expect([plain.status, answer.status, answer.text]).toEqual([404, 404, plain.text])
    expect(answer.text).toContain(`/s/${path.split('/s/')[2]}`)
    expect([...requests]).toEqual([['a', 1]])
    expect(target.understudy.sessions.list().map(({ name }) => name)).toEqual(['default', 'begun', 'a'])
  })

  test('is used when the path contains it once, and the rest of the path is answered', async () => {
    const { target } = await wrapped()
    const answer = await send(target, `/s/a${CHAT}`, { ...post, body: JSON.stringify(body) })
    expect([answer.status, answer.headers.get('x-understudy-session')]).toEqual([200, 'a'])
  })

  test('does not hide an invalid token', async () => {
    const { target, requests } = await wrapped()
    const headers = { ...post.headers, authorization: 'Bearer two words' }
    const answer = await send(target, `/s/a${CHAT}`, { ...post, headers, body: JSON.stringify(body) })
    expect(errorOf(answer.text, 401).code).toBe('invalid_token')
    expect([...requests]).toEqual([])
  })
})
