// understudy trace list and show: from a running server and from its database file, for people and for machines.

import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StoredTrace, TraceRecord } from '../../src/contract/core/trace.ts'
import { runCommand, serveHere } from '../support/cli.ts'
import { emptyFolder, type Server } from '../support/server.ts'

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
async function api(path: string): Promise<unknown> {
  return (await fetch(`${server.url}/_understudy${path}`, { headers: { authorization: 'Bearer secret' } })).json()
}
const trace = (args: string[], env: Record<string, string> = {}) => runCommand(['trace', ...args], { cwd, env })

beforeAll(async () => {
  server = await serveHere(['--db', 'traces.db', '--token', 'secret', '--shipped-fixtures'], { cwd })
  SERVER = ['--url', server.url, '--token', 'secret']
  ids.push(
    await call({}),
    await call({ stream: true, thread: { id: 't1' } }),
    await call({ temperature: 9 }),
    await call({ model: 'anthropic/claude-sonnet-4-5', messages: [{ role: 'user', content: 'No fixture' }] }),
  )
  await call({}, { 'x-understudy-session': 'other' })
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

describe.each(['server', 'file'])('trace command on a %s', (from) => {
  const source = () => (from === 'server' ? SERVER : DB)

  test('list prints a line for each call, newest first', async () => {
    const { code, stdout, stderr } = await trace(['list', ...source()])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => line.split(/\s+/).at(-1))).toEqual(ids.toReversed())
    const [missed = '', wrong = '', streamed = '', whole = ''] = lines
    expect(whole).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}200 {2}succeeded +\d+ ms +openai\/gpt-4o +chat\.completions +chat/)
    expect(whole).toContain('chat.completions/greeting')
    expect(streamed).toContain('chat.completions stream')
    expect(wrong).toMatch(/ 400 {2}HTTP error /)
    expect(missed).toContain('anthropic/claude-sonnet-4-5')
    expect(missed).toContain('generated')
  })

  test('list --json prints the records of the control API, one a line', async () => {
    const { stdout } = await trace(['list', '--json', ...source()])
    const printed = stdout.trimEnd().split('\n')
    const { data } = (await api('/traces')) as { data: TraceRecord[] }
    expect(printed.map((line) => JSON.parse(line))).toEqual(data)
  })

  const filters: [string[], number[]][] = [
    [['--model', 'anthropic/claude-sonnet-4-5'], [3]],
    [['--status', '400'], [2]],
    [['--thread', 't1'], [1]],
    [
      ['--limit', '2'],
      [3, 2],
    ],
    [['--since', '2999-01-01T00:00:00Z'], []],
    [['--since', '2999-01-01'], []],
    [['--until', '32472144000000', '--limit', '1'], [3]],
    [
      ['--until', '2999-01-01T00:00:00Z', '--status', '200'],
      [3, 1, 0],
    ],
  ]
  const invalid: [string, string, string][] = [
    ['--limit', '0', '--limit must be a number from 1 to 200, got "0"'],
    ['--status', 'ok', '--status must be a number from 100 to 599, got "ok"'],
    ['--since', 'yesterday', '--since must be an ISO 8601 time, got "yesterday"'],
    ['--until', 'soon', '--until must be an ISO 8601 time, got "soon"'],
  ]
  test.each(invalid)('list rejects %s %s with exit code 2', async (flag, value, message) => {
    const { code, stderr } = await trace(['list', flag, value, ...source()])
    expect({ code, stderr }).toEqual({ code: 2, stderr: `understudy: ${message}\n` })
  })
  test.each(filters)('list filters by %j', async (args, expected) => {
    const { stdout } = await trace(['list', '--json', ...args, ...source()])
    const printed = stdout.split('\n').filter((line) => line !== '')
    expect(printed.map((line) => JSON.parse(line).id)).toEqual(expected.map((index) => ids[index]))
  })

  test('list reports an empty result, and prints nothing with --json', async () => {
    const nothing = ['--model', 'openai/none', ...source()]
    expect(await trace(['list', ...nothing])).toEqual({ code: 0, stdout: 'no traces\n', stderr: '' })
    expect(await trace(['list', '--json', ...nothing])).toEqual({ code: 0, stdout: '', stderr: '' })
    if (from === 'file') return
    // Whoever has sessions of his own looks into the wrong one first.
    const { stdout } = await trace(['list', '--session', 'nobody', ...source()])
    expect(stdout).toBe('no traces in the session nobody; --session all shows all sessions\n')
  })

  test('show prints the attempts, the request and the response', async () => {
    const { code, stdout, stderr } = await trace(['show', ids[0] ?? '', ...source()])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^ {2}openai\/gpt-4o first +[░█]+ +succeeded 200 in \d+ ms, first content after \d+ ms$/m)
    // Colours are for terminals.
    expect(stdout).not.toContain('\u001b')
    for (const part of [
      '\nusage\n',
      '\nrequest\n',
      '"Hello!"',
      '\nPOST /v2/router/chat/completions\n',
      '\nresponse\nHTTP 200\n',
      'I am Understudy',
      ' bytes of body, complete\n',
    ]) {
      expect(stdout).toContain(part)
    }
    const refused = (await trace(['show', ids[2] ?? '', ...source()])).stdout
    expect(refused).toContain('\nerror\n')
    expect(refused).toContain("'temperature' must be at most 2")
    expect(refused).toContain('\nresponse\nHTTP 400\n')
    expect(refused).toContain('route: gateway\n')
  })

  test('show --json prints the trace of the control API with its exchange', async () => {
    const { stdout } = await trace(['show', ids[1] ?? '', '--json', ...source()])
    const exchange = await api(`/traces/${ids[1]}/exchange`)
    expect(JSON.parse(stdout)).toEqual({ ...((await api(`/traces/${ids[1]}`)) as StoredTrace), exchange })
  })

  test('show is one error line and exit code 1 for an unknown id', async () => {
    const { code, stdout, stderr } = await trace(['show', 'nope', ...source()])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^understudy: there is no trace with the id "nope" in [^\n]+\n$/)
  })
})

