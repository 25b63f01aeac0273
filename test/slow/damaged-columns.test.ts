// Every column of a session's file with an invalid value: at most its session reports it, and nothing else breaks.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Driver from 'better-sqlite3'
import { type Answer, createTestApp, SHIPPED_WORKSPACE, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { type CallableOperation, playExamples } from '../support/example-calls.ts'
import { emptyFolder } from '../support/server.ts'
import type { Json } from '../support/workspace.ts'

const folder = emptyFolder()
const dir = join(folder.path, 'sessions')
const fileOf = (session: string) => join(dir, `${session}.session.db`)
const reported: unknown[] = []
const start = () =>
  createTestApp({ ...SHIPPED_WORKSPACE, sessions_dir: dir, clock: 'real', max_sessions: 5_000 }, (error) =>
    reported.push(error),
  )
let app: TestApp
afterAll(async () => {
  await app?.close()
  folder.remove()
})

/** What no version has ever written, as SQL. */
const VALUES: Record<string, string> = {
  'no value': 'NULL',
  'no JSON': `'{"_id":'`,
  negative: '-1',
  huge: '9223372036854775807',
  bytes: `x'00ff'`,
}
/** For columns of texts, where a number becomes one. */
const { negative: _, ...TEXT_VALUES } = VALUES
/** For columns that hold JSON. */
const JSON_VALUES: Record<string, string> = {
  'no JSON': `'{"_id":'`,
  'JSON null': `'null'`,
  'an empty object': `'{}'`,
  'a list': `'[]'`,
  huge: '9223372036854775807',
}

interface Described {
  operationId: string
  requestBody?: { content: Record<string, { examples?: Record<string, { value: Json }> }> }
}

/** Operations by their names; those that read without changing anything, too. */
function operationsOf(document: Json) {
  const operations = new Map<string, CallableOperation>()
  for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, Described>>))
    for (const [method, { operationId, requestBody }] of Object.entries(methods)) {
      if (method === 'post' && path.startsWith('/v1/') && !path.includes('/messages')) continue
      const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
      const [example] = Object.values(content?.examples ?? {})
      const body = example && { value: example.value, form: type === 'multipart/form-data' }
      operations.set(operationId, { method, path, body })
    }
  return operations
}
/** What would take away what is to be damaged, what concerns all sessions, what never ends, and sound, which is a third of each snapshot. */
const LEFT_OUT =
  /^(audioSpeech|delete|clear|remove|reset|createSession|putSession|getSession|moveClock|loadSnapshot|seedWorkspace|watchLive)/

/** A call, as `fetch` takes it. */
type Request = [path: string, body?: Json]
/** What reads the sound session, and what writes into it. */
interface Sound {
  reads: Request[]
  writes: Request[]
  /** What reads the session of the long text. */
  ofLong: Request[]
}
/** What is the same for all sessions. */
const SHARED = /^\/v1\/models|^\/_understudy\/(health|metrics|livez|readyz|scenarios|sessions)$/

/** A path with the query that it requires. */
const queried = (path: string) => (path === '/_understudy/workspace' ? `${path}?path=/v2/datasets` : path)

