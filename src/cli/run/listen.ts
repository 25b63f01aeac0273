// Listens for calls, for serve and exec.
import { addressLine } from '../../config/addresses.ts'
import { type Config, ConfigError } from '../../config.ts'
import type { Connection, ConnectionFinder } from '../../contract/core/connection.ts'
import type { Understudy } from '../../deps.ts'
import { bareSocket } from '../../lib/bare-socket.ts'
import { isLoopback } from '../../lib/hosts.ts'
import { lazy } from '../../lib/lazy.ts'
import { ListenError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine } from '../print/log.ts'

const dns = lazy<typeof import('node:dns/promises')>(() => require('node:dns/promises'))

/** Time limit for sending the last traces to the collector, in ms. */
export const FLUSH_MS = 3_000

/** Lists what is sent to addresses other than providers: the settings of a folder may be someone else's. */
export function announceAddresses(
  { log, stderr }: Pick<CommandIo, 'log' | 'stderr'>,
  { addresses }: Pick<Config, 'addresses'>,
): void {
  // Printed at once, before anything is sent.
  for (const address of addresses)
    stderr.line(
      log.isJson ? jsonLine('warn', addressLine(address), { address }) : `understudy: ${addressLine(address)}`,
    )
}

/**
 * Other machines are only allowed with a token.
 * @throws ConfigError if there is no token
 */
export function rejectOpenHost(config: Config): void {
  if (config.host !== undefined && !isLoopback(config.host) && config.token.length === 0) {
    throw new ConfigError(
      `--host ${config.host} accepts calls from other machines, so it requires --token (in a container: docker run -e UNDERSTUDY_TOKEN=<token>)`,
    )
  }
}

/** The base URL of a listening server. */
export function serverUrl({ host = '127.0.0.1' }: Pick<Config, 'host'>, port: number | undefined): string {
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
}

const NO_ADDRESS = 'not an address of this machine; omit --host for loopback, or use 0.0.0.0 for all addresses'
const REASONS: Record<string, string> = {
  EADDRINUSE:
    'the port is in use; stop the process that uses it, or choose another port with --port (0 picks a free one)',
  EADDRNOTAVAIL: NO_ADDRESS,
  EINVAL: NO_ADDRESS,
  EACCES: 'permission denied; choose a port from 1024 with --port',
}

/**
 * Listens on the host, or on both loopback addresses: `localhost` is ::1 first on some systems.
 * @throws ListenError if that fails; the sessions are closed then
 */
export async function listen(config: Config, { app, sessions }: Understudy): Promise<Bun.Server<undefined>[]> {
  const idle = idleSeconds(config)
  const on = (hostname: string, port: number) =>
    Bun.serve({
      hostname,
      port,
      idleTimeout: 0,
      reusePort: false,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      // Otherwise the server prints every connection that a fault resets, with a stack.
      development: false,
      fetch(request, server) {
        // A response may take any time. The request body has a limit of its own.
        server.timeout(request, 0)
        return app.fetch(request, new RequestConnection(request, server, idle))
      },
    })
  const host = config.host ?? '127.0.0.1'
  try {
    const first = on(host.replace(/^\[|\]$/g, ''), config.port)
    if (config.host !== undefined) return [first]
    try {
      return [first, on('::1', first.port ?? config.port)]
    } catch (error) {
      // Without IPv6 there is no ::1 to listen on. If another program listens there, it would get half of our calls.
      if ((error as { code?: string }).code !== 'EADDRINUSE' || config.port === 0) return [first]
      first.stop(true)
      throw error
    }
  } catch (error) {
    sessions.close()
    const { code, message } = error as { code?: string; message: string }
    const reason = (await isKnownHost(host)) ? (REASONS[code ?? ''] ?? message) : NO_ADDRESS
    throw new ListenError(`cannot listen on ${host}:${config.port}: ${reason}`)
  }
}

/** Whether a host has an address. The runtime fails for one without with the code of an earlier error, such as EADDRINUSE. */
const isKnownHost = (host: string): Promise<boolean> =>
  dns()
    .lookup(host.replace(/^\[|\]$/g, ''))
    .then(
      () => true,
      () => false,
    )

/** The connection of a request in progress. There is one for every request, so it is a class without closures. */
class RequestConnection implements ConnectionFinder {
  readonly #request: Request
  readonly #server: Bun.Server<undefined>
  readonly #idle: number
  /** @param idle seconds for which it may stay open without another request */
  constructor(request: Request, server: Bun.Server<undefined>, idle: number) {
    this.#request = request
    this.#server = server
    this.#idle = idle
  }

  async find(): Promise<Connection | undefined> {
    const client = this.#server.requestIP(this.#request)
    const { port } = this.#server
    if (!client || port === undefined) return undefined
    return bareSocket({ address: client.address, port: client.port, localPort: port })
  }

  peer(): string | undefined {
    const client = this.#server.requestIP(this.#request)
    return client ? `${client.address}:${client.port}` : undefined
  }

  leaves(): void {
    this.#server.timeout(this.#request, this.#idle)
  }
}

/** The server's longest timeout, in seconds, and its steps. */
const [MAX_IDLE_S, IDLE_STEP_S] = [255, 4]
/** Below this, one step less would close a connection that was just used. */
const MIN_ROUNDED_S = 3 * IDLE_STEP_S

/** How long a connection may be idle: the server closes it within the step before. */
function idleSeconds({ client_timeout }: Pick<Config, 'client_timeout'>): number {
  const seconds = Math.min(MAX_IDLE_S, client_timeout / 1_000)
  return seconds < MIN_ROUNDED_S ? Math.ceil(seconds) : Math.floor(seconds / IDLE_STEP_S) * IDLE_STEP_S
}