describe('trace selection', () => {
  test('is limited to a session by its name', async () => {
    const { stdout } = await trace(['list', '--json', '--session', 'other', ...SERVER])
    const [line = '', end] = stdout.split('\n')
    expect(JSON.parse(line)).toMatchObject({ session: 'other' })
    expect(end).toBe('')
  })
  test('covers all sessions in the order of their calls', async () => {
    const { stdout } = await trace(['list', '--json', '--session', 'all', ...SERVER])
    const printed = stdout.trimEnd().split('\n')
    const sessions = printed.map((line) => (JSON.parse(line) as TraceRecord).session)
    expect(sessions).toEqual(['other', 'default', 'default', 'default', 'default'])
    const limited = await trace(['list', '--json', '--session', 'all', '--limit', '2', ...SERVER])
    expect(limited.stdout.trimEnd().split('\n')).toEqual(printed.slice(0, 2))
    // A line says whose it is.
    const lines = (await trace(['list', '--session', 'all', ...SERVER])).stdout.split('\n')
    expect(lines[0]).toContain('  other  ')
    expect(lines[1]).toContain('  default  ')
  })
  test('continues a page over all sessions after any trace', async () => {
    const { data } = (await api('/traces?all=true')) as { data: TraceRecord[] }
    const page = (await api(`/traces?all=true&limit=2&starting_after=${data[1]?.id}`)) as { data: TraceRecord[] }
    expect(page).toMatchObject({ data: data.slice(2, 4), has_more: true })
  })
  test('shows the newest trace', async () => {
    const { stdout } = await trace(['show', 'last', '--json', ...SERVER])
    expect(JSON.parse(stdout).id).toBe(ids.at(-1))
    expect(JSON.parse((await trace(['show', 'last', '--json', ...DB])).stdout).id).toBe(ids.at(-1))
    const ofAll = await trace(['show', 'last', '--json', '--session', 'all', ...SERVER])
    expect(JSON.parse(ofAll.stdout)).toMatchObject({ session: 'other', response: expect.anything() })
    const none = await trace(['show', 'last', '--session', 'empty', ...SERVER])
    expect(none).toEqual({ code: 1, stdout: '', stderr: 'understudy: no traces yet\n' })
  })
  test('accepts the file before the command, and lists by default', async () => {
    const expected = (await trace(['list', ...DB])).stdout
    expect((await trace([...DB, 'list'])).stdout).toBe(expected)
    expect((await trace(DB)).stdout).toBe(expected)
  })
  test('prints an overview first from 24 traces on, except with --json', async () => {
    const session = ['--session', 'many']
    for (let index = 0; index < 23; index++) await call({}, { 'x-understudy-session': 'many' })
    expect((await trace(['list', ...session, ...SERVER])).stdout.trimEnd().split('\n')).toHaveLength(23)
    await call({ temperature: 9 }, { 'x-understudy-session': 'many' })
    const lines = (await trace(['list', ...session, ...SERVER])).stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^24 calls in [\d.]+ m?s: 23 succeeded, 1 HTTP 400$/)
    expect(lines.filter((line) => /^\d\d:/.test(line))).toHaveLength(24)
    const json = (await trace(['list', '--json', ...session, ...SERVER])).stdout.trimEnd().split('\n')
    expect(json.filter((line) => line.startsWith('{'))).toHaveLength(json.length)
  })
  test('uses the server and token of the environment', async () => {
    const env = { UNDERSTUDY_URL: server.url, UNDERSTUDY_TOKEN: 'secret' }
    const { code, stdout } = await trace(['show', ids[0] ?? '', '--json'], env)
    expect(code).toBe(0)
    expect(JSON.parse(stdout).id).toBe(ids[0])
  })
})

