// Sends of a server: the segments with data that reach a client on loopback, of which each send is one. Linux counts them for
// every connection; that is exact, and slows nobody.
import { dlopen, ptr } from 'bun:ffi'
import { headers } from './headers.ts'

const IPPROTO_TCP = 6
const TCP_INFO = 11
/** Where `tcpi_data_segs_in` stands in what TCP_INFO gives. */
const DATA_SEGMENTS_IN = 152
const SIZE = 256

function segmentCounter(): ((fd: number) => number) | undefined {
  if (process.platform !== 'linux') return undefined
  const { symbols } = dlopen('libc.so.6', {
    getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
  })
  return (fd) => {
    const info = new DataView(new ArrayBuffer(SIZE))
    const size = new Uint32Array([SIZE])
    const failed = symbols.getsockopt(fd, IPPROTO_TCP, TCP_INFO, ptr(info.buffer), ptr(size))
    if (failed || (size[0] ?? 0) < DATA_SEGMENTS_IN + 4)
      throw new Error('this system does not count the segments of TCP')
    return info.getUint32(DATA_SEGMENTS_IN, true)
  }
}

const END = '0\r\n\r\n'

/** How many sends each of some streamed answers took, one call after another on one connection; nothing where that cannot be counted. */
export async function sendsOf(
  address: string,
  { body, calls }: { body: string; calls: number },
): Promise<number[] | undefined> {
  const segments = segmentCounter()
  if (!segments) return undefined
  const { hostname, port, host, pathname, search } = new URL(address)
  const lines = Object.entries({ ...headers, host, 'content-length': String(Buffer.byteLength(body)) })
  const request = `POST ${pathname}${search} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
  let ended = Promise.withResolvers<void>()
  let tail = ''
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, bytes) {
        tail = (tail + bytes.toString('latin1')).slice(-END.length)
        if (tail === END) ended.resolve()
      },
      close: () => ended.reject(new Error('the server closed the connection')),
    },
  })
  const { fd } = socket as unknown as { fd: number }
  const counts: number[] = []
  for (let call = 0, before = 0; call < calls; call++) {
    ended = Promise.withResolvers()
    tail = ''
    socket.write(request)
    await ended.promise
    const now = segments(fd)
    counts.push(now - before)
    before = now
  }
  socket.end()
  return counts
}
