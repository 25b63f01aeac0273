// What is wrong in a sessions folder is an error of the session that it belongs to, which can be deleted: all else is answered.
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { type Dirent, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
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

const fileOf = (dir: string, name = 'one') => join(dir, `${name}.session.db`)
/** Gives what a session was made with, as another program or another version may have left it. */
const setSettings = (dir: string, settings: string) => {
  const database = new Driver(fileOf(dir))
  database.prepare('UPDATE session_settings SET settings = ?').run(settings)
  database.close()
}
/** Leaves the first page of a database and spoils the others. */
const damage = (file: string) => {
  const bytes = readFileSync(file)
  bytes.fill(7, 1024)
  writeFileSync(file, bytes)
}
const ways: [string, (dir: string) => void, string][] = [
  ['a damaged database', (dir) => damage(fileOf(dir)), 'is not a healthy SQLite file'],
  ['half of what it was made with', (dir) => setSettings(dir, '{"session":'), 'one.session.db'],
  ['invalid settings', (dir) => setSettings(dir, '{"settings":{"seed":"x"}}'), "'seed'"],
  ['a scenario that is gone', (dir) => setSettings(dir, '{"settings":{"scenario":"gone"}}'), 'gone'],
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
    writeFileSync(fileOf(dir), '')
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

  test('leaves no half of a file', async () => {
    const dir = newFolder()
    await say(start(dir), 'one')
    close()
    // As a process leaves it that is killed in the middle of a PUT.
    writeFileSync(`${fileOf(dir, 'two')}.new`, readFileSync(fileOf(dir)).subarray(0, 3_000))
    const app = start(dir)
    expect(existsSync(`${fileOf(dir, 'two')}.new`)).toBe(false)
    expect((await say(app, 'two')).headers.get('x-understudy-session-new')).toBe('true')
  })
})

describe('what another program has in the folder', () => {
  const sqlite = (file: string) => {
    const database = new Driver(file)
    database.exec('CREATE TABLE theirs (id)')
    database.close()
  }
  /** Everything below a folder, with its content. */
  const contentOf = (dir: string) =>
    (readdirSync(dir, { recursive: true, withFileTypes: true }) as Dirent[])
      .map((entry) => {
        const path = join(entry.parentPath, entry.name)
        return [
          path,
          entry.isFile() ? readFileSync(path).toString('base64') : entry.isSymbolicLink() ? 'link' : 'folder',
        ]
      })
      .sort()

  test('is left alone by sessions of the same names, by their deletion and by the next start', async () => {
    const dir = newFolder()
    mkdirSync(join(dir, 'folder.db'), { recursive: true })
    for (const name of [
      'package.json',
      'one.json',
      'notes.db',
      'notes.db-wal',
      'draft.new',
      'a.db.new',
      'a.session.db.new',
    ])
      writeFileSync(join(dir, name), `content of ${name}`)
    sqlite(join(dir, 'one.db'))
    symlinkSync(join(dir, 'one.db'), join(dir, 'link.db'))
    const before = contentOf(dir)
    const names = ['package', 'one', 'notes', 'folder', 'link', 'draft', 'PACKAGE']
    const app = start(dir)
    for (const name of names) {
      expect([name, (await put(app, name, { seed: 7 })).status]).toEqual([name, 200])
      expect([name, (await say(app, name)).status]).toEqual([name, 200])
    }
    close()
    const again = start(dir)
    for (const name of names)
      expect((await again.fetch(`/_understudy/sessions/${name}`)).json()).toMatchObject({ seed: 7 })
    for (const name of names) expect((await remove(again, name)).status).toBe(200)
    close()
    expect(contentOf(dir).filter(([path = '']) => !path.endsWith('understudy-lock'))).toEqual(before)
  })

  const theirs: [string, (file: string, dir: string) => void][] = [
    ['a text', (file) => writeFileSync(file, 'x'.repeat(5_000))],
    ['another database', sqlite],
    ['a folder', (file) => mkdirSync(file)],
    [
      'a link to a session of ours',
      (file, dir) => {
        const other = newFolder()
        const app = start(other)
        app.understudy.sessions.create('far', {}, {})
        close()
        symlinkSync(fileOf(other, 'far'), file)
        expect(existsSync(dir)).toBe(true)
      },
    ],
    ['a link to nothing', (file, dir) => symlinkSync(join(dir, 'nothing'), file)],
  ]
  test.each(theirs)('%s with the very name of a session is neither used nor deleted', async (_, make) => {
    const dir = newFolder()
    mkdirSync(dir)
    make(fileOf(dir), dir)
    const before = contentOf(dir)
    const app = start(dir)
    const answers = [await say(app, 'one'), await put(app, 'one', { seed: 7 }), await remove(app, 'one')]
    answers.push(await app.fetch('/_understudy/sessions/one'), await app.fetch('/s/one/_understudy/traces'))
    for (const answer of answers) {
      const { code, message } = errorOf(answer.text, 507)
      expect([code, message]).toEqual([
        'storage_failed',
        expect.stringContaining('one.session.db is not a session file'),
      ])
    }
    expect((await say(app, 'two')).status).toBe(200)
    await remove(app, 'two')
    close()
    expect(contentOf(dir).filter(([path = '']) => !path.endsWith('understudy-lock'))).toEqual(before)
  })

  test('a default database inside the folder is refused, however the two are written', () => {
    const dir = newFolder()
    mkdirSync(join(dir, 'sub'), { recursive: true })
    symlinkSync(dir, `${dir}-link`)
    for (const db of [
      join(dir, 'one.db'),
      join(dir, 'sub', 'one.db'),
      join(`${dir}-link`, 'one.db'),
      join(dir, '..', basename(dir), 'x.session.db'),
    ]) {
      const begin = () => createTestApp({ sessions_dir: dir, clock: 'real', db })
      expect(begin).toThrow(`database ${db} is inside the sessions folder ${dir}`)
    }
    open.push(createTestApp({ sessions_dir: dir, clock: 'real', db: `${dir}.db` }))
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
    'one.session.db',
    'x'.repeat(64),
    'X'.repeat(64),
  ]
  for (const name of names) expect([name, (await put(app, name)).status]).toEqual([name, 200])
  const files = readdirSync(dir)
    .filter((name) => name.endsWith('.session.db'))
    .map((name) => name.slice(0, -'.session.db'.length))
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
