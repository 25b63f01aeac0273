// understudy trace: what calls were made, from a running server or from its database file.
import { existsSync } from 'node:fs'
import { styleText } from 'node:util'
import { Command } from 'commander'
import { ConfigError, SETTINGS, serverAddress } from '../config.ts'
import type { StoredTrace, TraceRecord } from '../contract/trace.ts'
import { quote } from '../contract/validation.ts'
import { openReadOnly } from '../db/open.ts'
import { traceStore } from '../db/trace-store.ts'
import { realClock } from '../lib/clock.ts'
import { DEFAULT_SESSION } from '../sessions/sessions.ts'
import { TraceError } from './errors.ts'
import { waterfall } from './waterfall.ts'

interface Options {
  url?: string
  token?: string
  db?: string
  session?: string
  model?: string
  status?: string
  thread?: string
  since?: string
  until?: string
  limit?: string
  /** Id of the trace that the page goes on after. */
  after?: string | undefined
  json?: boolean
}

/** Where traces are read from. */
interface Source {
  list(options: Options): Promise<TraceRecord[]>
  get(id: string): Promise<StoredTrace>
}

export function traceCommand(): Command {
  const trace = new Command('trace').description('show the calls that were made')
  const sub = (name: string, description: string) => {
    const command = new Command(name).description(description)
    command
      .option('--url <URL>', 'the server (default: UNDERSTUDY_URL, else http://127.0.0.1:4010)')
      .option('--token <TOKEN>', 'a token that may call')
      .option('--db <FILE>', 'read this database instead of asking a server')
      .option('--session <NAME>', 'the session (default: default)')
      .option('--json', 'print JSON: one line a trace')
    trace.addCommand(command)
    return command
  }
  const filters = (command: Command) =>
    command
      .option('--model <ID>', 'only calls of this model')
      .option('--status <CODE>', 'only calls answered with this status')
      .option('--thread <ID>', 'only calls of this thread')
      .option('--since <TIME>', 'only calls from this ISO 8601 time on')
      .option('--until <TIME>', 'only calls up to this ISO 8601 time')
  filters(sub('list', 'list traces, newest first'))
    .option('--limit <N>', 'how many, newest first, 1 to 200 (default: 50)')
    .action(async (options: Options) => {
      const traces = await source(options).list(options)
      if (traces.length === 0 && !options.json) console.log('no traces')
      for (const record of traces) print(record, options)
    })
  sub('show', 'show one trace: its steps and attempts over time, its request and answer')
    .argument('<ID>', 'id of the trace, from list or the header x-understudy-trace')
    .action(async (id: string, options: Options) => show(await source(options).get(id), options))
  filters(sub('tail', 'print traces as calls are made, until stopped')).action(tail)
  return trace
}

async function tail(options: Options): Promise<void> {
  const from = source(options)
  const seen = new Set<string>()
  const unseen = async (): Promise<TraceRecord[]> => {
    const fresh: TraceRecord[] = []
    for (let after: string | undefined; ; after = fresh.at(-1)?.id) {
      const page = (await from.list({ ...options, limit: String(PAGE), after })).filter(({ id }) => !seen.has(id))
      fresh.push(...page)
      for (const { id } of page) seen.add(id)
      if (page.length < PAGE) return fresh
    }
  }
  for (const { id } of await from.list({ ...options, limit: String(PAGE) })) seen.add(id)
  for (;;) {
    await realClock.sleep(TAIL_INTERVAL_MS)
    for (const record of (await unseen()).reverse()) print(record, options)
  }
}
const PAGE = 200
const TAIL_INTERVAL_MS = 300

const colour = (format: Parameters<typeof styleText>[0], text: string) =>
  styleText(format, text, { stream: process.stdout })
const statusColour = (status: number) => (status < 400 ? 'green' : status < 500 ? 'yellow' : 'red')

function print(record: TraceRecord, { json }: Options): void {
  if (json) {
    console.log(JSON.stringify(record))
    return
  }
  const { started_at, status, outcome, model, operation, stream, duration_ms, fixture, synthesized, id } = record
  const from = fixture ?? (synthesized ? 'synthesized' : '')
  console.log(
    [
      colour('dim', started_at.slice(11, 23)),
      colour(statusColour(status), String(status)),
      outcome.padEnd(12),
      `${duration_ms} ms`.padStart(9),
      (model ?? '-').padEnd(24),
      `${operation}${stream ? ' stream' : ''}`.padEnd(24),
      colour('cyan', from),
      colour('dim', id),
    ].join('  '),
  )
}

