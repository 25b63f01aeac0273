// --log json: a line a call on standard error, with ids and without anything that was said.
import { afterAll, expect, test } from 'bun:test'
import { logCallsAsJson } from '../src/cli/json-log.ts'
import { createTestApp } from './support/app.ts'
import { EXECUTABLE, emptyFolder, environment } from './support/server.ts'

const CHAT = '/v2/router/chat/completions'
const SECRET = 'Xylophone-4711'
const body = (more: object = {}) => ({
  model: 'openai/gpt-4o-mini',
  messages: [{ role: 'user', content: `Tell me about ${SECRET}` }],
  ...more,
})
const folder = emptyFolder()
afterAll(folder.remove)

test('each call is a line with its ids', async () => {
  const app = createTestApp()
  const lines: string[] = []
  logCallsAsJson(app.understudy, { add: (line) => void lines.push(line) })
  const answer = await app.post(CHAT, body())
  await app.post(CHAT, body({ temperature: SECRET }))
  await app.post(CHAT, body({ name: SECRET.repeat(1_000), stream: true }))
  app.close()
  const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(first).toEqual({
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    level: 'info',
    message: 'call',
    session: 'default',
    trace: answer.headers.get('x-understudy-trace'),
    call: 1,
    operation: 'chat.completions',
    point: expect.any(String),
    model: 'openai/gpt-4o-mini',
    stream: false,
    status: 200,
    outcome: 'answered',
    error: null,
    duration_ms: 0,
    attempts: 1,
    fixture: null,
  })
  expect(second).toMatchObject({ level: 'warn', status: 400, outcome: 'refused' })
  expect(lines).toHaveLength(3)
  expect(lines.join()).not.toContain(SECRET)
  for (const line of lines) expect(line.length).toBeLessThan(4_000)
})

test('the executable writes them on standard error, and the last of them at its end', async () => {
  const args = [EXECUTABLE, 'serve', '--port', '0', '--db', ':memory:', '--json', '--log', 'json']
  const child = Bun.spawn(args, { cwd: folder.path, env: environment(), stdout: 'pipe', stderr: 'pipe' })
  const reader = child.stdout.getReader()
  const ready = JSON.parse(new TextDecoder().decode((await reader.read()).value)) as { url: string }
  const calls = 3
  for (let call = 0; call < calls; call++)
    await fetch(`${ready.url}${CHAT}`, {
      method: 'POST',
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify(body()),
    }).then((answer) => answer.text())
  child.kill()
  const printed = await new Response(child.stderr).text()
  const lines = printed.trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { call: number }).call)).toEqual([1, 2, 3])
})
