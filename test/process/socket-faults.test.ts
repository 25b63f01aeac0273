// Faults of the connection, as the bytes and the end that a client's own socket sees.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { Connection } from '../../src/contract/core/connection.ts'
import { ConnectionFailure, type Reply } from '../../src/contract/core/reply.ts'
import { putNothing, toResponse } from '../../src/gateway/stream/respond.ts'
import { bareSocket } from '../../src/lib/bare-socket.ts'
import { emptyFolder, type Server, startServer } from '../support/server.ts'

/** Everything that came on a connection, and how it ended. */
interface Heard {
  text: string
  end: 'FIN' | 'RST'
}

/** Sends requests on a connection of their own, each of a list when something has come for the one before, and listens to the end. */
function hear(url: string | URL, requests: string | string[]): Promise<Heard> {
  const { hostname, port } = new URL(url)
  const { promise, resolve } = Promise.withResolvers<Heard>()
  let text = ''
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''))
  const next = () => {
    const bytes = typeof requests === 'string' ? requests : requests.shift()
    if (bytes !== undefined) socket.write(bytes)
  }
  socket.on('data', (data) => {
    text += data.toString('latin1')
    if (typeof requests !== 'string' && requests.length > 1) next()
  })
  socket.on('end', () => resolve({ text, end: 'FIN' }))
  socket.on('error', (error) => {
    expect(error).toMatchObject({ code: 'ECONNRESET' })
    resolve({ text, end: 'RST' })
  })
  next()
  return promise
}

/** A program that says when it has sent a request, and then what it has received until its connection is reset. */
const READS_A_STREAM = `
  const [url, body] = process.argv.slice(1)
  const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
  const responding = fetch(url, { method: 'POST', headers, body })
  await Bun.sleep(50)
  process.stdout.write('sent')
  let text = ''
  try {
    for await (const piece of (await responding).body) text += Buffer.from(piece).toString()
    text = 'not reset'
  } catch {}
  process.stdout.write(text + ' ')
`

/** Resolves when the machine has received bytes of this server that their client has not read. */
async function reachedClient(url: string): Promise<void> {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0')
  const unread = new RegExp(`^ *\\d+: \\w+:\\w+ \\w+:${port} 0[1458] \\w+:(?!0{8})\\w+`, 'm')
  const table = async () =>
    (await Promise.all(['tcp', 'tcp6'].map((name) => Bun.file(`/proc/net/${name}`).text()))).join('')
  while (!unread.test(await table())) await Bun.sleep(LOOK_MS)
}
const LOOK_MS = 5

const CHAT = '/v2/router/chat/completions'
const WORDS = 'one two three four'
const request = (path: string, method: string, body: unknown, last = true) => {
  const text = JSON.stringify(body)
  const headers = ['host: localhost', 'authorization: Bearer any', 'content-type: application/json']
  if (last) headers.push('connection: close')
  return `${method} ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\ncontent-length: ${text.length}\r\n\r\n${text}`
}
const chat = (stream: boolean) => ({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: WORDS }], stream })
/** A call in a session; a scenario is played in those that were given one. */
const call = (session: string, { stream = true, last = true } = {}) =>
  request(`/s/${session}${CHAT}`, 'POST', chat(stream), last)