function show(trace: StoredTrace, options: Options): void {
  if (options.json) {
    console.log(JSON.stringify(trace))
    return
  }
  const { request, rendered, answer, error, usage } = trace
  print(trace, options)
  const block = (title: string, value: unknown) => {
    console.log(`\n${colour('bold', title)}`)
    console.log(JSON.stringify(value, null, 2))
  }
  for (const line of waterfall(trace, colour)) console.log(line)
  if (error) block('error', error)
  if (usage) block('usage', usage)
  block('request', request)
  if (rendered !== null) block('rendered request', rendered)
  if (answer !== null) block('answer', answer)
}

/** The database that was named; else the server; else, when none is running here, the database of this folder. */
function source(options: Options): Source {
  const { db, session = DEFAULT_SESSION } = options
  const inFile = session === DEFAULT_SESSION
  if (db !== undefined && inFile) return fileSource(db)
  if (db !== undefined) {
    throw new ConfigError(`--session ${quote(session)} is in no file: sessions with a name live in the server`)
  }
  const server = serverSource(options)
  const fallback = SETTINGS.db.fallback
  if (serverAddress(options).named || !inFile || !existsSync(fallback)) return server
  let file: Source | undefined
  const orFile =
    <Argument, Result>(ask: (from: Source) => (argument: Argument) => Promise<Result>) =>
    async (argument: Argument): Promise<Result> => {
      try {
        return await ask(server)(argument)
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error
        file ??= fileSource(fallback)
        return ask(file)(argument)
      }
    }
  return { list: orFile((from) => from.list), get: orFile((from) => from.get) }
}

class Unreachable extends TraceError {}

function serverSource(options: Options): Source {
  const { url, token } = serverAddress(options)
  const ask = async (path: string): Promise<unknown> => {
    const headers = new Headers({ authorization: `Bearer ${token}` })
    if (options.session) headers.set('x-understudy-session', options.session)
    let response: Response
    try {
      response = await fetch(`${url}${path}`, { headers })
    } catch {
      throw new Unreachable(`no server answers at ${url}: start one with 'understudy serve', or name a file with --db`)
    }
    const body = (await response.json().catch(() => undefined)) as { message?: string } | undefined
    if (!response.ok || body === undefined) {
      throw new TraceError(body?.message ?? `what answers at ${url} is no understudy (status ${response.status})`)
    }
    return body
  }
  return {
    async list({ model, status, thread, since, until, limit, after }) {
      const given = Object.entries({ model, status, thread, since, until, limit, starting_after: after })
      const query = new URLSearchParams(given.filter((pair): pair is [string, string] => pair[1] !== undefined))
      return ((await ask(`/_understudy/traces?${query}`)) as { data: TraceRecord[] }).data
    },
    get: async (id) => (await ask(`/_understudy/traces/${encodeURIComponent(id)}`)) as StoredTrace,
  }
}

function fileSource(file: string): Source {
  const store = traceStore(openReadOnly(file), { write: () => Promise.reject(new Error('opened to read')) })
  const time = (name: string, text: string | undefined) => {
    if (text === undefined) return undefined
    const at = Date.parse(text)
    if (Number.isNaN(at))
      throw new ConfigError(`--${name} ${JSON.stringify(text)} is not valid: it must be an ISO 8601 time`)
    return at
  }
  const number = (name: string, text: string | undefined, low: number, high: number) => {
    if (text === undefined) return undefined
    const value = Number(text)
    if (Number.isInteger(value) && value >= low && value <= high) return value
    throw new ConfigError(`--${name} ${JSON.stringify(text)} is not valid: it must be a number from ${low} to ${high}`)
  }
  return {
    async list({ model, status, thread, since, until, limit, after }) {
      return store.list({
        model,
        thread,
        after,
        status: number('status', status, 100, 599),
        since: time('since', since),
        until: time('until', until),
        limit: number('limit', limit, 1, 200) ?? 50,
      }).data
    },
    async get(id) {
      const trace = store.get(id)
      if (!trace) throw new TraceError(`there is no trace with the id ${JSON.stringify(id)} in ${file}`)
      return trace
    },
  }
}
