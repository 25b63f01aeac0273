// The TCP socket below a request. The HTTP server does not expose it, so it is found among the descriptors of the
// process by its two ends, and used through the C library. Nothing is loaded before first use.
import type { FFIFunction, Library } from 'bun:ffi'
import { readdirSync } from 'node:fs'
import { realClock } from './clock.ts'
import { once } from './once.ts'
import { openFileLimit } from './open-files.ts'

/** The two ends of a connection; `address` is that of the peer. */
interface ConnectionEnds {
  address: string
  port: number
  localPort: number
}

/** The C library of a system, and its values of SOL_SOCKET and SO_LINGER. */
interface SocketSystem {
  library: string
  linger: [level: number, option: number]
}

const SYSTEMS: Partial<Record<NodeJS.Platform, SocketSystem>> = {
  linux: { library: 'libc.so.6', linger: [1, 13] },
  darwin: { library: 'libSystem.B.dylib', linger: [0xffff, 0x80] },
}

/** How an operating system, by its name in Node, reaches its sockets; undefined where faults go through the HTTP server alone. */
export const socketSystem = (platform: NodeJS.Platform = process.platform): SocketSystem | undefined =>
  SYSTEMS[platform]

/** SO_LINGER with a timeout of 0: closing sends a RST. */
const RESET = new Int32Array([1, 0])
const READING = 0
const BOTH_WAYS = 2

const FUNCTIONS = {
  getpeername: { args: ['int', 'buffer', 'buffer'], returns: 'int' },
  getsockname: { args: ['int', 'buffer', 'buffer'], returns: 'int' },
  send: { args: ['int', 'buffer', 'usize', 'int'], returns: 'i64' },
  setsockopt: { args: ['int', 'int', 'int', 'buffer', 'u32'], returns: 'int' },
  shutdown: { args: ['int', 'int'], returns: 'int' },
} as const satisfies Record<string, FFIFunction>
type Calls = Library<typeof FUNCTIONS>['symbols']
const system = socketSystem()
const loadCalls = once(async () => system && (await import('bun:ffi')).dlopen(system.library, FUNCTIONS).symbols)

/**
 * Finds the open TCP connection between two ends. Undefined if there is none, or if the system is not supported. The
 * HTTP server above notices when it ends, and drops the request.
 */
export async function bareSocket(ends: ConnectionEnds) {
  const calls = await loadCalls()
  if (!system || !calls) return undefined
  const { send, setsockopt, shutdown } = calls
  const descriptor = descriptors().find((one) => joins(calls, one, ends))
  if (descriptor === undefined) return undefined
  // A descriptor is reused as soon as its connection is closed.
  const open = () => joins(calls, descriptor, ends)
  return {
    /** Sends bytes past the server. Resolves when the kernel has all of them, or the connection is gone. */
    async write(bytes: Uint8Array): Promise<void> {
      let rest = bytes
      while (rest.length > 0 && open()) {
        const sent = Number(send(descriptor, rest, rest.length, 0))
        if (sent > 0) rest = rest.subarray(sent)
        else await realClock.sleep(1)
      }
    },
    /** Closes the connection with a FIN after all sent bytes. */
    close(): void {
      if (open()) shutdown(descriptor, BOTH_WAYS)
    },
    /** Closes the connection with a RST. Resolves when the server has noticed. */
    async reset(): Promise<void> {
      if (!open()) return
      setsockopt(descriptor, ...system.linger, RESET, RESET.byteLength)
      // The server sees the end of input and closes its side, which sends the RST. Any other way would send a FIN
      // first.
      shutdown(descriptor, READING)
      while (open()) await nextTurn()
    },
  }
}

/** The descriptors that are open. If not even their list can be opened, all possible ones. */
function descriptors(): number[] {
  try {
    return readdirSync('/dev/fd').map(Number)
  } catch {
    return Array.from({ length: Math.min(openFileLimit(), MAX_DESCRIPTORS) }, (_, number) => number)
  }
}
const MAX_DESCRIPTORS = 65_536

/**
 * Resolves in the next turn of the event loop, when bytes given to the server have been sent.
 * @example
 * let turned = false
 * setImmediate(() => { turned = true })
 * await nextTurn()
 * turned // => true
 */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Whether a descriptor is the connection between two ends. */
function joins(calls: Calls, descriptor: number, { address, port, localPort }: ConnectionEnds): boolean {
  const peer = nameOf(descriptor, calls.getpeername)
  if (peer?.port !== port || !sameAddress(peer.address, address)) return false
  return nameOf(descriptor, calls.getsockname)?.port === localPort
}

/** One end of a socket; undefined if the descriptor is no socket. All supported systems use the same layout. */
function nameOf(descriptor: number, call: Calls['getpeername']): { address: string; port: number } | undefined {
  const name = new Uint8Array(128)
  const length = new Uint32Array([name.length])
  if (call(descriptor, name, length) !== 0) return undefined
  const view = new DataView(name.buffer)
  const port = view.getUint16(2)
  if (length[0] === V4_LENGTH) return { address: name.subarray(4, 8).join('.'), port }
  const groups = Array.from({ length: 8 }, (_, index) => view.getUint16(8 + 2 * index).toString(16))
  return { address: groups.join(':'), port }
}

const V4_LENGTH = 16

/** Whether two texts are the same address: IPv6 allows several spellings. */
const sameAddress = (one: string, other: string): boolean => canonical(one) === canonical(other)
const canonical = (address: string): string =>
  address.includes(':') ? new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname : address