/** Makes a session with something of each kind, and one with a text that is stored in parts, since it makes each read slow. */
async function makeSound(): Promise<Sound> {
  const first = start()
  const replies = [{ content: '1' }, { content: '2' }]
  const fixture = { name: 'kept', match: { operation: 'chat.completions', user: 'kept' }, replies }
  const made = await first.fetch('/_understudy/sessions/sound', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ fixtures: [fixture] }),
  })
  expect(made.status).toBe(201)
  const inside: TestApp = { ...first, fetch: (path, init) => first.fetch(`/s/sound${path}`, init) }
  const operations = operationsOf((await first.fetch('/swagger/json')).json())
  const chat = (more: Json): Request => [CHAT, { model: 'openai/gpt-4o', thread: { id: 'thread' }, ...more }]
  const cached = { ...user('cached'), cache: { type: 'exact_match' } }
  const calls = [chat(user('kept')), chat(cached)]
  for (const [path, body] of calls) expect((await first.post(`/s/sound${path}`, body)).status).toBe(200)
  const long = await first.post(`/s/long${CHAT}`, { model: 'openai/gpt-4.1', ...user('long '.repeat(200_000)) })
  expect(long.status).toBe(200)
  const trace = `/_understudy/traces/${long.headers.get('x-understudy-trace')}`
  const paths = new Set<string>()
  const answers = new Map<string, Json>()
  for await (const { id, path, status, text } of playExamples(inside, operations, (id) => LEFT_OUT.test(id))) {
    expect([id, path, text, status < 300]).toEqual([id, path, text, true])
    if (operations.get(id)?.method === 'get' && !SHARED.test(path)) paths.add(queried(path))
    if (text.startsWith('{')) answers.set(id, JSON.parse(text) as Json)
  }
  await first.close()
  removeUnnamed(paths)
  const [knowledge] = [...paths].filter((path) => /^\/v2\/knowledge\/[^/]+$/.test(path))
  const { id, trace_id, product } = answers.get('submitFeedback') as Json
  const message = { role: 'user', parts: [{ kind: 'text', text: 'What day is it?' }] }
  const writes: Request[] = [
    ...calls,
    chat({ ...cached, stream: true }),
    [
      '/v2/router/responses',
      { model: 'openai/gpt-4o', input: 'Hi', previous_response_id: answers.get('responses')?.id },
    ],
    ['/v2/feedback', operations.get('submitFeedback')?.body?.value ?? {}],
    ['/v2/feedback/remove', { id, trace_id, product }],
    ['/v2/datasets', { display_name: 'new', path: 'Default' }],
    ['/v2/contacts', { external_id: 'new' }],
    ['/v2/agents/clerk/task', { message, configuration: { blocking: true } }],
    ...['vector_search', 'keyword_search', 'hybrid_search'].map(
      (search_type): Request => [`${knowledge}/search`, { query: 'return', search_type }],
    ),
  ]
  return {
    reads: ['/_understudy/sessions/sound', '/_understudy/traces?thread=thread', ...paths].map(
      (path): Request => [path],
    ),
    writes,
    ofLong: [
      ...[trace, `${trace}/exchange`, ...['traces', 'verify', 'snapshot'].map((path) => `/_understudy/${path}`)],
    ].map((path): Request => [path]),
  }
}

/** Kinds of which the examples make many, and which nothing else depends on. */
const MANY = ['dataset.version', 'datapoint', 'tool.version', 'evaluator.version', 'agent.version']

/**
 * Removes what no path names of what there is most of: each snapshot, list and verdict reads all of it. Traces of a thread stay, and the
 * last two of each kind of record.
 */
function removeUnnamed(paths: ReadonlySet<string>): void {
  const named = [...paths].join()
  const database = new Driver(fileOf('sound'))
  const traces = database.prepare('SELECT id FROM trace_rows WHERE thread IS NULL').pluck().all() as string[]
  const removeTrace = database.prepare('DELETE FROM trace_rows WHERE id = ?')
  for (const id of traces) if (!named.includes(id)) removeTrace.run(id)
  const removeRecord = database.prepare('DELETE FROM records WHERE id = ?')
  for (const kind of MANY) {
    const ids = database.prepare('SELECT id FROM records WHERE kind = ? ORDER BY seq').pluck().all(kind) as string[]
    for (const id of ids.slice(0, -2)) if (!named.includes(id)) removeRecord.run(id)
  }
  database.close()
}

type Row = Record<string, unknown>
const quoted = (name: string) => `"${name}"`

/** The row of a kind to damage: one that the paths name, else the last. */
function chosen(rows: readonly Row[], named: ReadonlySet<string>): Row | undefined {
  const byId = rows.find(({ id, key }) => named.has(String(id)) || named.has(String(key)))
  const inside = () =>
    rows.findLast((row) => [...named].some((id) => id.length > 20 && String(row.record).includes(id)))
  return byId ?? inside() ?? rows.at(-1)
}

