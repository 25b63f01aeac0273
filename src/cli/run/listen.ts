// Listens for calls: for serve and for exec.
import { addressLine } from '../../config/addresses.ts'
import { type Config, ConfigError } from '../../config.ts'
import type { Connection, ConnectionFinder } from '../../contract/core/connection.ts'
import type { Understudy } from '../../deps.ts'
import { bareSocket } from '../../lib/bare-socket.ts'
import { isLoopback } from '../../lib/hosts.ts'
import { ListenError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine } from '../print/log.ts'

/** How long the collector of traces may take for the last of them, in ms. */
export const FLUSH_MS = 3_000

/** Names what is sent to whom that is no provider itself: the settings of a folder may be somebody else's. */
export function announceAddresses(
  { log, stderr }: Pick<CommandIo, 'log' | 'stderr'>,
  { addresses }: Pick<Config, 'addresses'>,
): void {
  // At once, and not with the lines of a server that runs: it stands there before anything is sent.
  for (const address of addresses)
    stderr.line(
      log.isJson ? jsonLine('warn', addressLine(address), { address }) : `understudy: ${addressLine(address)}`,
    )
}

/** Other machines are let in with a token alone. */
export function rejectOpenHost(config: Config): void {
  if (config.host !== undefined && !isLoopback(config.host) && config.token.length === 0) {
    throw new ConfigError(
      `--host ${config.host} accepts calls from other machines, so it requires --token (in a container: docker run -e UNDERSTUDY_TOKEN=<token>)`,
    )
  }
}

/** The address of a server that listens, as clients write it. */
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
 * @throws ListenError where that cannot be; the sessions are closed then
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
      // Else the server prints every connection that a fault resets, with a stack.
      development: false,
      fetch(request, server) {
        // Nobody knows how long an answer takes; its body has a limit of its own.
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
      // A machine without IPv6 has no ::1 to listen on; one where somebody else listens there would get half our calls.
      if ((error as { code?: string }).code !== 'EADDRINUSE' || config.port === 0) return [first]
      first.stop(true)
      throw error
    }
  } catch (error) {
    sessions.close()
    const { code, message } = error as { code?: string; message: string }
    throw new ListenError(`cannot listen on ${host}:${config.port}: ${REASONS[code ?? ''] ?? message}`)
  }
}

/** The connection of a request that is being answered. There is one for every request, so it is no closure. */
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

  find(): Promise<Connection | undefined> {
    return connectionOf(this.#request, this.#server)
  }

  peer(): string | undefined {
    const client = this.#server.requestIP(this.#request)
    return client ? `${client.address}:${client.port}` : undefined
  }

  leaves(): void {
    this.#server.timeout(this.#request, this.#idle)
  }
}

/** The longest that the server can time, in seconds, and the steps in which it does. */
const [MAX_IDLE_S, IDLE_STEP_S] = [255, 4]
/** Below, a step less would close what has just been used. */
const MIN_ROUNDED_S = 3 * IDLE_STEP_S

/** For how long a connection may be unused: the server ends it within the step before. */
function idleSeconds({ client_timeout }: Pick<Config, 'client_timeout'>): number {
  const seconds = Math.min(MAX_IDLE_S, client_timeout / 1_000)
  return seconds < MIN_ROUNDED_S ? Math.ceil(seconds) : Math.floor(seconds / IDLE_STEP_S) * IDLE_STEP_S
}

/** The bare connection of a request that is being answered. */
async function connectionOf(request: Request, server: Bun.Server<undefined>): Promise<Connection | undefined> {
  const client = server.requestIP(request)
  if (!client || server.port === undefined) return undefined
  return bareSocket({ address: client.address, port: client.port, localPort: server.port })
}
