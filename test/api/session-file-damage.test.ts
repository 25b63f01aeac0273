// A problem in a session folder is an error of the session that it belongs to, which can be deleted: all else is answered.
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import {
  type Dirent,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import Driver from 'better-sqlite3'
import type { OwnedSession } from '../../src/sessions/session-handle.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { emptyFolder } from '../support/server.ts'

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
  app.fetch(`/_understudy/sessions/${encodeURIComponent(name)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const say = (app: TestApp, session: string) =>
  app.post(`/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user('Hello') })
const remove = (app: TestApp, name: string) => app.fetch(`/_understudy/sessions/${name}`, { method: 'DELETE' })

const problemsOf = async (app: TestApp) =>
  ((await app.fetch('/_understudy/sessions')).json().problems as { session: string }[]).map(({ session }) => session)
/** Everything that concerns all sessions. */
const SHARED = [
  ...['health', 'metrics', 'sessions', 'traces?all=true', 'calls?sessions=all', 'traces', 'verify'].map(
    (path) => `/_understudy/${path}`,
  ),
  ...['/v2/datasets', '/v2/agents'],
]
const sharedStatuses = async (app: TestApp) => {
  const answers = await Promise.all(SHARED.map((path) => app.fetch(path)))
  return answers.map(({ status }) => status)
}
const allFine = SHARED.map(() => 200)
/** Closes the file of a session, as happens a few seconds after it was used. */
const sleep = (app: TestApp, name: string) => (app.understudy.sessions.find(name).slot as OwnedSession).sleep()

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
const halve = (file: string) => truncateSync(file, Math.floor(statSync(file).size / 2))
/** Spoils the part of a database behind what is looked at when it is opened. */
const damageRows = (file: string) => {
  const bytes = readFileSync(file)
  bytes.fill(7, Math.floor(bytes.length / 4), Math.floor(bytes.length / 2))
  writeFileSync(file, bytes)
}
const withPragma = (file: string, pragma: string) => {
  const database = new Driver(file)
  database.pragma(pragma)
  database.close()
}
/** What stood in the databases of builds before version 1 of the tables. */
const OLDER_BUILD = `application_id = ${0x554e4453}`
const ways: [string, (dir: string) => void, string][] = [
  ['no content', (dir) => truncateSync(fileOf(dir), 0), 'is empty'],
  ['half of its bytes', (dir) => halve(fileOf(dir)), 'is not a healthy SQLite file'],
  ['a newer schema', (dir) => withPragma(fileOf(dir), 'user_version = 999'), 'has schema version 999'],
  ['the tables of an older build', (dir) => withPragma(fileOf(dir), OLDER_BUILD), 'was made by an older build'],
  ['a damaged database', (dir) => damage(fileOf(dir)), 'is not a healthy SQLite file'],
  ['half of its settings', (dir) => setSettings(dir, '{"session":'), 'one.session.db'],
  ['invalid settings', (dir) => setSettings(dir, '{"settings":{"seed":"x"}}'), "'seed'"],
  ['a missing scenario', (dir) => setSettings(dir, '{"settings":{"scenario":"gone"}}'), 'gone'],
]

