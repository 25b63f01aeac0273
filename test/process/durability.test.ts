// No answered call is lost, however the process ends; an unusable file is one clear error line.
import { afterAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { openReadOnly } from '../../src/db/open.ts'
import { createSessions } from '../../src/sessions/sessions.ts'
import { runCommand, serveHere } from '../support/cli.ts'
import { emptyFolder, run, type Server, startServer } from '../support/server.ts'

const folder = emptyFolder()
const cwd = folder.path
const start = (db: string) => startServer(['--db', db], { cwd })
const startHere = (db: string) => serveHere(['--db', join(cwd, db)], {})
afterAll(folder.remove)

const TRACE: TraceRecord = {
  id: 'trace',
  session: 'default',
  operation: 'chat.completions',
  parent: null,
  internal: false,
  name: 'chat.completions',
  model: 'openai/gpt-4o',
  stream: false,
  route: 'gateway',
  status: 200,
  outcome: 'succeeded',
  started_at: '2025-01-01T00:00:00.000Z',
  duration_ms: 1,
  fixture: null,
  generated: true,
  plan: [],
  scenario: null,
  faults: [],
  attempts: [],
  cache: null,
  guardrails: [],
  retrievals: [],
  usage: null,
  metadata: null,
  identity: null,
  thread: null,
  retry_after_ms: null,
  cost: null,
  attachments: [],
  error: null,
}
const HEARD = { arrived: 0, left: 1 }
const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
/** One call, read to its end; the id of its trace. */
async function call({ url }: Server, content: string, stream: boolean): Promise<string> {
  const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content }], stream })
  const response = await fetch(`${url}/v2/router/chat/completions`, { method: 'POST', headers, body })
  const text = await response.text()
  if (stream && !text.endsWith('data: [DONE]\n\n')) throw new Error('the stream was cut')
  return response.headers.get('x-understudy-trace') as string
}

/** Ids of all traces that a server shows. */
async function storedIds({ url }: Server): Promise<Set<string>> {
  const ids = new Set<string>()
  for (let after = '', more = true; more; ) {
    const response = await fetch(`${url}/_understudy/traces?limit=200${after}`)
    const page = (await response.json()) as { data: { id: string }[]; has_more: boolean }
    for (const { id } of page.data) ids.add(id)
    more = page.has_more
    after = `&starting_after=${page.data.at(-1)?.id}`
  }
  return ids
}