/** A statement that finds a row again, by its primary key or its number. */
interface Place {
  where: string
  values: unknown[]
  kind: string
}
interface Column {
  /** The file that is copied. */
  file: string
  table: string
  column: string
  /** What it is damaged with, as SQL. */
  values: Record<string, string>
  /** A row of each kind; where they hold JSON, of some kinds. */
  places: Place[]
}
/** Kinds of the rows of a table that has them. */
type Kinds = ReadonlySet<string>

/** All columns with the rows to damage in them, in the first of these files in which their table has any. */
function columnsOf(files: readonly string[], named: ReadonlySet<string>): Column[] {
  const databases = files.map((file) => new Driver(file))
  // Is filled only while the records of a long list are being removed.
  databases[0]?.exec("INSERT INTO emptied VALUES ('list', 'datapoints', 1)")
  const first = new Driver(files[0])
  const tables = first
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    .pluck()
    .all() as string[]
  const found = tables.flatMap((table) => {
    const columns = first.pragma(`table_info(${quoted(table)})`) as {
      name: string
      type: string
      pk: number
    }[]
    const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => name)
    const by = keys.length > 0 ? keys : columns.map(({ name }) => name)
    const all = databases.map((database) => database.prepare(`SELECT * FROM ${quoted(table)}`).all() as Row[])
    const at = all.findIndex((rows) => rows.length > 0)
    // A new table needs an example call that fills it.
    expect([table, at >= 0]).toEqual([table, true])
    const kinds = Object.values(Object.groupBy(all[at] ?? [], ({ kind }) => String(kind)) as Record<string, Row[]>)
    const rows = kinds.flatMap((ofKind): Row[] => {
      const row = chosen(ofKind, named)
      return row ? [row] : []
    })
    const where = by.map((key) => `${quoted(key)} IS ?`).join(' AND ')
    const placeOf = (row: Row) => ({ where, values: by.map((key) => row[key]), kind: String(row.kind) })
    return columns.flatMap(({ name: column, type }): Column[] => {
      const isJson = rows.some((row) => /^[[{]/.test(String(row[column])))
      const of = {
        table,
        column,
        values: isJson ? JSON_VALUES : type === 'TEXT' ? TEXT_VALUES : VALUES,
        file: String(files[at]),
      }
      if (!isJson) return [{ ...of, places: rows.map(placeOf) }]
      // Neighbors depend on each other, as agents and tasks do: they are damaged in different sessions.
      const groups = Array.from({ length: Math.min(GROUPS, rows.length) }, (_, group) =>
        rows.filter((_, index) => index % GROUPS === group),
      )
      return groups.map((group) => ({ ...of, places: group.map(placeOf) }))
    })
  })
  for (const database of [first, ...databases]) database.close()
  return found
}

/** Sessions over which the kinds of rows are spread where they hold JSON. */
const GROUPS = 7

/** A damaged session: what is damaged, in how many rows of which kinds, and whether it is a copy of that with the long text. */
interface Damage {
  what: string
  table: string
  kinds: Kinds
  rows: number
  isLong: boolean
}

/** Writes a value into a file; gives in how many rows. The file itself refuses what breaks its rules. */
function damage(file: string, { table, column, places }: Column, value: string): number {
  const database = new Driver(file)
  database.pragma('synchronous = OFF')
  database.pragma('ignore_check_constraints = ON')
  // SQLite protects the tables of its text search otherwise.
  database.unsafeMode(true)
  let rows = 0
  for (const { where, values } of places)
    try {
      const sql = `UPDATE ${quoted(table)} SET ${quoted(column)} = ${value} WHERE ${where}`
      rows += database.prepare(sql).run(...values).changes
    } catch (error) {
      if (!/^SQLITE_(CONSTRAINT|MISMATCH)/.test(String((error as { code?: unknown }).code))) throw error
    }
  database.close()
  return rows
}

/** Makes a session for each value of each column, or of some kinds of rows where the column holds JSON. */
function damageAll(paths: readonly string[]): Map<string, Damage> {
  const named = new Set(paths.flatMap((path) => path.split(/[/?]/)))
  const made = new Map<string, Damage>()
  for (const column of columnsOf(['sound', 'long'].map(fileOf), named))
    for (const [name, value] of Object.entries(column.values)) {
      const session = `damaged-${made.size}`
      copyFileSync(column.file, fileOf(session))
      const rows = damage(fileOf(session), column, value)
      const place = column.places.length === 1 ? ` of ${column.places[0]?.values.join('/')}` : ''
      const what = `${column.table}.${column.column}${place} is ${name}`
      const kinds = new Set(column.places.map(({ kind }) => kind))
      const isLong = column.file === fileOf('long')
      if (rows > 0) made.set(session, { what, table: column.table, kinds, rows, isLong })
      else rmSync(fileOf(session))
    }
  return made
}

type Method = (this: { source: string }, ...more: unknown[]) => unknown
const METHODS = ['get', 'all', 'run', 'iterate'] as const
/** What a statement of the driver is made from. */
const prototype: Record<(typeof METHODS)[number], Method> = Object.getPrototypeOf(
  new Driver(':memory:').prepare('SELECT 1'),
)

/** The statements that are executed until a promise is settled, each with all texts that were bound to it. */
async function statementsOf(act: () => Promise<unknown>): Promise<Map<string, Set<string>>> {
  const executed = new Map<string, Set<string>>()
  const { get, all, run, iterate } = prototype
  for (const method of METHODS) {
    const own = prototype[method]
    prototype[method] = function (...more) {
      const bound = executed.get(this.source) ?? new Set()
      for (const value of more.flat()) if (typeof value === 'string') bound.add(value)
      executed.set(this.source, bound)
      return own.apply(this, more)
    }
  }
  await act().finally(() => Object.assign(prototype, { get, all, run, iterate }))
  return executed
}

/** Tables that no statement of a call needs to name: what reads them comes with every call, or with every change. */
const UNNAMED = ['session_settings']
const UNNAMED_BY_WRITES = [...UNNAMED, 'sqlite_sequence', 'emptied']

/** The tables and views that each statement of a session's file names, with the tables of the views. */
function namesIn(): (statement: string) => Set<string> {
  const database = new Driver(fileOf('sound'))
  const views = new Map(
    database.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'view'").raw().all() as [string, string][],
  )
  database.close()
  const namesOf = (statement: string): string[] =>
    (statement.match(/\w+/g) ?? []).flatMap((word) => {
      const view = views.get(word)
      return view === undefined ? [word] : namesOf(view.replace(/^.*? AS /s, ''))
    })
  return (statement) => new Set(namesOf(statement))
}

/**
 * Whether a call reads or writes rows of these kinds in a table, other than as nearly every call does to a session or its workspace that
 * is not loaded yet. What a table contains is nothing to the others.
 */
async function usesOf(
  calls: readonly Request[],
): Promise<(call: Request, damage: Pick<Damage, 'table' | 'kinds'>) => boolean> {
  const executed = new Map<Request, Map<string, Set<string>>>()
  for (const [index, call] of calls.entries()) {
    const session = `probe-${index}`
    copyFileSync(fileOf('sound'), fileOf(session))
    executed.set(call, await statementsOf(() => callIn(session, call)))
  }
  const times = (statement: string) => [...executed.values()].filter((own) => own.has(statement)).length
  const all = new Set([...executed.values()].flatMap((own) => [...own.keys()]))
  const namesOf = namesIn()
  const names = new Map(
    [...all].filter((one) => times(one) < LOADS * calls.length).map((statement) => [statement, namesOf(statement)]),
  )
  const everyKind = new Set([...damaged.values()].flatMap(({ kinds }) => [...kinds]))
  return (call, { table, kinds }) =>
    (call[1] === undefined ? UNNAMED : UNNAMED_BY_WRITES).includes(table) ||
    [...(executed.get(call) ?? [])].some(([statement, bound]) => {
      // The tables of the text search begin with the name under which it is used.
      const isNamed = [...(names.get(statement) ?? [])].some((name) => table === name || table.startsWith(`${name}_`))
      return isNamed && (bound.isDisjointFrom(everyKind) || !bound.isDisjointFrom(kinds))
    })
}
/** The share of calls from which on a statement belongs to the loading of what they use. */
const LOADS = 3 / 4

/** Makes a call in a copy of the sound session. */
const callIn = (session: string, [path, body]: Request): Promise<Answer> =>
  body === undefined
    ? app.fetch(`/s/${session}${path.replace('/sessions/sound', `/sessions/${session}`)}`)
    : app.post(`/s/${session}${path}`, body)

let sound: Sound
let damaged: Map<string, Damage>
let isUsed: Awaited<ReturnType<typeof usesOf>>
const idsOf = (answer: Answer): string[] => {
  const { data } = answer.headers.get('content-type')?.startsWith('application/json') ? answer.json() : {}
  return Array.isArray(data) ? data.map((one: Json) => String(one._id ?? one.id)) : []
}
/** Whether an answer may be that of a session with one damaged value. */
const isAllowed = ({ status, text }: Answer): boolean =>
  status < 500 || (status === 507 && /^(damaged_row|storage_failed)$/.test(errorOf(text, 507).code))

const OTHERS = [
  'health',
  'metrics',
  'livez',
  'readyz',
  'sessions',
  'traces',
  'traces?all=true',
  'calls?sessions=all',
  'verify',
  'snapshot',
]
/** What concerns all sessions, and what another one reads. */
async function othersAreFine() {
  const paths = [...OTHERS.map((path) => `/_understudy/${path}`), ...sound.reads.map(([path]) => `/s/sound${path}`)]
  const statuses: unknown[] = []
  for (const path of paths) statuses.push([path, (await app.fetch(path)).status])
  expect(statuses).toEqual(paths.map((path) => [path, 200]))
  expect((await app.post(CHAT, { model: 'openai/gpt-4o', ...user('Hi') })).status).toBe(200)
}

beforeAll(async () => {
  sound = await makeSound()
  damaged = damageAll(sound.reads.map(([path]) => path))
  app = start()
  isUsed = await usesOf([...sound.reads, ...sound.writes])
}, 60_000)

test('damaged values: do not prevent the start or other sessions', async () => {
  expect(damaged.size).toBeGreaterThan(100)
  await othersAreFine()
})

test('damaged value: is answered around or named, and its session can be reset and deleted', async () => {
  const listed = new Map<string, string[]>()
  for (const call of sound.reads) listed.set(call[0], idsOf(await callIn('sound', call)))
  const wrong: string[] = []
  for (const [session, damage] of damaged) {
    const { what, rows, isLong } = damage
    const check = (path: string, answer: Answer) => {
      if (!isAllowed(answer)) wrong.push(`${what}: ${path} ${answer.status} ${answer.text.slice(0, 300)}`)
      if (reported.length > 0) wrong.push(`${what}: ${path} reports ${(reported.splice(0)[0] as Error).stack}`)
    }
    for (const call of isLong ? sound.ofLong : sound.reads.filter((one) => isUsed(one, damage))) {
      const [path] = call
      const answer = await callIn(session, call)
      check(path, answer)
      const before = listed.get(path)
      if (answer.status !== 200 || !before?.length) continue
      const ids = idsOf(answer)
      const lost = before.filter((id) => !ids.includes(id))
      if (!isLong && lost.length > rows) wrong.push(`${what}: ${path} lists ${ids.length}, and not ${lost}`)
    }
    for (const call of sound.writes.filter((one) => isUsed(one, damage)))
      check(`POST ${call[0]}`, await callIn(session, call))
    check('reset', await app.post(`/_understudy/sessions/${session}/reset`, {}))
    const removed = await app.fetch(`/_understudy/sessions/${session}`, { method: 'DELETE' })
    if (removed.status !== 200) wrong.push(`${what}: DELETE ${removed.text}`)
  }
  expect(wrong).toEqual([])
}, 300_000)

test('damaged values: leave all other sessions as before', othersAreFine)
