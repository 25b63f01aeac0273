// Clients that do not speak HTTP well, or at all, beside all others.
import { connect, type Socket } from 'node:net'
import { chanceOf } from './random.ts'

const HEAD =
  'POST /v2/router/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer x\r\ncontent-type: application/json\r\n'
const STREAM = '{"model":"openai/gpt-4o","stream":true,"messages":[{"role":"user","content":"Tell me a long story"}]}'
const LINES: readonly string[] = [
  '',
  'GET',
  'GET / HTTP/1.1\r\n\r\n',
  'GET /_understudy/health HTTP/1.0\r\n\r\n',
  'GET /_understudy/health HTTP/9.9\r\nhost: a\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\u0016\u0003\u0001\u0002\u0000\u0001',
  '\r\n\r\n\r\n',
  `${HEAD}content-length: 500\r\n\r\n{"model":`,
  `${HEAD}content-length: -1\r\n\r\n{}`,
  `${HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
  `${HEAD}content-length: 99999999999999999999\r\n\r\n{}`,
  `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n`,
  `${HEAD}transfer-encoding: chunked\r\n\r\n5\r\n{"a"`,
  `${HEAD}transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n`,
  `${HEAD}content-length: ${STREAM.length}\r\n\r\n${STREAM}`,
  `${HEAD}x: ${'y'.repeat(100_000)}\r\n\r\n`,
  `GET /${'z'.repeat(100_000)} HTTP/1.1\r\nhost: a\r\n\r\n`,
  'GET /_understudy/health HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(50),
  `${HEAD}expect: 100-continue\r\ncontent-length: 9\r\n\r\n`,
]
const AT_ONCE = 60
const EVERY_MS = 50

/** Opens connections without end, and reads nothing of what comes, until it is stopped. */
export function beRude(port: number, seed: number): { stop(): number } {
  const chance = chanceOf(seed)
  const open: Socket[] = []
  let count = 0
  const timer = setInterval(() => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write(chance.pick(LINES), 'latin1')
    open.push(socket)
    count++
    if (open.length > AT_ONCE) open.shift()?.destroy()
  }, EVERY_MS)
  return {
    stop() {
      clearInterval(timer)
      for (const socket of open) socket.destroy()
      return count
    },
  }
}
