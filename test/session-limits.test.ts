// How many sessions there are and how long: a limit, an end for those that nobody uses, and none that is only looked at.
import { afterAll, describe, expect, test } from 'bun:test'
import { type Config, readConfig } from '../src/config.ts'
import { createUnderstudy } from '../src/deps.ts'
import { createTestApp, type TestApp } from './support/app.ts'
import { CHAT, user } from './support/chat.ts'
import { errorOf } from './support/errors.ts'

const apps: TestApp[] = []
afterAll(() => {
  for (const one of apps) one.close()
})
const appWith = (settings: Partial<Config> = {}): TestApp => {
  const app = createTestApp(settings)
  apps.push(app)
  return app
}
const say = (app: TestApp, session: string) =>
  app.post(`/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user('Hello!') })
const names = async (app: Pick<TestApp, 'fetch'>) =>
  ((await app.fetch('/_understudy/sessions')).json().data as { name: string }[]).map(({ name }) => name)

describe('--max-sessions', () => {
  const app = appWith({ max_sessions: 3 })
  test('refuses one more, and says how to have it', async () => {
    expect([(await say(app, 'a')).status, (await say(app, 'b')).status]).toEqual([200, 200])
    const refused = await say(app, 'c')
    const { code, message } = errorOf(refused.text, 429)
    expect(code).toBe('session_limit')
    expect(message).toContain('3 sessions')
    expect(message).toContain('--max-sessions')
    expect(message).toContain('--session-ttl')
  })

  test('counts none that is only looked at, and refuses none', async () => {
    for (const path of ['/_understudy/traces', '/_understudy/verify', '/v2/datasets']) {
      expect([path, (await app.fetch(`/s/looked-at${path}`)).status]).toEqual([path, 200])
    }
    expect(await names(app)).toEqual(['default', 'a', 'b'])
  })
})

describe('--session-ttl', () => {
  const MINUTE = 60_000
  /** An application whose machine's clock the test moves. */
  const aging = (settings: Partial<Config>) => {
    const time = { now: 0 }
    const config: Config = { ...readConfig({}, {}), db: ':memory:', ...settings }
    const raise = (error: unknown) => {
      throw error
    }
    const understudy = createUnderstudy(config, raise, { realNow: () => time.now })
    const app: TestApp = { ...appWith(), understudy, close: () => understudy.sessions.close() }
    apps.push(app)
    const fetch = async (path: string, init: RequestInit = {}) => {
      const headers = { authorization: 'Bearer any', 'content-type': 'application/json', ...init.headers }
      const response = await understudy.app.fetch(new Request(`http://localhost${path}`, { ...init, headers }))
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) }
    }
    const post: TestApp['post'] = (path, body) => fetch(path, { method: 'POST', body: JSON.stringify(body) })
    const pass = (ms: number) => {
      time.now += ms
      understudy.sessions.sweep()
    }
    return { ...app, fetch, post, pass }
  }
  const counts = async (app: Pick<TestApp, 'fetch'>) =>
    (await app.fetch('/_understudy/health')).json().counts as Record<string, number>

  test('drops what nobody has used for so long, with all it holds, and never the default one', async () => {
    const app = aging({ session_ttl: 10 * MINUTE })
    await say(app, 'default')
    await say(app, 'old')
    await say(app, 'used')
    await app.post('/_understudy/sessions', { name: 'made', fixtures: [] })
    app.pass(9 * MINUTE)
    expect(await names(app)).toEqual(['default', 'old', 'used', 'made'])
    await app.fetch('/s/used/_understudy/traces')
    app.pass(MINUTE)
    expect(await names(app)).toEqual(['default', 'used'])
    expect(await counts(app)).toMatchObject({ sessions: 2, sessions_dropped: 2, traces: 2 })
    expect((await app.fetch('/s/old/_understudy/traces')).json().data).toEqual([])
    expect((await app.fetch('/s/used/_understudy/traces')).json().data).toHaveLength(1)
  })

  test('leaves one alone in which something is under way', async () => {
    const app = aging({ session_ttl: MINUTE })
    await say(app, 'busy')
    const activity = app.understudy.sessions.get('busy').begin(new AbortController())
    app.pass(5 * MINUTE)
    expect(await names(app)).toEqual(['default', 'busy'])
    activity.end()
    app.pass(5 * MINUTE)
    expect(await names(app)).toEqual(['default'])
  })

  test('drops none without it', async () => {
    const app = aging({})
    await say(app, 'old')
    app.pass(1_000_000 * MINUTE)
    expect(await names(app)).toEqual(['default', 'old'])
    expect(await counts(app)).toMatchObject({ sessions_dropped: 0 })
    expect((await app.fetch('/s/old/_understudy/traces')).json().data).toHaveLength(1)
  })
})

