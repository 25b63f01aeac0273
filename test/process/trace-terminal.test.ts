// understudy trace list on a terminal, and tail, which prints until it is stopped.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { serveHere } from '../support/cli.ts'
import { EXECUTABLE, emptyFolder, environment, type Server } from '../support/server.ts'

const folder = emptyFolder()
const cwd = folder.path
const DB = ['--db', 'traces.db']
let server: Server
let SERVER: string[]
const ids: string[] = []

async function call(body: object, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${server.url}/v2/router/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer secret', 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }], ...body }),
  })
  await response.text()
  return response.headers.get('x-understudy-trace') ?? ''
}

beforeAll(async () => {
  server = await serveHere(['--db', 'traces.db', '--token', 'secret', '--shipped-fixtures'], { cwd })
  SERVER = ['--url', server.url, '--token', 'secret']
  ids.push(await call({}), await call({ stream: true }), await call({ temperature: 9 }))
  ids.push(await call({ model: 'anthropic/claude-sonnet-4-5', messages: [{ role: 'user', content: 'No fixture' }] }))
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

describe('trace colors on a terminal', () => {
  /** What a command prints on a terminal. */
  async function onTerminal(args: string[], env: Record<string, string> = {}, cols = 250): Promise<string> {
    const decoder = new TextDecoder()
    let printed = ''
    const data = (_: unknown, bytes: Uint8Array) => {
      printed += decoder.decode(bytes, { stream: true })
    }
    const child = Bun.spawn([EXECUTABLE, 'trace', ...args], {
      cwd,
      env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', ...env },
      terminal: { cols, rows: 50, data },
    })
    await child.exited
    return printed
  }
  const list = () => ['list', '--limit', '1', '--status', '400', ...DB]

  test('are shown to a person', async () => {
    const printed = await onTerminal(list())
    expect(printed).toContain(`\u001b[33m400\u001b[39m`)
    expect(printed).toContain(ids[2] ?? '')
  })
  test.each([80, 120])('leave the id whole when lines fit %d columns', async (cols) => {
    const printed = await onTerminal(['list', ...DB], { NO_COLOR: '1' }, cols)
    const lines = printed.split(/\r?\n/).filter((line) => line !== '')
    expect(lines.length).toBeGreaterThanOrEqual(4)
    expect(lines.filter((line) => line.length > cols)).toEqual([])
    expect(lines.map((line) => line.split(/\s+/).at(-1))).toContain(ids[3] ?? '')
    expect(printed).toContain('…')
  })
  test('are absent with --json and NO_COLOR', async () => {
    expect(await onTerminal([...list(), '--json'])).not.toContain('\u001b')
    expect(await onTerminal(list(), { NO_COLOR: '1' })).not.toContain('\u001b')
  })
})

/** Between two calls. */
const PAUSE_MS = 10
test.each(['server', 'file', 'all'])('trace tail from the %s: prints new calls and no older ones', async (from) => {
  const source = from === 'server' ? SERVER : from === 'file' ? DB : [...SERVER, '--session', 'all']
  const headers: Record<string, string> = from === 'all' ? { 'x-understudy-session': 'tailed' } : {}
  const tail = Bun.spawn([EXECUTABLE, 'trace', 'tail', '--json', '--status', '200', ...source], {
    cwd,
    stdout: 'pipe',
    env: environment(),
  })
  const reader = tail.stdout.getReader()
  const printed = reader.read()
  let waiting = true
  printed.then(() => {
    waiting = false
  })
  // Whether it looks already cannot be seen from outside, so calls are made until it prints one.
  const made: string[] = []
  while (waiting) {
    made.push(await call({ model: `openai/tail-${from}` }, headers))
    // One after the other would take the processor from it.
    await Bun.sleep(PAUSE_MS)
  }
  const [first = ''] = new TextDecoder().decode((await printed).value).split('\n')
  tail.kill()
  await tail.exited
  expect(made).toContain((JSON.parse(first) as TraceRecord).id)
  expect(ids).not.toContain((JSON.parse(first) as TraceRecord).id)
})
