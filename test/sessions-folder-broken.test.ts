// What is wrong in a sessions folder is an error of the session that it belongs to, which can be deleted: all else is answered.
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Driver from 'better-sqlite3'
import { createTestApp, type TestApp } from './support/app.ts'
import { CHAT, user } from './support/chat.ts'
import { errorOf } from './support/errors.ts'
import { emptyFolder } from './support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const open: TestApp[] = []
const close = () => {
  for (const app of open.splice(0)) app.close()
}
afterEach(close)
let count = 0
const newFolder = () => join(folder.path, `sessions-${++count}`)
const start = (dir: string) => {
  const app = createTestApp({ sessions_dir: dir, clock: 'real' })
  open.push(app)
  return app
}
const put = (app: TestApp, name: string, body: object = {}) =>
  app.fetch(`/_understudy/sessions/${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const say = (app: TestApp, session: string) =>
  app.post(`/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user('Hello') })
const remove = (app: TestApp, name: string) => app.fetch(`/_understudy/sessions/${name}`, { method: 'DELETE' })

const another = (file: string) => {
  rmSync(file)
  const database = new Driver(file)
  database.exec('CREATE TABLE theirs (id)')
  database.close()
}
const ways: [string, (dir: string) => void, string][] = [
  [
    'a database that is none',
    (dir) => writeFileSync(join(dir, 'one.db'), 'x'.repeat(5_000)),
    'is not a healthy SQLite file',
  ],
  ["another program's database", (dir) => another(join(dir, 'one.db')), 'belongs to another program'],
  ['half of what it was made with', (dir) => writeFileSync(join(dir, 'one.json'), '{"session":'), 'one.json'],
  ['settings that are none', (dir) => writeFileSync(join(dir, 'one.json'), '{"settings":{"seed":"x"}}'), "'seed'"],
  [
    'a scenario that nobody knows any more',
    (dir) => writeFileSync(join(dir, 'one.json'), '{"settings":{"scenario":"gone"}}'),
    'gone',
  ],
]

describe('a session that was left', () => {
  test.each(ways)('with %s says so in each answer, and nothing else does', async (_, spoil, said) => {
    const dir = newFolder()
    const first = start(dir)
    await put(first, 'one', { seed: 7 })
    await say(first, 'one')
    close()
    spoil(dir)
    const app = start(dir)
    const asked = [await say(app, 'one'), await put(app, 'one'), await say(app, 'one')]
    asked.push(await app.fetch('/_understudy/sessions/one'), await app.fetch('/s/one/_understudy/traces'))
    for (const answer of asked) {
      const { code, message } = errorOf(answer.text, 507)
      expect(code).toBe('storage_failed')
      expect(message).toContain('session "one" cannot be had')
      expect(message).toContain(said)
      expect(message).toContain('DELETE /_understudy/sessions/one')
    }
    const paths = ['health', 'metrics', 'sessions', 'traces?all=true', 'calls?sessions=all', 'sessions/default']
    const others = await Promise.all(paths.map((path) => app.fetch(`/_understudy/${path}`)))
    expect([(await say(app, 'two')).status, ...others.map(({ status }) => status)]).toEqual([
      200,
      ...paths.map(() => 200),
    ])
    expect((await remove(app, 'one')).status).toBe(200)
    expect(readdirSync(dir).filter((name) => name.startsWith('one'))).toEqual([])
    expect((await put(app, 'one', { seed: 8 })).json()).toMatchObject({ seed: 8, calls: 0, origin: 'made' })
  })

  test('in a file without content begins anew, and says so', async () => {
    const dir = newFolder()
    await put(start(dir), 'one', { seed: 7 })
    close()
    writeFileSync(join(dir, 'one.db'), '')
    const answer = await say(start(dir), 'one')
    expect([answer.status, answer.headers.get('x-understudy-session-new')]).toEqual([200, 'true'])
  })

  test('is the same when it is asked for first after a restart', async () => {
    const dir = newFolder()
    const settings = { seed: 7, scenario: 'rate-limit-burst' }
    await put(start(dir), 'one', settings)
    close()
    const app = start(dir)
    expect((await put(app, 'one', settings)).json()).toMatchObject({ seed: 7, origin: 'restored' })
    close()
    expect((await put(start(dir), 'one', { seed: 8 })).status).toBe(409)
    close()
    expect((await put(start(dir), 'one')).json()).toMatchObject({ seed: 7, scenario: 'rate-limit-burst' })
  })

  test('leaves no half of a file, and no setting to another one of its name', async () => {
    const dir = newFolder()
    start(dir)
    close()
    // As a process leaves them that is killed in the midst of a PUT.
    writeFileSync(join(dir, 'one.json'), '{"session":{"seed":7},"settings":{"seed":7}}')
    writeFileSync(join(dir, 'one.db.new'), 'x')
    const app = start(dir)
    expect(existsSync(join(dir, 'one.db.new'))).toBe(false)
    expect((await say(app, 'one')).headers.get('x-understudy-session-new')).toBe('true')
    expect((await app.fetch('/_understudy/sessions/one')).json()).toMatchObject({ seed: 0, origin: 'called' })
  })
})

test('names are files of their own wherever the folder is, and none is a way out of it', async () => {
  const dir = newFolder()
  const app = start(dir)
  const names = [
    'One',
    'one',
    'ONE',
    'nul',
    'Con',
    'com1.txt',
    'understudy-lock',
    'one.db',
    'x'.repeat(64),
    'X'.repeat(64),
  ]
  for (const name of names) expect([name, (await put(app, name)).status]).toEqual([name, 200])
  const files = readdirSync(dir)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
  expect(new Set(files.map((name) => name.toLowerCase())).size).toBe(names.length)
  expect(files.filter((name) => /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name) || name.length > 200)).toEqual([])
  const mine = (name: string) =>
    app.post(CHAT, { model: 'openai/gpt-4o', ...user('Hi') }, { 'x-understudy-session': name })
  for (const name of ['..', '.', '../up', 'a/b', 'a\\b', 'x'.repeat(65)]) {
    const answer = await mine(name)
    expect([name, errorOf(answer.text, 400).code]).toEqual([name, 'invalid_session'])
  }
  expect(readdirSync(join(dir, '..')).filter((name) => !name.startsWith('sessions-'))).toEqual([])
})

test.skipIf(process.platform !== 'linux')('deleted sessions leave no file open', async () => {
  const app = start(newFolder())
  const openFiles = () => readdirSync('/proc/self/fd').length
  const before = openFiles()
  for (let index = 0; index < 100; index++) {
    await say(app, `s${index}`)
    await remove(app, `s${index}`)
  }
  // A database is closed when the last that used it is gone.
  for (let round = 0; round < 50 && openFiles() - before >= 50; round++) {
    Bun.gc(true)
    await new Promise(setImmediate)
  }
  expect(openFiles() - before).toBeLessThan(50)
})
