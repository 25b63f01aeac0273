// What orchestrators ask a server, and its response metrics: through a socket, as they do.
import { afterAll, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { serveHere } from '../support/cli.ts'
import { EXECUTABLE, emptyFolder, environment, type Server, startServer } from '../support/server.ts'

const folder = emptyFolder()
const running: Server[] = []
afterAll(async () => {
  await Promise.all(running.map((server) => server.stop()))
  folder.remove()
})
const TOKEN = 'let-me-in'
const start = async (...args: string[]) => {
  const server = await serveHere(['--db', ':memory:', ...args], {})
  running.push(server)
  return server
}
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
const CHAT = '/v1/chat/completions'
const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello' }] })
const say = (url: string, session: string, more: RequestInit = {}) =>
  fetch(`${url}/s/${session}${CHAT}`, { method: 'POST', headers, body, ...more })
const scenarioFor = (url: string, session: string, rules: object[]) =>
  fetch(`${url}/_understudy/sessions/${session}`, {
    ...{ method: 'PUT', headers, body: JSON.stringify({ scenario: { name: 'bad', rules } }) },
  })
const probe = async (url: string, path: string, method = 'GET') => {
  const answer = await fetch(`${url}/_understudy/${path}`, { method })
  return [answer.status, await answer.text()]
}

test('livez and readyz: answer without a token and create no session', async () => {
  const { url } = await start('--token', TOKEN)
  expect(await probe(url, 'livez')).toEqual([200, '{"status":"ok"}'])
  expect(await probe(url, 'readyz')).toEqual([200, '{"status":"ok"}'])
  expect(await probe(url, 'livez', 'HEAD')).toEqual([200, ''])
  expect(await probe(url, 'readyz', 'HEAD')).toEqual([200, ''])
  await fetch(`${url}/s/nobody/_understudy/readyz`)
  const { data } = (await (await fetch(`${url}/_understudy/sessions`, { headers })).json()) as { data: object[] }
  expect(data).toHaveLength(1)
})

test('livez and readyz: read no session', async () => {
  const app = createTestApp()
  const { sessions } = app.understudy
  await app.fetch('/_understudy/livez')
  const refuse = () => {
    throw new Error('it looks at sessions')
  }
  Object.assign(sessions, { list: refuse, overAll: refuse, get: refuse, peek: refuse, find: refuse, problems: refuse })
  for (const path of ['livez', 'readyz']) expect((await app.fetch(`/_understudy/${path}`)).status).toBe(200)
  app.close()
})

test.concurrent.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s: finishes a running call, with readyz 503 and livez 200 until then',
  async (signal) => {
    const { url, stop } = await startServer(['--db', ':memory:', '--token', TOKEN], { cwd: folder.path })
    await scenarioFor(url, 'busy', [{ name: 'wait', fault: { type: 'delay', for: '2s' } }])
    const call = say(url, 'busy')
    const calls = async () => (await fetch(`${url}/_understudy/sessions/busy`, { headers })).json()
    while (((await calls()) as { calls: number }).calls === 0);
    const stopped = stop(signal)
    while ((await probe(url, 'readyz'))[0] !== 503);
    expect(await probe(url, 'readyz')).toEqual([503, '{"status":"draining"}'])
    expect(await probe(url, 'livez')).toEqual([200, '{"status":"ok"}'])
    expect((await call).status).toBe(200)
    expect(await stopped).toBe(0)
  },
)

test.concurrent.skipIf(process.platform !== 'linux')('nohup: lets a server outlive its terminal', async () => {
  const args = ['serve', '--port', '0', '--json', '--db', ':memory:']
  const child = Bun.spawn(['nohup', EXECUTABLE, ...args], {
    ...{ cwd: folder.path, env: environment(), stdin: 'ignore', stdout: 'pipe', stderr: 'ignore' },
  })
  const { value } = await child.stdout.getReader().read()
  const { url } = JSON.parse(new TextDecoder().decode(value)) as { url: string }
  child.kill('SIGHUP')
  expect(await probe(url, 'readyz')).toEqual([200, '{"status":"ok"}'])
  expect(await probe(url, 'livez')).toEqual([200, '{"status":"ok"}'])
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
})

