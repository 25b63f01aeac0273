// The bare TCP socket beneath a request of the HTTP server, which itself offers no way to it: found among the process's
// descriptors by its two ends, and used by calls of the C library. Nothing is done before it is asked for.
import type { FFIFunction, Library } from 'bun:ffi'
import { readdirSync } from 'node:fs'
import { realClock } from './clock.ts'
import { openFileLimit } from './open-files.ts'

/** The two ends of a connection; the address is the peer's, as text. */
interface ConnectionEnds {
  address: string
  port: number
  localPort: number
}

/** A connection at the level of TCP. The server above it notices that it has ended, and gives up the request. */
interface BareSocket {
  /** Sends bytes past the server; resolves when the kernel has them all, or the connection is gone. */
  write(bytes: Uint8Array): Promise<void>
  /** Ends the connection with a FIN, after what was sent before. */
  close(): void
  /** Ends the connection with a RST; resolves when the server has noticed. */
  reset(): Promise<void>
}

/** The C library of a system, and its numbers for SOL_SOCKET and SO_LINGER. */
const SYSTEMS: Partial<Record<NodeJS.Platform, { library: string; linger: [level: number, option: number] }>> = {
  linux: { library: 'libc.so.6', linger: [1, 13] },
  darwin: { library: 'libSystem.B.dylib', linger: [0xffff, 0x80] },
}
/** An SO_LINGER of no time: what is closed is reset. */
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
let calls: Calls | undefined

/** The open connection between two ends; undefined when there is none, or on a system where this is not known to work. */
export async function bareSocket(ends: ConnectionEnds): Promise<BareSocket | undefined> {
  const system = SYSTEMS[process.platform]
  if (!system) return undefined
  calls ??= (await import('bun:ffi')).dlopen(system.library, FUNCTIONS).symbols
  const { send, setsockopt, shutdown } = calls
  const descriptor = descriptors().find((one) => joins(one, ends))
  if (descriptor === undefined) return undefined
  // A number is given to another connection as soon as this one is closed.
  const open = () => joins(descriptor, ends)
  return {
    async write(bytes) {
      let rest = bytes
      while (rest.length > 0 && open()) {
        const sent = Number(send(descriptor, rest, rest.length, 0))
        if (sent > 0) rest = rest.subarray(sent)
        else await realClock.sleep(1)
      }
    },
    close() {
      if (open()) shutdown(descriptor, BOTH_WAYS)
    },
    async reset() {
      if (!open()) return
      setsockopt(descriptor, ...system.linger, RESET, RESET.byteLength)
      // The server sees an end, closes its side, and that is the reset; any other end would send a FIN first.
      shutdown(descriptor, READING)
      while (open()) await nextTurn()
    },
  }
}

/** The numbers of what is open; where nothing more can be opened, not even their list, those that there may be. */
function descriptors(): number[] {
  try {
    return readdirSync('/dev/fd').map(Number)
  } catch {
    return Array.from({ length: Math.min(openFileLimit(), MAX_DESCRIPTORS) }, (_, number) => number)
  }
}
const MAX_DESCRIPTORS = 65_536

/**
 * Resolves in the runtime's next turn, when what was given to the server has left.
 * @example
 * let turned = false
 * setImmediate(() => { turned = true })
 * await nextTurn()
 * turned // => true
 */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Whether a descriptor is the connection between two ends. */
function joins(descriptor: number, { address, port, localPort }: ConnectionEnds): boolean {
  if (!calls) return false
  const peer = nameOf(descriptor, calls.getpeername)
  if (peer?.port !== port || !sameAddress(peer.address, address)) return false
  return nameOf(descriptor, calls.getsockname)?.port === localPort
}

/** One end of a socket, undefined when the descriptor is none; the layouts of all systems agree in these bytes. */
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

/** Whether two texts are one address: IPv6 has several ways to write each. */
const sameAddress = (one: string, other: string): boolean => canonical(one) === canonical(other)
const canonical = (address: string): string =>
  address.includes(':') ? new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname : address
