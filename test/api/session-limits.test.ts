// How many sessions there are and how long: a maximum, an end for unused ones, and no creation by reading.
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, readConfig } from '../../src/config.ts'
import { createUnderstudy } from '../../src/deps.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { openApiDocument } from '../support/document.ts'
import { errorOf } from '../support/errors.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
const apps: TestApp[] = []
afterAll(() => {
  for (const one of apps) one.close()
  folder.remove()
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
  test('rejects one session more with instructions', async () => {
    expect([(await say(app, 'a')).status, (await say(app, 'b')).status]).toEqual([200, 200])
    const refused = await say(app, 'c')
    const { code, message } = errorOf(refused.text, 429)
    expect(code).toBe('session_limit')
    expect(message).toContain('3 sessions')
    expect(message).toContain('--max-sessions')
    expect(message).toContain('--session-ttl')
  })

  test('neither counts nor rejects a session that is only read', async () => {
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
    const pass = async (ms: number) => {
      time.now += ms
      await understudy.sessions.sweep()
    }
    return { ...app, fetch, post, pass }
  }
  const counts = async (app: Pick<TestApp, 'fetch'>) =>
    (await app.fetch('/_understudy/health')).json().counts as Record<string, number>

  test('drops sessions unused for that long with all they contain, except the default one', async () => {
    const app = aging({ session_ttl: 10 * MINUTE })
    await say(app, 'default')
    await say(app, 'old')
    await say(app, 'used')
    await accepted(app.post('/_understudy/sessions', { name: 'made', fixtures: [] }))
    await app.pass(9 * MINUTE)
    expect(await names(app)).toEqual(['default', 'old', 'used', 'made'])
    await app.fetch('/s/used/_understudy/traces')
    await app.pass(MINUTE)
    expect(await names(app)).toEqual(['default', 'used'])
    expect(await counts(app)).toMatchObject({ sessions: 2, sessions_dropped: 2, traces: 2 })
    expect((await app.fetch('/s/old/_understudy/traces')).json().data).toEqual([])
    expect((await app.fetch('/s/used/_understudy/traces')).json().data).toHaveLength(1)
  })

  test('keeps a session with a call in progress', async () => {
    const app = aging({ session_ttl: MINUTE })
    await say(app, 'busy')
    const activity = app.understudy.sessions.get('busy').begin(new AbortController())
    await app.pass(5 * MINUTE)
    expect(await names(app)).toEqual(['default', 'busy'])
    activity.end()
    await app.pass(5 * MINUTE)
    expect(await names(app)).toEqual(['default'])
  })

  /** Where an earlier process has left sessions, each last written so many minutes before now. */
  const leftIn = async (dir: string, ages: Record<string, number>) => {
    const first = appWith({ sessions_dir: dir, clock: 'real' })
    for (const name of Object.keys(ages)) expect((await say(first, name)).status).toBe(200)
    await accepted(first.post('/_understudy/sessions', { name: 'Made', seed: 7 }))
    first.close()
    for (const [name, minutes] of Object.entries({ Made: 0, ...ages })) {
      const at = (NOW - minutes * MINUTE) / 1_000
      for (const end of ['', '-wal', '-shm']) {
        const file = join(dir, `${name.replace(/[A-Z]/g, (letter) => `=${letter.toLowerCase()}`)}.session.db${end}`)
        if (existsSync(file)) utimesSync(file, at, at)
      }
    }
  }
  const NOW = Date.UTC(2026, 0, 1)

  test('applies to sessions of an earlier process, counted from their last write', async () => {
    const dir = join(folder.path, 'ttl')
    await leftIn(dir, { old: 11, young: 20, used: 20, odd: 30 })
    // The last writes of a session may be in its log alone.
    const log = join(dir, 'young.session.db-wal')
    writeFileSync(log, '')
    utimesSync(log, (NOW - 5 * MINUTE) / 1_000, (NOW - 5 * MINUTE) / 1_000)
    writeFileSync(join(dir, 'odd.session.db'), 'of another program')
    writeFileSync(join(dir, 'notes.txt'), 'of another program')
    const files = () => readdirSync(dir).filter((name) => name.endsWith('.session.db') || name.endsWith('.txt'))
    const app = aging({ session_ttl: 10 * MINUTE, sessions_dir: dir, clock: 'real' })
    await app.pass(NOW)
    // Whoever uses one that was left keeps it.
    expect(files().sort()).toEqual(['=made.session.db', 'notes.txt', 'odd.session.db', 'young.session.db'])
    expect(await counts(app)).toMatchObject({ sessions: 1, sessions_dropped: 2 })
    await app.pass(4 * MINUTE)
    expect((await app.fetch('/s/young/_understudy/traces')).json().data).toHaveLength(1)
    await app.pass(7 * MINUTE)
    expect(await names(app)).toEqual(['default', 'young'])
    expect(files().sort()).toEqual(['notes.txt', 'odd.session.db', 'young.session.db'])
    await app.pass(3 * MINUTE)
    expect([await names(app), files().sort()]).toEqual([['default'], ['notes.txt', 'odd.session.db']])
  })

  test('drops none when it is not set', async () => {
    const app = aging({})
    await say(app, 'old')
    await app.pass(1_000_000 * MINUTE)
    expect(await names(app)).toEqual(['default', 'old'])
    expect(await counts(app)).toMatchObject({ sessions_dropped: 0 })
    expect((await app.fetch('/s/old/_understudy/traces')).json().data).toHaveLength(1)
  })
})

test('reset of all: reaches sessions of an earlier process, which keep their settings', async () => {
  const dir = join(folder.path, 'reset')
  const first = appWith({ sessions_dir: dir, clock: 'real' })
  const scenario = { name: 'slow', rules: [{ name: 'wait', fault: { type: 'delay', for: '1ms' } }] }
  await accepted(first.post('/_understudy/sessions', { name: 'Made', seed: 7, scenario }))
  for (const name of ['Made', 'called', 'damaged', 'used']) expect((await say(first, name)).status).toBe(200)
  await first.post('/s/called/v2/datasets', { display_name: 'Mine', path: 'Default' })
  first.close()
  truncateSync(join(dir, 'damaged.session.db'), 20_000)
  const app = appWith({ sessions_dir: dir, clock: 'real', max_sessions: 3 })
  await say(app, 'used')
  const answer = (await app.post('/_understudy/reset?all=true', {})).json()
  expect(answer).toEqual({
    sessions: ['default', 'used', 'Made', 'called'],
    problems: [{ session: 'damaged', message: expect.stringContaining('is not a healthy SQLite file') }],
  })
  // It has brought none of them back.
  expect(await names(app)).toEqual(['default', 'used'])
  const info = (await app.fetch('/_understudy/sessions/Made')).json()
  expect(info).toMatchObject({ seed: 7, scenario: 'slow', calls: 0 })
  await app.fetch('/_understudy/sessions/Made', { method: 'DELETE' })
  const left = await app.fetch('/s/called/v2/datasets')
  expect([left.status, left.text.includes('Mine')]).toEqual([200, false])
})

describe('session that is only read', async () => {
  const before = appWith()
  const app = appWith()
  const { paths } = await openApiDocument<{ paths: Record<string, object> }>()
  // What differs at each look, or has no end.
  const others = ['health', 'sessions', 'live', 'metrics'].map((name) => `/_understudy/${name}`)
  const gets = Object.keys(paths).filter((path) => 'get' in (paths[path] as object) && !others.includes(path))
  test('is tested with every read route', () => expect(gets.length).toBeGreaterThan(40))

  test.each(gets)('answers GET %s as an empty session without being created', async (path) => {
    const at = `/s/nobody${path.replace(/\{\w+\}/g, 'unknown')}`
    before.understudy.sessions.get('nobody')
    const { status, text } = await app.fetch(at)
    expect({ status, text }).toEqual((({ status, text }) => ({ status, text }))(await before.fetch(at)))
    expect(status).toBeLessThan(500)
    expect(await names(app)).toEqual(['default'])
  })

  test('is reported by GET /_understudy/live without being created', async () => {
    const gone = new AbortController()
    const headers = { authorization: 'Bearer any' }
    const request = new Request('http://localhost/s/nobody/_understudy/live', { headers, signal: gone.signal })
    const response = await app.understudy.app.fetch(request)
    expect(response.status).toBe(200)
    await response.body?.cancel()
    gone.abort()
    expect(await names(app)).toEqual(['default'])
  })

  test('is created by its first call, which a waiting verify sees', async () => {
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

  test('is created when a scenario has counted the call', async () => {
    await app.fetch('/s/played/v2/datasets', { headers: { 'x-understudy-scenario': 'outage' } })
    expect(await names(app)).toContain('played')
  })
})

test('sessions beyond the open ones: are all answered, in any order', async () => {
  const app = appWith()
  for (let number = 0; number < 150; number++) expect((await say(app, `many-${number}`)).status).toBe(200)
  for (let number = 0; number < 10; number++) expect((await say(app, `many-${number}`)).status).toBe(200)
  const found = (await app.fetch('/_understudy/health')).json().counts
  expect(found).toMatchObject({ sessions: 151, traces: 160 })
  expect((await app.fetch('/s/many-0/_understudy/traces')).json().data).toHaveLength(2)
})
