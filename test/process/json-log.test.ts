// --log json: one line for each call on standard error, with ids and without content.
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { logCallsAsJson } from '../../src/cli/print/log.ts'
import { createTestApp } from '../support/app.ts'
import { runCommand } from '../support/cli.ts'
import { EXECUTABLE, emptyFolder, environment, run } from '../support/server.ts'

const CHAT = '/v2/router/chat/completions'
const SECRET = 'Xylophone-4711'
const body = (more: object = {}) => ({
  model: 'openai/gpt-4o-mini',
  messages: [{ role: 'user', content: `Tell me about ${SECRET}` }],
  ...more,
})
const folder = emptyFolder()
afterAll(folder.remove)

test('JSON log: has a line with ids for each call', async () => {
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
    outcome: 'succeeded',
    error: null,
    duration_ms: 0,
    attempts: 1,
    fixture: null,
  })
  expect(second).toMatchObject({ level: 'warn', status: 400, outcome: 'http_error' })
  expect(lines).toHaveLength(3)
  expect(lines.join()).not.toContain(SECRET)
  for (const line of lines) expect(line.length).toBeLessThan(4_000)
})

test('JSON log: is written to standard error by the executable, up to its last line', async () => {
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

describe('JSON log lines', () => {
  const parsed = (text: string) =>
    text
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const fields = JSON.parse(line) as Record<string, unknown>
        expect([String(fields.time), typeof fields.message]).toEqual([expect.stringMatching(/Z$/), 'string'])
        expect(['info', 'warn', 'error']).toContain(String(fields.level))
        expect(line).not.toContain('\u001b')
        return fields
      })
  const messagesIn = (text: string) => parsed(text).map(({ message }) => String(message))

  test('are JSON for the start, warnings, notices, unknown paths and requests', async () => {
    const own = join(folder.path, 'warns')
    mkdirSync(own)
    // Its clock is no real provider's, and its collector is nowhere.
    writeFileSync(
      join(own, 'understudy.yaml'),
      'clock: virtual\nproviders: { openai: { base_url: "http://127.0.0.1:9", api_key: x, backend: forward } }\n',
    )
    const args = [
      'serve',
      '--port',
      '0',
      '--db',
      ':memory:',
      '--log',
      'json',
      '--verbose',
      '--otlp',
      'http://127.0.0.1:9',
    ]
    const env = { ...environment(), FORCE_COLOR: '1' }
    const child = Bun.spawn([EXECUTABLE, ...args], { cwd: own, env, stdout: 'pipe', stderr: 'pipe' })
    const reader = child.stdout.getReader()
    const first = new TextDecoder().decode((await reader.read()).value)
    const [ready] = parsed(first)
    expect({ ...ready }).toMatchObject({
      level: 'info',
      message: 'ready',
      pid: child.pid,
      mode: 'forward',
      db: ':memory:',
    })
    const url = String(ready?.url)
    const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
    await fetch(`${url}/nowhere\u001b[2J`, { headers })
    await fetch(`${url}/v2/datasets`, { headers })
    await fetch(`${url}${CHAT}`, { method: 'POST', headers, body: JSON.stringify(body({ model: 'anthropic/x' })) })
    child.kill()
    const printed = await new Response(child.stderr).text()
    const lines = parsed(printed)
    const messages = lines.map(({ message }) => String(message))
    for (const part of ['real clock', 'GET /nowhere', 'telemetry: ', 'call'])
      expect([part, messages.some((one) => one.includes(part))]).toEqual([part, true])
    expect(messages.filter((one) => one.startsWith('understudy:'))).toEqual([])
    expect(lines).toContainEqual(
      expect.objectContaining({ message: 'request', method: 'GET', path: '/v2/datasets', status: 200 }),
    )
    // A call has one line, not another one for people.
    expect(messages.filter((one) => one.includes('chat.completions'))).toEqual([])
  })

  const mistakes: [string, string[], Record<string, string>, number, RegExp][] = [
    ['a setting', ['serve', '--log', 'json', '--port', 'x'], {}, 2, /--port must be a number from 0 to 65535, got "x"/],
    ['an option', ['serve', '--log=json', '--nonsense'], {}, 2, /--nonsense/],
    [
      'the environment',
      ['serve', '--port', 'x'],
      { UNDERSTUDY_LOG: 'json' },
      2,
      /--port must be a number from 0 to 65535, got "x"/,
    ],
    ['a file', ['serve', '--log', 'json', '--fixtures', 'nowhere'], {}, 2, /nowhere/],
    ['a missing command', ['exec', '--log', 'json', '--', 'no-such-program'], {}, 2, /no such program/],
    ['a scenario', ['exec', '--log', 'json', '--scenario', 'outrage', '--', 'true'], {}, 2, /outrage/],
  ]
  test.each(mistakes)('are JSON for an error in %s', async (_, args, env, status, message) => {
    const { code, stdout, stderr } = await runCommand(args, { cwd: folder.path, env })
    expect([code, stdout]).toEqual([status, ''])
    expect(messagesIn(stderr).join()).toMatch(message)
  })

  test('are JSON for a port that is in use', async () => {
    const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
    const { code, stderr } = await runCommand(['serve', '--log', 'json', '--port', String(other.port)], {
      cwd: folder.path,
    })
    await other.stop(true)
    expect(code).toBe(1)
    expect(messagesIn(stderr).join()).toContain('the port is in use')
  })

  test('are JSON for what exec prints beside the output of its command', async () => {
    const script = `fetch(process.env.OPENAI_BASE_URL + '/nowhere', { headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY } })`
    const { code, stderr } = await run(['exec', '--log', 'json', '--verbose', '--', process.execPath, '-e', script], {
      cwd: folder.path,
    })
    expect(code).toBe(0)
    expect(messagesIn(stderr).join()).toContain('/v1/nowhere')
  })

  test('are absent without --log json', async () => {
    const { stderr } = await runCommand(['serve', '--port', 'x'], { cwd: folder.path })
    expect(stderr).toStartWith('understudy: --port must be a number from 0 to 65535, got "x"')
  })
})