describe('trace command error', () => {
  writeFileSync(join(cwd, 'text.db'), 'no database at all, but long enough to have a header of its own')
  const foreign = new Database(join(cwd, 'foreign.db'))
  foreign.run('CREATE TABLE traces (id TEXT)')
  foreign.close()
  const stranger = Bun.serve({ port: 0, fetch: () => new Response('<html>hello</html>') })
  afterAll(() => stranger.stop())
  const rows: [string, () => string[], number, string[]][] = [
    [
      'no server',
      () => ['list', '--url', 'http://127.0.0.1:1'],
      1,
      ['no server responds at http://127.0.0.1:1', '--db'],
    ],
    ['another server', () => ['list', '--url', stranger.url.href], 1, ['is not an Understudy server (status 200)']],
    [
      'a missing address',
      () => ['list', '--url', 'localhost:8633'],
      2,
      ['--url must be an address', 'got "localhost:8633"', 'http://127.0.0.1:8633'],
    ],
    ['an invalid token', () => ['list', '--url', server.url, '--token', 'wrong'], 1, ['--token']],
    ['a missing file', () => ['list', '--db', 'nowhere.db'], 1, ['nowhere.db', '--db']],
    ['a file that is not a database', () => ['list', '--db', 'text.db'], 1, ['text.db', 'not a healthy SQLite file']],
    [
      'a database of another program',
      () => ['list', '--db', 'foreign.db'],
      1,
      ["foreign.db is not one of understudy's"],
    ],
    [
      'a session that is not in the file',
      () => ['list', '--session', 'x', ...DB],
      2,
      ['--session "x"', 'which contains default', 'kept by the server'],
    ],
    [
      'an invalid status',
      () => ['list', '--status', 'bad', ...DB],
      2,
      ['--status must be', 'got "bad"', 'from 100 to 599'],
    ],
    ['a limit that is too high', () => ['list', '--limit', '201', ...SERVER], 2, ['--limit must be', 'from 1 to 200']],
    ['an invalid time', () => ['tail', '--since', 'noon', ...DB], 2, ['--since must be', 'got "noon"', 'ISO 8601']],
    ['a missing id', () => ['show'], 2, ["'ID'"]],
    ['an unknown command', () => ['lst'], 2, ["'lst'", 'list, show, tail']],
  ]
  test.each(rows)('is one line for %s', async (_, args, code, said) => {
    const finished = await trace(args())
    expect(finished).toMatchObject({ code, stdout: '' })
    expect(finished.stderr).toMatch(/^understudy: [^\n]+\n$/)
    for (const part of said) expect(finished.stderr).toContain(part)
  })
})
