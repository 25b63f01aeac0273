// A port for clients that use HTTP/2 without TLS, as Amazon Bedrock's client for Node.js does: the server itself
// supports only HTTP/1.1.
import type { ServerHttp2Stream } from 'node:http2'
import { connect, createServer, type Socket } from 'node:net'
import type { Understudy } from '../../deps.ts'
import { lazy } from '../../lib/lazy.ts'

const http2 = lazy<typeof import('node:http2')>(() => require('node:http2'))

/** The start of every HTTP/2 connection, which no HTTP/1.1 request has. */
const PREFACE = 'PRI * HTTP/2.0'

type App = Pick<Understudy['app'], 'fetch'>

/**
 * Listens on a free loopback port. The app answers HTTP/2 requests, without their bodies; every other connection is
 * forwarded to the server.
 * @param url the address of the server
 */
export async function openHttp2Port(app: App, url: string) {
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