describe('a session that is only looked at', async () => {
  const before = appWith()
  const app = appWith()
  const { paths } = (await app.fetch('/swagger/json')).json() as { paths: Record<string, object> }
  // What differs at each look, or has no end.
  const others = ['health', 'sessions', 'live', 'metrics'].map((name) => `/_understudy/${name}`)
  const gets = Object.keys(paths).filter((path) => 'get' in (paths[path] as object) && !others.includes(path))
  test('there are all the reads', () => expect(gets.length).toBeGreaterThan(40))

  test.each(gets)('GET %s answers as an empty one, which is not made', async (path) => {
    const at = `/s/nobody${path.replace(/\{\w+\}/g, 'unknown')}`
    before.understudy.sessions.get('nobody')
    const { status, text } = await app.fetch(at)
    expect({ status, text }).toEqual((({ status, text }) => ({ status, text }))(await before.fetch(at)))
    expect(status).toBeLessThan(500)
    expect(await names(app)).toEqual(['default'])
  })

  test('GET /_understudy/live tells of it without making it', async () => {
    const gone = new AbortController()
    const headers = { authorization: 'Bearer any' }
    const request = new Request('http://localhost/s/nobody/_understudy/live', { headers, signal: gone.signal })
    const response = await app.understudy.app.fetch(request)
    expect(response.status).toBe(200)
    await response.body?.cancel()
    gone.abort()
    expect(await names(app)).toEqual(['default'])
  })

  test('is made by the first call, and whoever waits for it is told', async () => {
    const expected = { expect: [{ provider: 'openai', attempts: '1+' }] }
    const told = app.post('/s/awaited/_understudy/verify?wait=20s', expected)
    await app.fetch('/s/awaited/_understudy/traces')
    expect((await say(app, 'awaited')).status).toBe(200)
    expect(await names(app)).toContain('awaited')
    expect((await told).json()).toMatchObject({ session: 'awaited', ok: true })
  })

  test('keeps the ids that were read', async () => {
    const real = appWith({ clock: 'real' })
    const read = async () => (await real.fetch('/s/reader/v2/tools')).text
    const first = await read()
    expect((await real.post('/s/reader/v2/datasets', { display_name: 'More' })).status).toBeLessThan(300)
    expect(await read()).toBe(first)
    expect(await names(real)).toEqual(['default', 'reader'])
  })

  test('is used when a scenario has counted the call', async () => {
    await app.fetch('/s/played/v2/datasets', { headers: { 'x-understudy-scenario': 'outage' } })
    expect(await names(app)).toContain('played')
  })
})

test('more sessions than are kept open are all there, whatever was asked last', async () => {
  const app = appWith()
  for (let number = 0; number < 150; number++) expect((await say(app, `many-${number}`)).status).toBe(200)
  for (let number = 0; number < 10; number++) expect((await say(app, `many-${number}`)).status).toBe(200)
  const found = (await app.fetch('/_understudy/health')).json().counts
  expect(found).toMatchObject({ sessions: 151, traces: 160 })
  expect((await app.fetch('/s/many-0/_understudy/traces')).json().data).toHaveLength(2)
})
