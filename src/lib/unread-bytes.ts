// Bytes that a client on this machine has not read yet. In most clients a reset discards them, so a client without a
// processor for a moment would lose what had already arrived.
import { readFile } from 'node:fs/promises'
import { realClock } from './clock.ts'
import { monotonicMs } from './monotonic.ts'

/**
 * The connections of this machine (Linux, proc(5)): each line has both ends, the state and the size of both queues, in
 * hexadecimal.
 */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'].map(sharedReader)
/** States in which bytes may be unread: established, half-closed by either end. */
const OPEN = '0[1458]'
/** Maximum wait: a client that is stopped reads nothing. */
const MAX_WAIT_MS = 300
const LOOK_MS = 5

/**
 * Resolves when a client on this machine has read all that arrived, after at most 300 ms; at once for clients on other
 * machines, and on systems without this information.
 * @param peer the client's end of the connection, as `address:port`
 */
export async function allRead(peer: string): Promise<void> {
  const port = Number(peer.slice(peer.lastIndexOf(':') + 1))
  const end = monotonicMs() + MAX_WAIT_MS
  while ((await unreadBytes(port)) > 0 && monotonicMs() < end) await realClock.sleep(LOOK_MS)
}

/** Reads a file again for each caller, once for all who call until a read begins: to read a table takes the kernel 4 ms. */
function sharedReader(path: string): () => Promise<string> {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<string> | undefined
  return () => {
    next ??= last.then(() => {
      next = undefined
      const text = readFile(path, 'latin1').catch(() => '')
      last = text.then(() => undefined)
      return text
    })
    return next
  }
}

/** Bytes in the kernel's queues of the open connections with a local port, from the first table that has one. */
async function unreadBytes(port: number): Promise<number> {
  const end = port.toString(16).toUpperCase().padStart(4, '0')
  const connection = new RegExp(`^ *\\d+: \\w+:${end} \\w+:\\w+ ${OPEN} \\w+:(\\w+)`, 'gm')
  for (const read of TABLES) {
    const text = await read()
    const queues = [...text.matchAll(connection)].map(([, queued = '']) => Number.parseInt(queued, 16))
    if (queues.length > 0) return queues.reduce((sum, queued) => sum + queued)
  }
  return 0
}