describe('restored session file', () => {
  test.each(ways)('with %s is reported on each response and nowhere else', async (_, spoil, said) => {
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
    expect(await problemsOf(app)).toEqual(['one'])
    expect(others[0]?.json()).toMatchObject({ status: 'ok', counts: { sessions_unusable: 1 } })
    expect(others[0]?.text).not.toContain(dir)
    expect((await remove(app, 'one')).status).toBe(200)
    expect(readdirSync(dir).filter((name) => name.startsWith('one'))).toEqual([])
    expect(await problemsOf(app)).toEqual([])
    expect((await put(app, 'one', { seed: 8 })).json()).toMatchObject({ seed: 8, calls: 0, origin: 'made' })
  })

  test('is the same when PUT again after a restart', async () => {
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

  test('ignores a half-written file', async () => {
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

describe('session file damaged while the session is unloaded', () => {
  const all = (file: string) => ['', '-wal', '-shm'].map((end) => file + end)
  const removeAll = (file: string) => {
    for (const one of all(file)) rmSync(one, { force: true })
  }
  const spoiled: [string, (file: string) => void, string, 'deleted' | 'stays'][] = [
    ['damaged', damage, 'is not a healthy SQLite file', 'deleted'],
    ['cut', halve, 'is not a healthy SQLite file', 'deleted'],
    ['empty', (file) => truncateSync(file, 0), 'is empty', 'deleted'],
    ['deleted', removeAll, 'is gone', 'deleted'],
    ['of a newer version', (file) => withPragma(file, 'user_version = 999'), 'has schema version 999', 'deleted'],
    [
      'overwritten with other bytes',
      (file) => writeFileSync(file, Buffer.alloc(9_000, 'x')),
      'is not a session file',
      'stays',
    ],
    ['shorter than a header', (file) => truncateSync(file, 60), 'is not a session file', 'stays'],
    [
      'replaced by a folder',
      (file) => {
        removeAll(file)
        mkdirSync(file)
      },
      'is not a session file',
      'stays',
    ],
    [
      'replaced by a link',
      (file) => {
        removeAll(file)
        symlinkSync(join(file, '..', 'nothing'), file)
      },
      'is not a session file',
      'stays',
    ],
  ]
  test.each(spoiled)('%s: fails that session alone until it is deleted', async (_, spoil, said, end) => {
    const dir = newFolder()
    const app = start(dir)
    for (const name of ['one', 'two']) expect((await say(app, name)).status).toBe(200)
    sleep(app, 'one')
    spoil(fileOf(dir))
    // Before anything else of the control API was asked for.
    expect(await sharedStatuses(app)).toEqual(allFine)
    const refused = [await say(app, 'one'), await app.fetch('/s/one/_understudy/traces')]
    refused.push(await app.fetch('/s/one/v2/datasets'), await app.post('/_understudy/sessions/one/reset', {}))
    // However it is asked for, though it was there before.
    refused.push(await app.fetch('/_understudy/sessions/one'), await put(app, 'one'))
    for (const answer of refused) expect(errorOf(answer.text, 507).message).toContain(said)
    expect(await sharedStatuses(app)).toEqual(allFine)
    expect([(await say(app, 'two')).status, await problemsOf(app)]).toEqual([200, ['one']])
    const health = await app.fetch('/_understudy/health')
    expect(health.json()).toMatchObject({ status: 'ok', counts: { sessions: 3, sessions_unusable: 1 } })
    expect(health.text).not.toContain(dir)
    expect((await app.fetch('/_understudy/metrics')).text).toContain('understudy_sessions_unusable 1')
    const reset = (await app.post('/_understudy/reset?all=true', {})).json()
    expect(reset).toMatchObject({ sessions: ['default', 'two'], problems: [{ session: 'one' }] })
    const deleted = await remove(app, 'one')
    const names = ((await app.fetch('/_understudy/sessions')).json().data as { name: string }[]).map(({ name }) => name)
    expect(names).toEqual(['default', 'two'])
    if (end === 'stays') {
      expect(errorOf(deleted.text, 507).message).toContain(said)
      rmSync(fileOf(dir), { recursive: true })
    } else expect(deleted.status).toBe(200)
    expect(await problemsOf(app)).toEqual([])
    expect((await say(app, 'one')).headers.get('x-understudy-session-new')).toBe('true')
  })

  test('with unreadable rows is left out of lists and named in its own errors', async () => {
    const dir = newFolder()
    const first = start(dir)
    for (let number = 0; number < 40; number++)
      await first.post(`/s/one${CHAT}`, { model: 'openai/gpt-4o', ...user(`${number} ${'text '.repeat(2_000)}`) })
    await say(first, 'two')
    close()
    damageRows(fileOf(dir))
    const app = start(dir)
    await app.fetch('/_understudy/sessions/one')
    await say(app, 'two')
    expect(await sharedStatuses(app)).toEqual(allFine)
    const { message } = errorOf((await app.fetch('/s/one/_understudy/calls?limit=1000')).text, 507)
    expect(message).toContain(`session "one" cannot be had: what is in ${fileOf(dir)} cannot be read`)
    expect(await problemsOf(app)).toEqual(['one'])
    for (const answer of [await app.fetch('/_understudy/sessions/one'), await put(app, 'one'), await say(app, 'one')])
      expect(errorOf(answer.text, 507).message).toContain('DELETE /_understudy/sessions/one')
    expect(await problemsOf(app)).toEqual(['one'])
    const rows = (await app.fetch('/_understudy/calls?sessions=all')).json().data as { session: string }[]
    expect(new Set(rows.map(({ session }) => session))).toContain('two')
    sleep(app, 'one')
    expect(await sharedStatuses(app)).toEqual(allFine)
    expect((await remove(app, 'one')).status).toBe(200)
    expect(readdirSync(dir).filter((name) => name.startsWith('one'))).toEqual([])
  })

  test.each(spoiled.filter(([how]) => how !== 'cut' && how !== 'damaged'))(
    '%s while it is open: is reported to the reader and the next call',
    async (_, spoil, said) => {
      const app = start(newFolder())
      const dir = join(folder.path, `sessions-${count}`)
      for (const name of ['one', 'two']) expect((await say(app, name)).status).toBe(200)
      spoil(fileOf(dir))
      if (said.startsWith('has schema')) sleep(app, 'one')
      const refused = [await app.fetch('/_understudy/sessions/one'), await put(app, 'one'), await say(app, 'one')]
      for (const { text } of refused) expect(errorOf(text, 507).message).toContain(said)
      expect([await problemsOf(app), await sharedStatuses(app)]).toEqual([['one'], allFine])
      expect((await say(app, 'two')).status).toBe(200)
    },
  )

  const theirBytes: [string, () => Buffer][] = [
    ['a text', () => Buffer.alloc(9_000, 'x')],
    ['a few bytes', () => Buffer.from('theirs')],
    ['nothing', () => Buffer.alloc(0)],
    [
      'another database',
      () => {
        const database = new Driver(':memory:')
        database.exec('CREATE TABLE theirs (id); INSERT INTO theirs VALUES (5)')
        return database.serialize()
      },
    ],
  ]
  const ends: [string, (app: TestApp) => unknown][] = [
    ['read', (app) => app.fetch('/_understudy/sessions/one')],
    ['unloaded', (app) => sleep(app, 'one')],
    ['closed with the server', close],
  ]
  test.each(theirBytes.flatMap(([what, bytes]) => ends.map(([when, end]) => [what, when, bytes, end] as const)))(
    '%s written over its open file stays when it is %s',
    async (_, __, bytes, end) => {
      const dir = newFolder()
      const app = start(dir)
      for (let number = 0; number < 5; number++) expect((await say(app, 'one')).status).toBe(200)
      writeFileSync(fileOf(dir), bytes())
      await end(app)
      close()
      expect(readFileSync(fileOf(dir)).equals(bytes())).toBe(true)
      // A log of ours would be taken for a part of theirs.
      expect(readdirSync(dir).filter((name) => name.startsWith('one'))).toEqual(['one.session.db'])
    },
  )

  test('is not restored over the open default database when the server ends', async () => {
    const db = `${newFolder()}.db`
    const app = createTestApp({ db, clock: 'real' })
    expect((await app.post(CHAT, { model: 'openai/gpt-4o', ...user('Hello') })).status).toBe(200)
    writeFileSync(db, Buffer.alloc(9_000, 'x'))
    app.close()
    expect(readFileSync(db).equals(Buffer.alloc(9_000, 'x'))).toBe(true)
  })

  test.each(
    ['-wal', '-shm', '-journal'].flatMap((end): [string, string, (file: string) => void][] => [
      [end, 'a folder', (file) => mkdirSync(file)],
      [end, 'a link to nothing', (file) => symlinkSync(`${file}-nothing`, file)],
    ]),
  )('with a %s that is %s is left alone and named', async (end, _, make) => {
    const dir = newFolder()
    const app = start(dir)
    for (const name of ['one', 'two']) expect((await say(app, name)).status).toBe(200)
    sleep(app, 'one')
    const companion = fileOf(dir) + end
    rmSync(companion, { force: true })
    make(companion)
    const refused = [await say(app, 'one'), await app.fetch('/_understudy/sessions/one'), await put(app, 'one')]
    refused.push(await remove(app, 'one'), await put(app, 'one'))
    for (const answer of refused)
      expect(errorOf(answer.text, 507).message).toContain(`${companion} is not a session file of understudy`)
    expect([(await say(app, 'two')).status, await sharedStatuses(app), await problemsOf(app)]).toEqual([
      200,
      allFine,
      ['one'],
    ])
    rmSync(companion, { recursive: true })
    expect((await remove(app, 'one')).status).toBe(200)
    expect((await say(app, 'one')).headers.get('x-understudy-session-new')).toBe('true')
  })

  test('ignores a log that does not fit', async () => {
    const dir = newFolder()
    const app = start(dir)
    await say(app, 'one')
    sleep(app, 'one')
    writeFileSync(`${fileOf(dir)}-wal`, Buffer.alloc(50_000, 9))
    expect((await app.fetch('/s/one/_understudy/traces')).json().data).toHaveLength(1)
  })

  test('continues when it is repaired', async () => {
    const dir = newFolder()
    const app = start(dir)
    await say(app, 'one')
    sleep(app, 'one')
    const bytes = readFileSync(fileOf(dir))
    damage(fileOf(dir))
    expect((await say(app, 'one')).status).toBe(507)
    writeFileSync(fileOf(dir), bytes)
    expect((await say(app, 'one')).status).toBe(200)
    expect(await problemsOf(app)).toEqual([])
    expect((await app.fetch('/s/one/_understudy/traces')).json().data).toHaveLength(2)
  })
})

describe('foreign file in the session folder', () => {
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

  test('is left alone by sessions of the same name, their deletion and the next start', async () => {
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
      expect([name, (await put(app, name, { seed: 7 })).status]).toEqual([name, 201])
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
      'a link to one of the session files',
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
  test.each(theirs)('%s with the exact name of a session is neither used nor deleted', async (_, make) => {
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

  test('is rejected when it is the default database, however the paths are written', () => {
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

test('session with a damaged text index: names that at a reset, and can be deleted', async () => {
  const dir = newFolder()
  const before = start(dir)
  expect((await put(before, 'one')).status).toBe(201)
  expect((await before.post('/s/one/v2/datasets', { display_name: 'kept', path: 'Default' })).status).toBe(200)
  close()
  const database = new Driver(fileOf(dir))
  // SQLite protects the tables of its text search otherwise.
  database.unsafeMode(true)
  expect(database.prepare("UPDATE chunk_texts_config SET v = 'none' WHERE k = 'version'").run().changes).toBe(1)
  database.close()
  const app = start(dir)
  const { status, text } = await app.post('/_understudy/sessions/one/reset', {})
  const { code, message } = errorOf(text, status)
  expect([status, code]).toEqual([507, 'storage_failed'])
  expect(message).toContain('invalid fts5 file format')
  expect((await remove(app, 'one')).status).toBe(200)
})

test('session file names: are distinct in any folder and cannot leave it', async () => {
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
    'a/b',
    'a_b',
    'a-b',
    'x'.repeat(110),
    'X'.repeat(110),
  ]
  for (const name of names) expect([name, (await put(app, name)).status]).toEqual([name, 201])
  const files = readdirSync(dir)
    .filter((name) => name.endsWith('.session.db'))
    .map((name) => name.slice(0, -'.session.db'.length))
  expect(new Set(files.map((name) => name.toLowerCase())).size).toBe(names.length)
  expect(
    files.filter(
      (name) => /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(name) || name.length > 255 - '.session.db-journal'.length,
    ),
  ).toEqual([])
  const mine = (name: string) =>
    app.post(CHAT, { model: 'openai/gpt-4o', ...user('Hi') }, { 'x-understudy-session': name })
  for (const name of ['..', '.', '../up', 'a/../b', '/a', 'a//b', 'a\\b', 'x'.repeat(111)]) {
    const answer = await mine(name)
    expect([name, errorOf(answer.text, 400).code]).toEqual([name, 'invalid_session'])
  }
  expect(readdirSync(join(dir, '..')).filter((name) => !name.startsWith('sessions-'))).toEqual([])
})

test.skipIf(process.platform !== 'linux')('deleted sessions: leave no file open', async () => {
  const app = start(newFolder())
  const openFiles = () => readdirSync('/proc/self/fd').length
  // Those of the tests before it are closed first, so that they cannot hide any.
  Bun.gc(true)
  await new Promise(setImmediate)
  const before = openFiles()
  for (let index = 0; index < 30; index++) {
    await say(app, `s${index}`)
    await remove(app, `s${index}`)
  }
  // A database is closed when the last that used it is gone.
  for (let round = 0; round < 50 && openFiles() - before >= 15; round++) {
    Bun.gc(true)
    await new Promise(setImmediate)
  }
  expect(openFiles() - before).toBeLessThan(15)
})
