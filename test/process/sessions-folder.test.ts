// --sessions-dir: named sessions are restored after a restart, however the process ended, and one process owns the folder.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { CHAT, user } from '../support/chat.ts'
import { runCommand, serveHere } from '../support/cli.ts'
import { errorOf } from '../support/errors.ts'
import { EXECUTABLE, emptyFolder, environment, run, type Server, startServer } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const running: Server[] = []
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop('SIGKILL')
})
let count = 0
/** Arguments with a folder of sessions that no other test has. */
const own = () => {
  const dir = join(folder.path, `sessions-${++count}`)
  return { dir, args: ['--db', ':memory:', '--sessions-dir', dir] }
}
/** The files of sessions in a folder. */
const sessionsIn = (dir: string) =>
  readdirSync(dir)
    .filter((name) => name.endsWith('.db'))
    .sort()
const ask = (server: Server, path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') =>
  fetch(`${server.url}${path}`, {
    method,
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
const say = (server: Server, session: string, content = 'Hello') =>
  ask(server, `/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user(content) })
const tracesOf = async (server: Server, session: string) =>
  ((await (await ask(server, `/s/${session}/_understudy/traces?limit=200`)).json()) as { data: StoredTrace[] }).data
const textOf = async (response: Response) =>
  ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content

/** Two answered calls for each of two sessions, and a dataset; the ids of the traces. */
async function fill(server: Server): Promise<(string | null)[]> {
  const answers = await Promise.all(Array.from({ length: 4 }, (_, index) => say(server, `s${index % 2}`)))
  await ask(server, '/s/s0/v2/datasets', { display_name: 'kept', path: 'Default' })
  return answers.map((answer) => answer.headers.get('x-understudy-trace'))
}
/** What a session is made with. */
const SETTINGS = {
  seed: 7,
  clock: 'virtual',
  scenario: { name: 'slow', rules: [{ name: 'wait', fault: { type: 'delay', for: '20ms' } }] },
  fixtures: [{ match: { operation: 'chat.completions' }, reply: { content: 'Mine.' } }],
}
async function expectFilled(server: Server, ids: readonly (string | null)[]): Promise<void> {
  const found = (await Promise.all([0, 1].map((index) => tracesOf(server, `s${index}`)))).flat()
  expect(found.map(({ id }) => id).sort()).toEqual(ids.toSorted() as string[])
  const next = await say(server, 's0')
  expect(next.headers.get('x-understudy-session-new')).toBeNull()
  const info = (await (await ask(server, '/_understudy/sessions/s0')).json()) as { calls: number; origin: string }
  expect(info).toMatchObject({ calls: 3, origin: 'restored' })
  const datasets = (await (await ask(server, '/s/s0/v2/datasets')).json()) as { data: { display_name: string }[] }
  expect(datasets.data.map(({ display_name }) => display_name)).toContain('kept')
}

describe('named session in a folder', () => {
  const { dir, args } = own()
  let ids: (string | null)[]
  let server: Server
  // One process is killed for all of these, and another server opens what it left.
  beforeAll(async () => {
    const killed = await startServer(args, { cwd: folder.path })
    ids = await fill(killed)
    await ask(killed, '/_understudy/sessions/Made', SETTINGS, 'PUT')
    expect(await textOf(await say(killed, 'Made'))).toBe('Mine.')
    await say(killed, 'again')
    await ask(killed, '/_understudy/sessions/again/reset', {})
    await say(killed, 'again')
    await killed.stop('SIGKILL')
    expect(sessionsIn(dir)).toEqual(['=made', 'again', 's0', 's1'].map((name) => `${name}.session.db`))
    server = await serveHere(args, {})
  })
  afterAll(() => server.stop())

  test('is restored after SIGKILL with everything that was answered', () => expectFilled(server, ids))

  test('is restored after SIGTERM with everything that was answered', async () => {
    const another = own()
    const first = await serveHere(another.args, {})
    const answered = await fill(first)
    await first.stop('SIGTERM')
    expect(sessionsIn(another.dir)).toEqual(['s0.session.db', 's1.session.db'])
    const second = await serveHere(another.args, {})
    await expectFilled(second, answered)
    await second.stop()
  })

  test('keeps its seed, virtual time, fixtures and scenario', async () => {
    expect(await textOf(await say(server, 'Made'))).toBe('Mine.')
    const info = await (await ask(server, '/_understudy/sessions/Made', SETTINGS, 'PUT')).json()
    expect(info).toMatchObject({ seed: 7, scenario: 'slow', calls: 2, clock: { now: '2025-01-01T00:00:00.040Z' } })
    expect((await ask(server, '/_understudy/sessions/Made', { seed: 8 }, 'PUT')).status).toBe(409)
  })

  test('is removed when deleted, and reading a missing one creates no file', async () => {
    await tracesOf(server, 'nobody')
    expect(readdirSync(dir).filter((name) => name.includes('nobody'))).toEqual([])
    await say(server, 'one')
    expect((await ask(server, '/_understudy/sessions/one', undefined, 'DELETE')).status).toBe(200)
    expect(readdirSync(dir).filter((name) => name.startsWith('one'))).toEqual([])
    const anew = await say(server, 'one')
    expect(anew.headers.get('x-understudy-session-new')).toBe('true')
    expect(await tracesOf(server, 'one')).toHaveLength(1)
  })

  test('is empty after a reset, in the file too', async () => {
    expect(await tracesOf(server, 'again')).toHaveLength(1)
  })

  test('is refused to a second process with a reason', async () => {
    const second = await run(['serve', '--port', '0', ...args], { cwd: folder.path })
    expect({ code: second.code, lines: second.stderr.trim().split('\n').length }).toEqual({ code: 1, lines: 1 })
    expect(second.stderr).toContain(`sessions folder ${dir} is in use by another understudy`)
  })
})

test('session folder: prevents the start with one line when it cannot be created', async () => {
  const { code, stderr } = await runCommand(['serve', '--port', '0', '--sessions-dir', '/dev/null/sessions'], {
    cwd: folder.path,
  })
  expect(code).toBe(1)
  expect(stderr).toContain('sessions folder /dev/null/sessions cannot be made')
})

/** As a user to whom files can refuse something. */
const USER = process.getuid?.() === 0 ? 65_534 : Number(process.getuid?.())
const UNPRIVILEGED = process.getuid?.() === 0 ? `setpriv --reuid=${USER} --regid=${USER} --clear-groups` : ''
/** Starts the executable in a shell that has run something before. */
async function startInShell(before: string, args: readonly string[], user = ''): Promise<Server> {
  const command = `${before}; exec ${user} "$0" serve --port 0 --json "$@"`
  const child = Bun.spawn(['sh', '-c', command, EXECUTABLE, ...args], {
    cwd: folder.path,
    env: environment({ TMPDIR: tmpdir() }),
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const { value } = await child.stdout.getReader().read()
  const ready = JSON.parse(new TextDecoder().decode(value)) as { url: string }
  const server: Server = {
    url: ready.url,
    pid: child.pid,
    ready,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      await child.exited
      return child.exitCode
    },
  }
  running.push(server)
  return server
}

// Files may grow to so much, as on a disk that is nearly full.
const BLOCKS = 300
test.skipIf(process.platform !== 'linux')(
  'full session folder: fails a call that stores nothing, while all else is answered',
  async () => {
    const { dir, args } = own()
    const server = await startInShell(`trap '' XFSZ; ulimit -S -f ${BLOCKS}`, args)
    const kept: (string | null)[] = []
    let refused: Response | undefined
    for (let index = 0; index < 60 && !refused; index++) {
      const answer = await say(server, 'full', 'x'.repeat(25_000))
      if (answer.ok) kept.push(answer.headers.get('x-understudy-trace'))
      else refused = answer
    }
    const error = errorOf((await refused?.text()) ?? '', 507)
    expect(error.code).toBe('storage_failed')
    expect(kept.length).toBeGreaterThan(0)
    expect((await tracesOf(server, 'full')).map(({ id }) => id)).toEqual(kept.reverse() as string[])
    expect((await say(server, 'other')).status).toBe(200)
    expect((await ask(server, CHAT, { model: 'openai/gpt-4o', ...user('Hello') })).status).toBe(200)
    expect((await ask(server, '/_understudy/health')).status).toBe(200)
    await server.stop('SIGKILL')
    expect(existsSync(join(dir, 'full.session.db'))).toBe(true)
    const next = await serveHere(args, {})
    expect(await tracesOf(next, 'full')).toHaveLength(kept.length)
    await next.stop()
  },
)

test.skipIf(process.platform !== 'linux')('unreadable session file: is an error of its session alone', async () => {
  const { dir, args } = own()
  mkdirSync(dir)
  chmodSync(folder.path, 0o777)
  chmodSync(dir, 0o777)
  const first = await serveHere(args, {})
  for (const name of ['one', 'two', 'three']) expect((await say(first, name)).status).toBe(200)
  await first.stop()
  if (UNPRIVILEGED) for (const name of readdirSync(dir)) chownSync(join(dir, name), USER, USER)
  chmodSync(join(dir, 'one.session.db'), 0)
  chmodSync(join(dir, 'two.session.db'), 0o444)
  const server = await startInShell('true', args, UNPRIVILEGED)
  const remove = (name: string) => ask(server, `/_understudy/sessions/${name}`, undefined, 'DELETE')
  const unusable = async () => {
    const health = await ask(server, '/_understudy/health')
    expect(health.status).toBe(200)
    return ((await health.json()) as { counts: { sessions_unusable: number } }).counts.sessions_unusable
  }
  const refusal = async (response: Response) => errorOf(await response.text(), 507).message
  expect(await refusal(await say(server, 'one'))).toContain('EACCES')
  expect(await refusal(await remove('one'))).toContain('EACCES')
  expect(await refusal(await say(server, 'two'))).toContain('readonly database')
  expect((await say(server, 'three')).status).toBe(200)
  expect(await unusable()).toBe(2)
  expect((await remove('two')).status).toBe(200)
  expect(await unusable()).toBe(1)
  chmodSync(dir, 0o555)
  expect(await refusal(await say(server, 'new'))).toContain('EACCES')
  expect(await refusal(await remove('three'))).toContain('EACCES')
  const paths = ['/_understudy/sessions', '/_understudy/traces?all=true', '/_understudy/verify', '/v2/datasets']
  for (const path of paths) expect([path, (await ask(server, path)).status]).toEqual([path, 200])
  chmodSync(dir, 0o777)
  expect((await say(server, 'new')).status).toBe(200)
  expect((await remove('three')).status).toBe(200)
})

test.skipIf(process.platform !== 'linux')('more sessions than open files: are all answered', async () => {
  const { args } = own()
  const server = await startInShell('ulimit -n 96', args)
  const names = Array.from({ length: 40 }, (_, index) => `s${index}`)
  for (let first = 0; first < names.length; first += 10) {
    const answers = await Promise.all(names.slice(first, first + 10).map((name) => say(server, name)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  }
  expect(readdirSync(`/proc/${server.pid}/fd`).length).toBeLessThan(75)
  // All at once there may be no file for some: they are told so, and that they may call again.
  const burst = await Promise.all([...names, ...names.map((name) => `${name}-new`)].map((name) => say(server, name)))
  for (const answer of burst) {
    if (answer.ok) continue
    expect(answer.headers.get('retry-after')).toBe('1')
    const { code, message } = errorOf(await answer.text(), 503)
    expect([code, message]).toEqual(['too_many_open_files', expect.stringContaining('EMFILE')])
  }
  expect((await say(server, 's0')).status).toBe(200)
})
