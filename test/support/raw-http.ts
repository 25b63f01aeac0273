// HTTP on bare sockets: what a client's own socket gets, and a provider that misbehaves exactly as it is told to.
import { connect, createServer, type Server, type Socket } from 'node:net'
import { allRead } from '../../src/lib/unread-bytes.ts'

/** A response as it came on a socket. */
export interface RawResponse {
  status: number
  headers: Headers
  /** The body with its chunks joined, as far as it came. */
  body: string
  /** How the connection ended: in order, by a reset, or by ourselves because nothing came any more. */
  end: 'FIN' | 'RST' | 'silence'
  /** Whether the body was cut before its end, or its framing was wrong. */
  broken: boolean
}

/** Turns of the event loop after which it has looked at its sockets. */
const TURNS = [1, 2]

/** The bytes of a request that posts JSON. */
function requestText(path: string, body: object, headers: Record<string, string>): string {
  const text = JSON.stringify(body)
  const lines = Object.entries({
    host: 'localhost',
    authorization: 'Bearer any',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${text}`
}

/** A connection that is kept: each post resolves when its response, which has a length, is there. */
export function openConnection(url: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  return {
    post(path: string, body: object, headers: Record<string, string>): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      let bytes = Buffer.alloc(0)
      const read = (piece: Buffer) => {
        bytes = Buffer.concat([bytes, piece])
        const headEnd = bytes.indexOf('\r\n\r\n')
        const length = Number(/content-length: (\d+)/i.exec(bytes.toString('latin1'))?.[1])
        if (headEnd < 0 || bytes.length < headEnd + 4 + length) return
        socket.off('data', read)
        resolve()
      }
      socket.on('data', read)
      socket.write(requestText(path, body, headers))
      return promise
    },
    close: () => socket.destroy(),
  }
}

/** A silence after which a connection is ended from here. */
interface Silence {
  /** Milliseconds without a byte. */
  ms: number
  /** Whether something comes before it, however late. */
  isPartial?: boolean
}

/** Posts JSON on a connection of its own, and reads until that ends or, if a silence is given, until that. */
export function postRaw(
  url: string,
  body: object,
  headers: Record<string, string> = {},
  silence?: Silence,
): Promise<RawResponse> {
  const { hostname, port, pathname, search } = new URL(url)
  const { promise, resolve } = Promise.withResolvers<RawResponse>()
  const pieces: Buffer[] = []
  const socket = connect(Number(port), hostname)
  socket.on('data', (piece: Buffer) => {
    if (silence?.isPartial && pieces.length === 0) socket.setTimeout(silence.ms)
    pieces.push(piece)
  })
  socket.on('end', () => resolve(parsed(Buffer.concat(pieces), 'FIN')))
  socket.on('error', () => resolve(parsed(Buffer.concat(pieces), 'RST')))
  if (silence) {
    socket.on('timeout', async () => {
      const before = pieces.length
      // A loop that was busy all the time has not looked at the socket yet.
      for (const _ of TURNS) await new Promise(setImmediate)
      if (pieces.length > before) return
      resolve(parsed(Buffer.concat(pieces), 'silence'))
      socket.destroy()
    })
    if (!silence.isPartial) socket.setTimeout(silence.ms)
  }
  socket.write(requestText(`${pathname}${search}`, body, { connection: 'close', ...headers }))
  return promise
}

function parsed(bytes: Buffer, end: RawResponse['end']): RawResponse {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return { status: 0, headers: new Headers(), body: '', end, broken: true }
  const [first = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
  const headers = new Headers(lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]))
  const rest = bytes.subarray(headEnd + 4)
  const { body, whole } = headers.has('transfer-encoding') ? unchunked(rest) : asAnnounced(rest, headers)
  return { status: Number(first.split(' ')[1]), headers, body: body.toString(), end, broken: !whole }
}

const asAnnounced = (body: Buffer, headers: Headers) => ({
  body,
  whole: body.length === Number(headers.get('content-length') ?? body.length),
})

function unchunked(bytes: Buffer): { body: Buffer; whole: boolean } {
  const chunks: Buffer[] = []
  let at = 0
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size = lineEnd < 0 ? Number.NaN : Number.parseInt(bytes.subarray(at, lineEnd).toString(), 16)
    if (Number.isNaN(size)) return { body: Buffer.concat(chunks), whole: false }
    if (size === 0) return { body: Buffer.concat(chunks), whole: true }
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}

/** What a misbehaving provider sends: its connection breaks where `broken` says so, as `end` has it. */
export interface StubResponse {
  status: number
  contentType: string
  headers?: Record<string, string>
  pieces: readonly string[]
  end: RawResponse['end']
  broken: boolean
  /** What is sent in the place of the next chunk, and ends the connection. */
  garbage?: string
}

/** A provider that answers every request with what `answer` says then; `null` closes the connection without a byte. */
export async function startStub(): Promise<{ url: string; answer: StubResponse | null; stop(): void }> {
  const sockets = new Set<Socket>()
  const stub = { url: '', answer: null as StubResponse | null, stop() {} }
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    let request = Buffer.alloc(0)
    socket.on('data', (piece: Buffer) => {
      request = Buffer.concat([request, piece])
      const headEnd = request.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(request.toString('latin1'))?.[1] ?? 0)
      if (headEnd < 0 || request.length < headEnd + 4 + length) return
      request = Buffer.alloc(0)
      void respond(socket, stub.answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  stub.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  stub.stop = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return stub
}

/** After the kernel has handed over the last bytes: until the client, in this process perhaps, has had its turn. */
const PAUSE_MS = 50

async function respond(socket: Socket, answer: StubResponse | null): Promise<void> {
  if (!answer) return void socket.end()
  const { status, contentType, headers = {}, pieces, end, broken, garbage } = answer
  // What ends in order and is no stream has a length.
  const whole = broken || contentType.startsWith('text/event-stream') ? undefined : Buffer.from(pieces.join(''))
  const written = (text: string | Buffer) => new Promise<void>((resolve) => socket.write(text, () => resolve()))
  if (status > 0) {
    const framing = whole ? { 'content-length': whole.length } : { 'transfer-encoding': 'chunked' }
    const lines = { ...(contentType && { 'content-type': contentType }), ...framing, ...headers }
    const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`)
    await written(`HTTP/1.1 ${status} X\r\n${head.join('')}\r\n`)
  }
  if (whole) await written(whole)
  else for (const piece of pieces) await written(`${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`)
  if (!broken && !whole) await written('0\r\n\r\n')
  // The client reads what was sent before the connection is gone: a reset would throw it away.
  if (broken) {
    await allRead(`${socket.remoteAddress}:${socket.remotePort}`)
    await Bun.sleep(PAUSE_MS)
    for (const _ of TURNS) await new Promise(setImmediate)
  }
  if (garbage !== undefined) await written(garbage)
  if (end === 'RST') socket.resetAndDestroy()
  else socket.end()
}