describe('socket fault of a server', () => {
  const folder = emptyFolder()
  let server: Server
  const urls: URL[] = []
  const SHORT = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"id"'
  const provider = createServer((socket) => {
    socket.once('data', (sent) => socket.end(sent.includes('/completions?short ') ? SHORT : ''))
  })
  beforeAll(async () => {
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
    const { port: providerPort } = provider.address() as AddressInfo
    const settings = `providers: { local: { base_url: "http://127.0.0.1:${providerPort}/v1", backend: forward } }`
    writeFileSync(join(folder.path, 'understudy.yaml'), settings)
    server = await startServer(['--db', ':memory:'], { cwd: folder.path })
    const { port } = new URL(server.url)
    urls.push(new URL(`http://127.0.0.1:${port}`), new URL(`http://[::1]:${port}`))
  })
  afterAll(async () => {
    expect(await server.stop()).toBe(0)
    provider.close()
    folder.remove()
  })
  const play = async (session: string, fault: object) => {
    const rules = [{ name: 'the rule', at: 'gateway', fault }]
    const answer = await hear(server.url, request(`/s/${session}/_understudy/scenario`, 'PUT', { name: 'wire', rules }))
    expect(answer.text).toStartWith('HTTP/1.1 200 OK\r\n')
  }
  const traceOf = async (session: string) => {
    const answer = await fetch(`${server.url}/s/${session}/_understudy/traces`)
    return ((await answer.json()) as { data: Record<string, unknown>[] }).data[0]
  }

  const EVENT = String.raw`[0-9a-f]+\r\ndata: \{[^\r]*\}\n\n\r\n`
  const HEAD = String.raw`^HTTP/1\.1 200 OK\r\n(?:[^\r]+\r\n)*transfer-encoding: chunked\r\n(?:[^\r]+\r\n)*\r\n`
  const JSON_CHUNK = String.raw`[0-9a-f]+\r\n\{.*\}\r\n`
  const TWO = `${HEAD}(?:${EVENT}){2}`
  const NO_CHUNK = 'no chunk size\r\n$'
  const cut = (options: object) => ({ type: 'cut-stream', ...options })
  const rows: [string, object, 'stream' | 'whole', string, Heard['end']][] = [
    ['nothing, then RST', cut({ after_bytes: 0 }), 'stream', '^$', 'RST'],
    ['nothing, then FIN', cut({ after_bytes: 0, close: 'abrupt' }), 'whole', '^$', 'FIN'],
    ['reset before a stream', { type: 'reset' }, 'stream', '^$', 'RST'],
    ['reset before a response', { type: 'reset', after: '5ms' }, 'whole', '^$', 'RST'],
    ['closed before a stream', { type: 'empty-reply' }, 'stream', '^$', 'FIN'],
    ['closed before a response', { type: 'empty-reply', after: '5ms' }, 'whole', '^$', 'FIN'],
    ['closed after a silence', { type: 'hang', for: '5ms' }, 'whole', '^$', 'FIN'],
    ['a refused connection', { type: 'http-error', status: 529 }, 'stream', '^HTTP/1\\.1 529 .*"code":"529"', 'FIN'],
    ['two events, then RST', cut({ after_chunks: 2 }), 'stream', `${TWO}$`, 'RST'],
    ['two events, then FIN', cut({ after_chunks: 2, close: 'abrupt' }), 'stream', `${TWO}$`, 'FIN'],
    ['two events, then the end', cut({ after_chunks: 2, close: 'clean' }), 'stream', `${TWO}0\r\n\r\n$`, 'FIN'],
    ['bytes of JSON, then FIN', cut({ after_bytes: 5, close: 'abrupt' }), 'whole', `${HEAD}5\r\n\\{"id"\r\n$`, 'FIN'],
    [
      'less than announced',
      { type: 'truncate-body', after_bytes: 5, announce: true },
      'whole',
      String.raw`^HTTP/1\.1 200 OK\r\n(?:[^\r]+\r\n)*content-length: \d{3,}\r\n(?:[^\r]+\r\n)*\r\n\{"id"$`,
      'FIN',
    ],
    ['two events, then no chunk', { type: 'broken-framing', after_chunks: 2 }, 'stream', `${TWO}${NO_CHUNK}`, 'FIN'],
    ['JSON, then no chunk', { type: 'broken-framing' }, 'whole', `${HEAD}${JSON_CHUNK}${NO_CHUNK}`, 'FIN'],
  ]
  test.each(rows)('sends the expected bytes: %s', async (name, fault, form, bytes, end) => {
    const session = name.replaceAll(/\W+/g, '-')
    await play(session, fault)
    for (const url of urls) {
      const heard = await hear(url, call(session, { stream: form === 'stream' }))
      expect(heard.text).toMatch(new RegExp(bytes, 'is'))
      expect(heard.end).toBe(end)
    }
    expect(await traceOf(session)).toMatchObject({ scenario: 'wire', faults: ['the rule'] })
  })

  test('breaks a kept-open connection only after it was answered before', async () => {
    await play('kept', { type: 'cut-stream', after_chunks: 1, close: 'abrupt' })
    const healthy = call('healthy', { stream: false, last: false })
    const calls = [healthy, call('kept'), healthy]
    const { text, end } = await hear(server.url, calls)
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
    expect(text).toMatch(new RegExp(`${HEAD.slice(1)}${EVENT}$`, 'i'))
    expect(end).toBe('FIN')
    expect(calls).toEqual([healthy])
  })

  test('waits with a reset until a slow client has read what reached its machine', async () => {
    const rules = [
      { name: 'late', at: 'gateway', fault: { type: 'delay', for: '300ms' } },
      { name: 'cut', at: 'gateway', fault: { type: 'cut-stream', after_chunks: 2 } },
    ]
    await hear(server.url, request('/s/stopped/_understudy/scenario', 'PUT', { name: 'wire', rules }))
    const client = Bun.spawn(
      [process.execPath, '-e', READS_A_STREAM, `${server.url}/s/stopped${CHAT}`, JSON.stringify(chat(true))],
      {
        stdout: 'pipe',
      },
    )
    const reader = client.stdout.getReader()
    await reader.read()
    // It has sent its request, and has no processor from before the response until long after the reset would have come.
    client.kill('SIGSTOP')
    await reachedClient(server.url)
    await Bun.sleep(160)
    client.kill('SIGCONT')
    const received = Buffer.from((await reader.read()).value ?? []).toString()
    expect(received.match(/data: \{/g)).toHaveLength(2)
    expect(await client.exited).toBe(0)
  })

  test('is a reset for every client of a provider that closes its connections early', async () => {
    const body = { model: 'local/any', messages: [{ role: 'user', content: WORDS }] }
    for (const query of ['', '?short']) {
      const sent = request(`/v1/chat/completions${query}`, 'POST', body)
      const heard = await Promise.all(Array.from({ length: 20 }, () => hear(server.url, sent)))
      expect(heard.map(({ end }) => end)).toEqual(Array.from({ length: 20 }, () => 'RST'))
      if (query === '') expect(heard.map(({ text }) => text).join('')).toBe('')
    }
  })

  test('does not affect parallel connections', async () => {
    await play('broken', { type: 'broken-framing' })
    const heard = await Promise.all(
      Array.from({ length: 40 }, (_, index) => hear(server.url, call(index % 2 === 0 ? 'broken' : 'well'))),
    )
    for (const [index, { text }] of heard.entries()) {
      if (index % 2 === 0) expect(text).toEndWith('\r\nno chunk size\r\n')
      else expect(text).toEndWith('data: [DONE]\n\n\r\n0\r\n\r\n')
    }
  })

  test('causes no server error and releases the connection', async () => {
    const own = await startServer(['--db', ':memory:'], { cwd: folder.path })
    const rules = ['abrupt', 'reset'].map((close, index) => ({
      name: close,
      at: 'gateway',
      when: { every: index + 1 },
      fault: { type: 'cut-stream', after_chunks: 1, close },
    }))
    await hear(own.url, request('/_understudy/scenario', 'PUT', { name: 'both', rules }))
    for (let index = 0; index < 4; index++) await hear(own.url, request(CHAT, 'POST', chat(true)))
    expect(await own.stop('SIGINT')).toBe(0)
  })
})

describe('response on the wire', () => {
  const reply = (body: Reply['body']): Reply => ({
    status: 200,
    headers: { 'x-own': 'kept' },
    body,
    usage: null,
    fixture: null,
    generated: false,
  })
  const short = (bytes: Uint8Array, announced: number) =>
    reply({ kind: 'bytes', contentType: 'text/plain', bytes, announced })
  const large = new Uint8Array(24 * 2 ** 20).fill(97)
  const answers: Record<string, (connection: Connection | undefined) => Response | Promise<Response>> = {
    '/closed': (connection) => putNothing(new ConnectionFailure('gone', 'closed'), { connection }),
    '/reset': (connection) => putNothing(new ConnectionFailure('gone'), { connection }),
    '/closed-without-hold': () => putNothing(new ConnectionFailure('gone', 'closed'), {}),
    '/short': (connection) => toResponse(short(Buffer.from('half'), 8), { connection }),
    '/short-without-hold': () => toResponse(short(Buffer.from('half'), 8)),
    '/short-and-large': (connection) => toResponse(short(large, large.length + 1), { connection }),
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(incoming, { requestIP, port = 0 }) {
      const ends = requestIP.call(server, incoming) ?? { address: '', port: 0 }
      const connection = await bareSocket({ ...ends, localPort: port })
      return (await answers[new URL(incoming.url).pathname]?.(connection)) ?? new Response('none')
    },
  })
  afterAll(() => server.stop(true))

  const SHORT =
    'HTTP/1.1 200 OK\r\nx-own: kept\r\ncontent-type: text/plain\r\ncontent-length: 8\r\nconnection: close\r\n\r\nhalf'
  const rows: [string, string, Heard['end']][] = [
    ['/closed', '', 'FIN'],
    ['/reset', '', 'RST'],
    ['/closed-without-hold', '', 'RST'],
    ['/short', SHORT, 'FIN'],
  ]
  test.each(rows)('has the expected bytes at %s', async (path, text, end) => {
    expect(await hear(server.url, request(path, 'GET', {}))).toEqual({ text, end })
  })

  test('is chunked and reset when a short one has no hold', async () => {
    const { text, end } = await hear(server.url, request('/short-without-hold', 'GET', {}))
    expect(text).toEndWith('\r\n\r\n4\r\nhalf\r\n')
    expect(end).toBe('RST')
  })

  test('is complete when a short one exceeds what the system takes at once', async () => {
    const { text, end } = await hear(server.url, request('/short-and-large', 'GET', {}))
    expect(text.length - text.indexOf('\r\n\r\n') - 4).toBe(large.length)
    expect(end).toBe('FIN')
  })

  test('has no hold on a closed connection or between other ends', async () => {
    const { port: localPort = 0 } = server
    const socket = connect(localPort, '127.0.0.1')
    socket.write(request('/', 'GET', {}, false))
    await new Promise((heard) => socket.once('data', heard))
    const ends = { address: '127.0.0.1', port: socket.localPort ?? 0, localPort }
    const hold = await bareSocket(ends)
    expect(hold).toBeDefined()
    expect(await bareSocket({ ...ends, address: '127.0.0.2' })).toBeUndefined()
    expect(await bareSocket({ ...ends, address: '::1' })).toBeUndefined()
    expect(await bareSocket({ ...ends, localPort: localPort + 1 })).toBeUndefined()
    const closed = new Promise((done) => socket.on('close', done))
    hold?.close()
    await closed
    await hear(server.url, request('/', 'GET', {}))
    expect(await bareSocket(ends)).toBeUndefined()
    await hold?.write(Buffer.from('to nobody'))
    hold?.close()
    await hold?.reset()
  })
})