test('PUT of a session: returns 201 when created, 200 when equal, 409 when different', async () => {
  const app = createTestApp()
  const put = async (settings: object, name = 'mine') => {
    const { status, text } = await app.fetch(`/_understudy/sessions/${name}`, {
      ...{ method: 'PUT', body: JSON.stringify(settings), headers: { 'content-type': 'application/json' } },
    })
    return [status, (JSON.parse(text) as { name?: string }).name]
  }
  expect(await put({ seed: 4 })).toEqual([201, 'mine'])
  expect(await put({ seed: 4 })).toEqual([200, 'mine'])
  expect(await put({})).toEqual([200, 'mine'])
  expect(await put({ seed: 5 })).toEqual([409, undefined])
  expect(await put({}, 'default')).toEqual([200, 'default'])
  await app.post(
    CHAT,
    { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] },
    { 'x-understudy-session': 'called' },
  )
  expect(await put({}, 'called')).toEqual([200, 'called'])
  await app.fetch('/_understudy/sessions/mine', { method: 'DELETE' })
  expect(await put({ seed: 5 })).toEqual([201, 'mine'])
  app.close()
})

test('response metrics: count every response by status, and connections that end without one', async () => {
  const { url } = await start('--token', TOKEN)
  const counts = async () => {
    const text = await (await fetch(`${url}/_understudy/metrics`)).text()
    const lines = [...text.matchAll(/^understudy_responses_total\{status="(\w+)"\} (\d+)$/gm)]
    return Object.fromEntries(lines.map(([, status = '', count]) => [status, Number(count)]))
  }
  await scenarioFor(url, 'reset', [{ name: 'reset', fault: { type: 'reset' } }])
  await scenarioFor(url, 'cut', [{ name: 'cut', fault: { type: 'truncate-body', announce: 'whole' } }])
  await scenarioFor(url, 'gone', [{ name: 'gone', fault: { type: 'empty-reply' } }])
  await scenarioFor(url, 'hang', [{ name: 'hang', fault: { type: 'hang' } }])
  await scenarioFor(url, 'busy', [{ name: 'busy', fault: { type: 'http-error', status: 418 } }])
  const before = await counts()
  for (let call = 0; call < 3; call++) expect((await say(url, 'a', { headers: {} })).status).toBe(401)
  await say(url, 'a', { headers: { ...headers, authorization: 'Bearer guessed' } })
  await say(url, 'a', { headers: { ...headers, authorization: 'Basic abc' } })
  for (const session of ['reset', 'gone'])
    await say(url, session)
      .then((r) => r.text())
      .catch(() => {})
  await say(url, 'busy')
  await fetch(`${url}/v2/nothing`, { headers })
  const client = new AbortController()
  const left = say(url, 'hang', { signal: client.signal }).catch(() => {})
  const applied = async () => {
    const scenario = await fetch(`${url}/s/hang/_understudy/scenario`, { headers })
    return ((await scenario.json()) as { rules: { applied: number }[] }).rules[0]?.applied
  }
  let asked = 1
  while (!(await applied())) asked++
  client.abort()
  await left
  let now = await counts()
  let scrapes = 2
  while ((now.none ?? 0) < 3) {
    now = await counts()
    scrapes++
  }
  const difference = Object.fromEntries(
    Object.entries(now).map(([status, count]) => [status, count - (before[status] ?? 0)]),
  )
  expect(difference).toMatchObject({ 401: 5, 418: 1, 404: 1, none: 3 })
  // Those that asked, too, but for the last.
  expect(difference[200]).toBe(asked + scrapes - 1)
})
