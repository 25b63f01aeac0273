// A process that is stopped: no new sessions, running calls finish, and health says so until then.
import { afterAll, describe, expect, test } from 'bun:test'
import { accepted } from '../support/accepted.ts'
import { createTestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { runCommand, serveHere } from '../support/cli.ts'
import { errorOf } from '../support/errors.ts'
import { emptyFolder, type Server, startServer } from '../support/server.ts'

const folder = emptyFolder()
const running: Server[] = []
afterAll(async () => {
  await Promise.all(running.map((server) => server.stop('SIGKILL')))
  folder.remove()
})
const started = <Started extends Server>(server: Started): Started => {
  running.push(server)
  return server
}
const ARGS = ['--db', ':memory:', '--instance', 'a']
/** A server of this process, which ends it as a signal does. */
const start = async (...args: string[]) => started(await serveHere([...ARGS, ...args], {}))
/** A process, where it is the process that must end. */
const startProcess = async (...args: string[]) => started(await startServer([...ARGS, ...args], { cwd: folder.path }))
const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
const body = JSON.stringify({ model: 'openai/gpt-4o', stream: true, ...user('Hello') })
const say = (server: Server, session: string) =>
  fetch(`${server.url}/s/${session}${CHAT}`, { method: 'POST', headers, body })
/** A session whose streams last until they are cut. */
const slow = async (server: Server, session: string, wait: string) => {
  const scenario = { name: 'slow', rules: [{ name: 'wait', fault: { type: 'delay', for: wait } }] }
  const made = { method: 'PUT', headers, body: JSON.stringify({ scenario }) }
  await accepted(fetch(`${server.url}/_understudy/sessions/${session}`, made))
}
/** Resolves when the call of that session has begun. */
async function busy(server: Server): Promise<void> {
  const calls = async () => (await fetch(`${server.url}/_understudy/sessions/busy`, { headers })).json()
  while (((await calls()) as { calls: number }).calls === 0);
}
/** Resolves when a server has begun to drain. */
async function draining(server: Server): Promise<Response> {
  for (;;) {
    const health = await fetch(`${server.url}/_understudy/health`)
    if (health.status === 503) return health
  }
}

describe('SIGTERM', () => {
  test.concurrent('finishes a running call, reports draining in health, begins no session, and exits with 0', async () => {
    const server = await startProcess()
    await slow(server, 'busy', '2s')
    const answer = say(server, 'busy')
    await busy(server)
    const stopped = server.stop('SIGTERM')
    expect(((await (await draining(server)).json()) as { status: string }).status).toBe('draining')
    const health = await runCommand(['health', '--url', server.url])
    expect([health.code, health.stderr]).toEqual([1, 'understudy: a is draining\n'])
    const refused = await say(server, 'new')
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(errorOf(await refused.text(), 503).code).toBe('draining')
    expect((await (await answer).text()).trim().endsWith('data: [DONE]')).toBe(true)
    expect(await stopped).toBe(0)
  })

  test.concurrent('cuts off a call that exceeds --drain-timeout', async () => {
    const server = await startProcess('--drain-timeout', '100ms')
    await slow(server, 'busy', '10m')
    const answer = say(server, 'busy')
      .then((response) => response.text())
      .then(
        () => 'whole',
        () => 'cut',
      )
    await busy(server)
    expect(await server.stop('SIGTERM')).toBe(0)
    expect(await answer).toBe('cut')
  })
})

test.concurrent('drain: rejects new sessions only after a health poller has seen it, and then the process ends', async () => {
  const server = await start()
  const health = async () => (await fetch(`${server.url}/_understudy/health`)).status
  // As a balancer does; one question alone is of somebody who has waited for the start.
  expect([await health(), await health(), await health()]).toEqual([200, 200, 200])
  await slow(server, 'busy', '3s')
  const answer = say(server, 'busy')
  await busy(server)
  const stopped = server.stop('SIGTERM')
  await draining(server)
  const told = await say(server, 'new')
  expect([told.status, (await told.text()).trim().endsWith('data: [DONE]')]).toEqual([200, true])
  let refused: Response
  for (let number = 0; ; number++) {
    refused = await say(server, `later-${number}`)
    const text = await refused.text()
    // The server answers this after a while, since a call is in progress: a fast machine would begin thousands of sessions.
    if (refused.ok) {
      await fetch(`${server.url}/s/busy/_understudy/verify?wait=50ms`, { headers })
      continue
    }
    expect(errorOf(text, 503).code).toBe('draining')
    break
  }
  expect((await (await answer).text()).trim().endsWith('data: [DONE]')).toBe(true)
  expect(await stopped).toBe(0)
})

test.concurrent('drain: begins a new session after a single readiness check, as from a balancer after a start', async () => {
  const server = await start()
  expect((await fetch(`${server.url}/_understudy/readyz`)).status).toBe(200)
  const began = performance.now()
  const stopped = server.stop('SIGTERM')
  await draining(server)
  expect((await say(server, 'new')).status).toBe(200)
  expect(await stopped).toBe(0)
  expect(performance.now() - began).toBeGreaterThan(1_000)
})

test.each(['hang', 'stall-stream'])('drain: does not wait for an endless %s', async (type) => {
  for (const latency of ['real', 'skip']) {
    const server = await start('--drain-timeout', '10m')
    const scenario = { name: 'silent', rules: [{ name: 'silence', fault: { type } }] }
    const settings = { scenario, clock: 'virtual', latency }
    await accepted(
      fetch(`${server.url}/_understudy/sessions/busy`, { method: 'PUT', headers, body: JSON.stringify(settings) }),
    )
    const answer = say(server, 'busy').then(restOf, () => 'cut')
    await busy(server)
    expect(await server.stop('SIGINT')).toBe(0)
    expect(await answer).toBe('cut')
  }
})

test('drain: waits for a call while another server of this process is silent', async () => {
  const silent = await start()
  const settings = { scenario: { name: 'silent', rules: [{ name: 'silence', fault: { type: 'hang' } }] } }
  const made = { method: 'PUT', headers, body: JSON.stringify(settings) }
  await accepted(fetch(`${silent.url}/_understudy/sessions/busy`, made))
  const cut = say(silent, 'busy').then(restOf, () => 'cut')
  await busy(silent)
  const server = await start()
  await slow(server, 'busy', '500ms')
  const whole = say(server, 'busy').then(restOf, () => 'cut')
  await busy(server)
  expect(await server.stop('SIGTERM')).toBe(0)
  expect((await whole).trim().endsWith('data: [DONE]')).toBe(true)
  expect(await silent.stop('SIGTERM')).toBe(0)
  expect(await cut).toBe('cut')
})

/** What a server sends, until it ends it: whole or cut. */
const restOf = (response: Response) =>
  response.text().then(
    (text) => text,
    () => 'cut',
  )

describe('waiting stream during drain', () => {
  test.concurrent("does not delay the end and is ended as a page, such as the inspector's", async () => {
    const server = await start('--drain-timeout', '10m')
    const paths = ['live', 'live?sessions=all&as=numbers']
    const live = await Promise.all(paths.map((path) => fetch(`${server.url}/_understudy/${path}`, { headers })))
    const texts = live.map(restOf)
    expect(await server.stop('SIGTERM')).toBe(0)
    for (const text of await Promise.all(texts)) expect(text).toStartWith('event: ready')
  })

  test.concurrent('gets the current verdict when the time for calls is over', async () => {
    const server = await start('--drain-timeout', '2s')
    await slow(server, 'busy', '10m')
    const call = say(server, 'busy').then(restOf, () => 'cut')
    await busy(server)
    const verdict = fetch(`${server.url}/s/busy/_understudy/verify?wait=60s`, { headers })
    expect(await server.stop('SIGTERM')).toBe(0)
    expect(await call).toBe('cut')
    expect(await (await verdict).json()).toMatchObject({ session: 'busy', pending: 1 })
  })
})

test.concurrent.each(['SIGTERM', 'SIGINT'] as const)(
  'drain: ends what waits for a call at once after a second %s',
  async (signal) => {
    const server = await startProcess('--drain-timeout', '10m')
    await slow(server, 'busy', '10m')
    const call = say(server, 'busy').then(restOf, () => 'cut')
    await busy(server)
    const stopped = server.stop('SIGTERM')
    await draining(server)
    let over = false
    void stopped.then(() => (over = true))
    // That which comes with the first, to the group and from who is in front of us, is not meant so.
    while (!over) {
      void server.stop(signal)
      await Bun.sleep(200)
    }
    expect([await stopped, await call]).toEqual([1, 'cut'])
  },
)

test.concurrent('health command: prints one line, and exits with 1 without a server', async () => {
  const server = await start()
  const up = await runCommand(['health', '--url', server.url])
  expect(up).toEqual({ code: 0, stdout: 'a is ok, with 1 session\n', stderr: '' })
  const port = new URL(server.url).port
  expect((await runCommand(['health'], { env: { UNDERSTUDY_PORT: port } })).code).toBe(0)
  await server.stop()
  const down = await runCommand(['health', '--url', server.url])
  expect([down.code, down.stderr]).toEqual([1, `understudy: no server responds at ${server.url}\n`])
})

test('--instance-strict: rejects a session that no balancer sees and says where its name must be', async () => {
  const strict = createTestApp({ instance: 'a', instance_strict: true })
  const seen = { 'x-understudy-session': 'mine' }
  const answers = [
    await strict.post('/_understudy/sessions', { name: 'mine' }),
    await strict.fetch('/_understudy/traces?session=mine'),
    await strict.post('/_understudy/sessions', { name: 'mine' }, seen),
    await strict.fetch('/_understudy/traces?session=mine', { headers: seen }),
    await strict.fetch('/_understudy/sessions/other', { method: 'PUT' }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 200, 200, 201])
  const { code, message } = errorOf(answers[0]?.text ?? '', 400)
  expect(code).toBe('session_not_visible')
  expect(message).toContain('session "mine" is named where a balancer does not see it')
  await strict.close()
})

test.each([
  [
    'an HTML page',
    () => new Response('<html>Nothing here.</html>', { status: 503 }),
    '(status 503) is not from an Understudy server',
  ],
  ['something else', () => Response.json({ fine: true }), 'is not an Understudy server'],
])('health command: reports that there is no server when it receives %s', async (_, answer, said) => {
  const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
  const url = `http://127.0.0.1:${other.port}`
  const { code, stdout, stderr } = await runCommand(['health', '--url', url])
  await other.stop(true)
  expect([code, stdout, stderr.split('\n').length]).toEqual([1, '', 2])
  expect(stderr).toContain(`${url} ${said}`)
})

test('snapshot command: reports that there is no server when it receives an HTML page', async () => {
  const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('<html></html>') })
  const url = `http://127.0.0.1:${other.port}`
  const { code, stderr } = await runCommand(['snapshot', 'save', 'x.json', '--url', url], { cwd: folder.path })
  await other.stop(true)
  expect([code, stderr.split('\n').length]).toEqual([1, 2])
  expect(stderr).toContain(`the response from ${url} (status 200) is not from an Understudy server`)
})
