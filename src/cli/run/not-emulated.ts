// Calls of APIs that are not emulated, while a command runs: they are rejected by name, and counted, since they were
// not tested.

import type { ServerHttp2Stream } from 'node:http2'
import { connect, createServer, type Socket } from 'node:net'
import {
  addressFor,
  NOT_EMULATED_APIS,
  notEmulatedApiAt,
  notEmulatedResponse,
  unaddressed,
} from '../../compat/not-emulated.ts'
import { ConfigError } from '../../config.ts'
import type { Understudy } from '../../deps.ts'
import { lazy } from '../../lib/lazy.ts'
import { counted } from '../../lib/units.ts'
import { sumOf } from '../../lib/values.ts'
import { cutWhole } from '../../lib/well-formed.ts'
import type { ExecRun } from '../print/report-schemas.ts'
import { withFetch } from './wrapped.ts'

/** Calls of one path of an API that is not emulated. */
export type NotEmulatedCalls = ExecRun['not_emulated'][number]

/** Maximum number of reported paths. */
const MAX_PATHS = 50
const MAX_PATH_LENGTH = 200

/** The calls by variable, method and path. */
export type NotEmulatedByPath = Map<string, NotEmulatedCalls>

/** Wraps the program so that it rejects calls of APIs that are not emulated, and counts them in `calls`. */
export function withNotEmulated(understudy: Understudy, calls: NotEmulatedByPath): Understudy {
  const note = (call: Omit<NotEmulatedCalls, 'count'>) => {
    const key = `${call.variable} ${call.method} ${call.path}`
    const found = calls.get(key)
    if (found) found.count++
    else if (calls.size < MAX_PATHS) calls.set(key, { ...call, count: 1 })
  }
  return withFetch(understudy, async (request, hold) => {
    const found = notEmulatedApiAt(request.url)
    if (!found) return understudy.app.fetch(request, hold)
    const { method } = request
    // The query is omitted: clients put keys there.
    const call = { ...found, path: cutWhole(found.path, MAX_PATH_LENGTH) }
    note({ api: call.api.name, variable: call.variable, method, path: call.path })
    return notEmulatedResponse(call, method)
  })
}

/**
 * Environment variables that direct clients of these APIs here until `stop`, unless they have an address.
 * @param url the address of the app
 * @param leave variables that must not be changed
 */
export async function leadHere(
  { app }: Pick<Understudy, 'app'>,
  url: string,
  environment: Readonly<Record<string, string | undefined>>,
  leave: readonly string[] = [],
) {
  const apis = unaddressed(environment, leave)
  const port = apis.some(({ http2 }) => http2) ? await openHttp2Port(app, url) : undefined
  return {
    variables: Object.fromEntries(
      apis.map((api) => [api.variable, addressFor(api.http2 && port ? port.url : url, api)]),
    ),
    stop: () => port?.stop(),
  }
}

/** Adds the calls of one of several runs: of equal ones, the most of a run count. */
export function mergeCalls(all: NotEmulatedByPath, run: NotEmulatedByPath): void {
  for (const [key, call] of run) {
    const count = Math.max(call.count, all.get(key)?.count ?? 0)
    if (all.has(key) || all.size < MAX_PATHS) all.set(key, { ...call, count })
  }
}

/** Why a run with such calls proves less than it seems, one reason per API. */
export function notEmulatedReasons(calls: readonly NotEmulatedCalls[]): string[] {
  const apis = Map.groupBy(calls, ({ api }) => api)
  return [...apis].map(([api, same]) => {
    const total = sumOf(same, ({ count }) => count)
    return `${counted(total, 'call')} to ${api} ${total === 1 ? 'was' : 'were'} not tested, because it is not emulated`
  })
}

/**
 * The variables of `--leave-env`.
 * @throws ConfigError for an unknown one
 */
export function leftVariables(names: readonly string[]): readonly string[] {
  const known = NOT_EMULATED_APIS.map(({ variable }) => variable)
  const other = names.find((name) => !known.includes(name))
  if (other === undefined) return names
  throw new ConfigError(`--leave-env must be one of ${known.join(', ')}, got ${JSON.stringify(other)}`)
}

const http2 = lazy<typeof import('node:http2')>(() => require('node:http2'))

/** The start of every HTTP/2 connection, which no HTTP/1.1 request has. */
const PREFACE = 'PRI * HTTP/2.0'

type App = Pick<Understudy['app'], 'fetch'>

/**
 * Listens on a free loopback port. The app answers HTTP/2 requests, without their bodies; every other connection is
 * forwarded to the server.
 * @param url the address of the server
 */
async function openHttp2Port(app: App, url: string) {
  const open = new Set<Socket>()
  const keep = (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    // A client that disconnects needs no response.
    socket.on('error', () => socket.destroy())
  }
  let streams: ReturnType<typeof serveHttp2> | undefined
  const listener = createServer((socket) => {
    keep(socket)
    socket.once('data', (first: Buffer) => {
      socket.pause()
      if (first.subarray(0, PREFACE.length).toString('latin1') === PREFACE) {
        streams ??= serveHttp2(app, url)
        socket.unshift(first)
        streams.emit('connection', socket)
        socket.resume()
        return
      }
      const { hostname, port } = new URL(url)
      const server = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) })
      keep(server)
      socket.once('close', () => server.destroy())
      server.once('close', () => socket.destroy())
      server.write(first)
      socket.pipe(server).pipe(socket)
    })
  })
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject)
    listener.listen(0, '127.0.0.1', resolve)
  })
  const address = listener.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    stop() {
      listener.close()
      for (const socket of open) socket.destroy()
    },
  }
}

/** An HTTP/2 server for connections that are passed to it. */
function serveHttp2(app: App, url: string) {
  const server = http2().createServer()
  server.on('stream', (stream: ServerHttp2Stream, { ':method': method = 'GET', ':path': path = '/' }) => {
    stream.on('error', () => stream.destroy())
    const answer = async () => {
      const response = await app.fetch(new Request(`${url}${path}`, { method }))
      const body = await response.text()
      if (stream.destroyed) return
      stream.respond({ ...Object.fromEntries(response.headers), ':status': response.status })
      stream.end(body)
    }
    answer().catch(() => stream.destroy())
  })
  return server
}