/** Calls on 16 connections until `enough` were answered, then kill -9 in the middle of the others; the answered ids. */
async function killUnderLoad(server: Server, enough: number): Promise<string[]> {
  const answered: string[] = []
  let killed: Promise<unknown> | undefined
  const client = async (number: number) => {
    for (let turn = 0; ; turn++) {
      try {
        answered.push(await call(server, `call ${turn} of ${number}`, number % 2 === 0))
      } catch {
        return
      }
      if (answered.length >= enough) killed ??= server.stop('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: 16 }, (_, number) => client(number)))
  await killed
  return answered
}

test('kill -9 under load: loses no answered call, round after round', async () => {
  const answered: string[] = []
  for (const enough of [50, 400, 150]) {
    const round = await killUnderLoad(await start('killed.db'), enough)
    expect(round.length).toBeGreaterThanOrEqual(enough)
    answered.push(...round)
    const again = await startHere('killed.db')
    const stored = await storedIds(again)
    expect(answered.filter((id) => !stored.has(id))).toEqual([])
    await again.stop()
  }
  expect(new Set(answered).size).toBe(answered.length)
  const file = openReadOnly(join(cwd, 'killed.db'))
  expect(file.pragma('integrity_check', { simple: true })).toBe('ok')
  file.close()
}, 30_000)

test('write-ahead log: stays bounded while traces are written', async () => {
  const path = join(cwd, 'long.db')
  const sessions = createSessions({
    db: path,
    seed: 0,
    time: { clock: 'real', latency: 'real' },
    instance: { name: 'here', traced: 'here', named: false },
  })
  const { traces } = sessions.get('default')
  const answer = JSON.stringify('x'.repeat(2_000))
  const record = (seq: number) =>
    traces.record(seq, { ...TRACE, id: `trace-${seq}` }, { request: 'null', rendered: 'null', answer, ...HEARD })
  for (let turn = 0; turn < 600; turn++) {
    await Promise.all(Array.from({ length: 32 }, (_, index) => record(turn * 32 + index + 1)))
  }
  expect(traces.count()).toBe(19_200)
  // A worker moves it into the file, and begins to while it grows.
  const size = () => Bun.file(`${path}-wal`).size
  for (let seq = 19_201; seq < 21_000 && size() > 24 * 2 ** 20; seq++) {
    await record(seq)
    await Bun.sleep(5)
  }
  const log = size()
  await sessions.close()
  expect(Bun.file(path).size).toBeGreaterThan(40 * 2 ** 20)
  expect(log).toBeLessThan(32 * 2 ** 20)
}, 30_000)

describe('database that cannot be used', () => {
  const prepare: [string, string, (file: string) => Promise<unknown>, string[]][] = [
    [
      'newer than the program',
      'newer.db',
      (file) => pragma(file, 'user_version = 99'),
      ['schema version 99', 'newer understudy'],
    ],
    [
      'from an older build',
      'older.db',
      (file) => pragma(file, `application_id = ${0x554e4453}`),
      ['was made by an older build', 'move it away or delete it and start again'],
    ],
    ['of another program', 'foreign.db', (file) => pragma(file, 'application_id = 7'), ['another program', '--db']],
    [
      'a file that is not a database',
      'text.db',
      async (file) => writeFileSync(file, 'notes '.repeat(1_000)),
      ['not a healthy SQLite file', '--db'],
    ],
    [
      'cut in the middle',
      'cut.db',
      (file) => damage(file, (bytes) => bytes.subarray(0, 5_000)),
      ['not a healthy SQLite file'],
    ],
    [
      'overwritten in the middle',
      'torn.db',
      (file) => damage(file, (bytes) => bytes.fill(0x5a, 4_096)),
      ['not a healthy SQLite file'],
    ],
    ['in a missing folder', 'nowhere/x.db', async () => {}, ['nowhere/x.db', 'does not exist']],
    ['a folder', '.', async () => {}, ['cannot be opened', '--db']],
  ]
  const made = async (file: string) => {
    const server = await serveHere(['--db', file], {})
    await call(server, 'one', false)
    await server.stop()
  }
  const pragma = async (file: string, text: string) => {
    await made(file)
    const database = new Database(file)
    database.pragma(text)
    database.close()
  }
  const damage = async (file: string, change: (bytes: Buffer) => Uint8Array) => {
    await made(file)
    writeFileSync(file, change(Buffer.from(await Bun.file(file).bytes())))
  }
  test.each(prepare)('is one error line and exit code 1: %s', async (_, name, prepared, said) => {
    const file = join(cwd, name)
    await prepared(file)
    const before = await Bun.file(file)
      .bytes()
      .catch(() => null)
    const { code, stdout, stderr } = await runCommand(['serve', '--port', '0', '--db', file], { cwd })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^understudy: database [^\n]+\n$/)
    for (const part of [file, ...said]) expect(stderr).toContain(part)
    expect(
      await Bun.file(file)
        .bytes()
        .catch(() => null),
    ).toEqual(before)
  })

  test('is one error line for trace when it is from an older build', async () => {
    const file = join(cwd, 'older-trace.db')
    await pragma(file, `application_id = ${0x554e4453}`)
    const before = await Bun.file(file).bytes()
    const { code, stdout, stderr } = await runCommand(['trace', 'list', '--db', file], { cwd })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      `understudy: database ${file} was made by an older build; move it away or delete it and start again\n`,
    )
    expect(await Bun.file(file).bytes()).toEqual(before)
  })

  test('is one error line when another understudy uses it, which continues', async () => {
    const server = await start('shared.db')
    const { code, stdout, stderr } = await run(['serve', '--port', '0', '--db', 'shared.db'], { cwd })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^understudy: database shared\.db is in use by another understudy: [^\n]+\n$/)
    expect(await call(server, 'still here', false)).toBeString()
    await server.stop()
    const next = await startHere('shared.db')
    expect((await storedIds(next)).size).toBe(1)
    await next.stop()
  })
})
