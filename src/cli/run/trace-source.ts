// The sources of the trace command: a running server, or a database file.
import { existsSync } from 'node:fs'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { ConfigError, SETTINGS, serverAddress } from '../../config.ts'
import type { Exchange } from '../../contract/core/exchange.ts'
import type { TraceSaved } from '../../contract/core/observation.ts'
import type { StoredTrace, TraceRecord } from '../../contract/core/trace.ts'
import { openReadOnly } from '../../db/open.ts'
import { traceStore } from '../../db/trace-store.ts'
import { READ_ONLY } from '../../db/writer.ts'
import { operationNamed } from '../../endpoints/index.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { quote } from '../../schema/validation.ts'
import { DEFAULT_SESSION } from '../../sessions/session.ts'
import { exchangeOf } from '../../views/exchange.ts'
import { numberOf } from '../commands/command-flags.ts'
import { ServerError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import type { ServerFlags } from './server.ts'

/** Selects traces. */
export interface TraceOptions extends ServerFlags {
  db?: string
  model?: string
  status?: string
  thread?: string
  since?: string
  until?: string
  limit?: string
  /** Id of the trace after which the page starts. */
  after?: string | undefined
}

/** The filters of the flags, read. Times are in ms since the epoch. */
type TraceFilters = Pick<TraceOptions, 'model' | 'thread' | 'after'> &
  Record<'status' | 'since' | 'until' | 'limit', number | undefined>

/**
 * Reads the filters of the flags, for every source alike.
 * @throws ConfigError that names the flag
 */
export function filtersOf({ model, thread, after, status, since, until, limit }: TraceOptions): TraceFilters {
  const time = (flag: string, text: string | undefined) => {
    if (text === undefined) return undefined
    const at = /^\d+$/.test(text) ? Number(text) : Date.parse(text)
    if (Number.isNaN(at)) throw new ConfigError(`--${flag} must be an ISO 8601 time, got ${JSON.stringify(text)}`)
    return at
  }
  return {
    ...{ model, thread, after },
    status: status === undefined ? undefined : numberOf('status', status, 599, 100),
    since: time('since', since),
    until: time('until', until),
    limit: limit === undefined ? undefined : numberOf('limit', limit, 200),
  }
}

/** A source of traces. */
export interface TraceSource {
  list(options: TraceOptions): Promise<TraceRecord[]>
  get(id: string): Promise<StoredTrace>
  /** The wire data of a call. */
  exchange(trace: StoredTrace): Promise<Exchange>
  /** Traces as they are saved from now on; undefined if not supported, as by a file. */
  follow(): AsyncIterable<TraceRecord> | undefined
}

/** As a session name: all sessions. */
export const ALL_SESSIONS = 'all'

/** The named database; otherwise the server; otherwise, if none is running here, the database in this folder. */
export function traceSource(io: Pick<CommandIo, 'env' | 'stderr'>, options: TraceOptions): TraceSource {
  const { db, session = DEFAULT_SESSION } = options
  if (db !== undefined) return fileSource(db, options.session)
  const inFile = session === DEFAULT_SESSION
  const server = serverSource(io, options)
  const fallback = SETTINGS.db.fallback
  if (serverAddress(io.env, options).named || !inFile || !existsSync(fallback)) return server
  let file: TraceSource | undefined
  const ask = <Result>(one: (from: TraceSource) => Promise<Result>): Promise<Result> =>
    one(server).catch((error: unknown) => {
      if (!(error instanceof Unreachable)) throw error
      file ??= fileSource(fallback, undefined)
      return one(file)
    })
  return {
    list: (wanted) => ask((from) => from.list(wanted)),
    get: (id) => ask((from) => from.get(id)),
    exchange: (trace) => ask((from) => from.exchange(trace)),
    follow: () => (file ?? server).follow(),
  }
}

class Unreachable extends ServerError {}

function serverSource({ env, stderr }: Pick<CommandIo, 'env' | 'stderr'>, options: TraceOptions): TraceSource {
  const { url, token } = serverAddress(env, options)
  const all = options.session === ALL_SESSIONS
  const headers = new Headers({ authorization: `Bearer ${token}` })
  if (options.session && !all) headers.set('x-understudy-session', options.session)
  const ask = async (path: string): Promise<unknown> => {
    let response: Response
    try {
      response = await directFetch(`${url}${path}`, { headers })
    } catch {
      throw new Unreachable(`no server responds at ${url}: start one with 'understudy serve', or read a file with --db`)
    }
    const body = (await response.json().catch(() => undefined)) as { message?: string } | undefined
    if (!response.ok || body === undefined) {
      throw new ServerError(
        body?.message ?? `the server at ${url} is not an Understudy server (status ${response.status})`,
      )
    }
    return body
  }
  async function* follow(): AsyncGenerator<TraceRecord> {
    const response = await directFetch(`${url}/_understudy/live${all ? '?sessions=all' : ''}`, { headers })
    if (!response.ok || !response.body)
      throw new ServerError(`${url} does not stream events (status ${response.status})`)
    const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
    for await (const { event, data } of events) {
      if (event === 'trace-saved') yield (JSON.parse(data) as TraceSaved).trace
      if (event === 'dropped') {
        const { count } = JSON.parse(data) as { count: number }
        stderr.line(`understudy: ${count} events were dropped because they arrived faster than they were read`)
      }
    }
    throw new ServerError(`the server at ${url} has stopped`)
  }
  return {
    async list(options) {
      const { after, ...filters } = filtersOf(options)
      const used = Object.entries({ ...filters, starting_after: after, all: all ? 'true' : undefined })
      const query = new URLSearchParams(
        used.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
      )
      return ((await ask(`/_understudy/traces?${query}`)) as { data: TraceRecord[] }).data
    },
    get: async (id) => (await ask(`/_understudy/traces/${encodeURIComponent(id)}?all=${all}`)) as StoredTrace,
    exchange: async ({ id }) =>
      (await ask(`/_understudy/traces/${encodeURIComponent(id)}/exchange?all=${all}`)) as Exchange,
    follow,
  }
}

/**
 * The traces of a file, and the selected session; undefined for all.
 * @throws ConfigError with the `hint` if the file has no such session
 */
export function openTraces(file: string, only: string | undefined, hint = '') {
  const store = traceStore(openReadOnly(file), READ_ONLY)
  const session = only === ALL_SESSIONS ? undefined : only
  const names = session === undefined ? [] : store.sessions()
  if (session === undefined || names.includes(session)) return { store, session }
  const there = names.join(', ') || 'no calls'
  throw new ConfigError(`--session ${quote(session)} is not in ${file}, which contains ${there}${hint}`)
}

/** A server's file contains its default session, that of an exec run all sessions that were used. */
function fileSource(file: string, only: string | undefined): TraceSource {
  const hint = '; named sessions are kept by the server, or in the file of exec --db'
  const { store, session } = openTraces(file, only, hint)
  return {
    async list(options) {
      const { limit = 50, ...filters } = filtersOf(options)
      return store.list({ ...filters, limit, session }).data
    },
    async get(id) {
      const trace = store.get(id)
      if (!trace) throw new ServerError(`there is no trace with the id ${JSON.stringify(id)} in ${file}`)
      return trace
    },
    exchange: async (trace) => exchangeOf(trace, { traces: store, operation: operationNamed }),
    follow: () => undefined,
  }
}
