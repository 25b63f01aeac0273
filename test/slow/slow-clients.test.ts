// Clients that send half of a request, or read nothing of a response: they delay no other, cost little, and are disconnected.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { listen } from '../../src/cli/run/listen.ts'
import { readConfig } from '../../src/config.ts'
import type { Backend } from '../../src/contract/core/backend.ts'
import { createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { completion, said } from '../support/scripted.ts'

const CHAT = '/v2/router/chat/completions'
const WORDS = 'x'.repeat(20_000)
const encoder = new TextEncoder()
/** Events of a stream that would be some 200 MB long. */
const MAX_EVENTS = 10_000

let made = 0
let ended = 0
/** Answers with as many events as are taken: the size of a call's first message says what is sent. */
const endless: Backend = {
  async answer({ stream, request }) {
    const [{ content: wanted }] = (request as { messages: [{ content: string }] }).messages
    const about = { status: 200, headers: {}, usage: null, fixture: null, generated: false }
    if (!stream) {
      const text = wanted === 'large' ? 'y'.repeat(60_000_000) : 'small'
      const bytes = encoder.encode(JSON.stringify(completion(text)))
      return { ...about, body: { kind: 'bytes', contentType: 'application/json', bytes } }
    }
    const last = wanted === 'some' ? 500 : wanted === 'few' ? 3 : MAX_EVENTS
    const bytes = new ReadableStream<Uint8Array>({
      async pull(controller) {
        made++
        controller.enqueue(encoder.encode(said(WORDS)))
        if (made >= last) {
          controller.enqueue(
            encoder.encode('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
          )
          controller.close()
        }
      },
      cancel: () => void ended++,
    })
    return { ...about, body: { kind: 'bytes', contentType: 'text/event-stream', bytes } }
  },
}

const settings = { ...readConfig({}, {}), db: ':memory:', port: 0, client_timeout: 500 }
const bugs: unknown[] = []
const app = createTestApp(settings, (error) => bugs.push(error), { backend: endless })
let server: Bun.Server<undefined>
let url: string
let unused: { name: string; client: ReturnType<typeof open> }[] = []
const sockets: Socket[] = []
beforeAll(async () => {
  const [first] = await listen({ ...settings, host: '127.0.0.1' }, app.understudy)
  if (!first) throw new Error('it does not listen')
  server = first
  url = `http://127.0.0.1:${server.port}`
  unused = [
    { name: 'without a byte', client: open('') },
    { name: 'after half of the headers', client: open('GET /_understudy/health HTTP/1.1\r\nhost: loc') },
    { name: 'after an answer', client: open('GET /_understudy/health HTTP/1.1\r\nhost: localhost\r\n\r\n') },
    {
      name: 'after an answer that is no JSON',
      client: open('GET /_understudy/metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'),
    },
    { name: 'after a stream', client: open(call('few', true, 'streams')) },
    { name: 'after a direct stream', client: open(call('few', true, 'streams').replace('/v2/router', '/v1')) },
    { name: 'a large answer that is not read', client: open(call('large', false, 'large'), false) },
  ]
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await server.stop(true)
  app.close()
})

/** A connection on which these bytes are sent, and that reads only when told to. */
function open(bytes: string, reads = true) {
  const socket = connect(server.port ?? 0, '127.0.0.1')
  sockets.push(socket)
  const { promise: gone, resolve } = Promise.withResolvers<string>()
  let text = ''
  let length = 0
  const listening = () =>
    socket.on('data', (data) => {
      length += data.length
      text = `${text}${data.toString('latin1')}`.slice(-100_000)
    })
  if (reads) listening()
  socket.on('error', () => {})
  socket.on('close', () => resolve(text))
  socket.write(bytes)
  return { socket, gone, listening, received: () => length, text: () => text }
}
const head = (path: string, length: number, more = '') =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer any\r\ncontent-type: application/json\r\n${more}content-length: ${length}\r\n\r\n`
const chat = (content: string, stream: boolean) =>
  JSON.stringify({ model: 'openai/gpt-4o', stream, messages: [{ role: 'user', content }] })
const call = (content: string, stream: boolean, session = 'default') => {
  const body = chat(content, stream)
  return `${head(`/s/${session}${CHAT}`, body.length)}${body}`
}
const answered = async () => {
  const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
  return (await fetch(`${url}${CHAT}`, { method: 'POST', headers, body: chat('hello', false) })).status
}
const tracesOf = async (session: string) => {
  const answer = await fetch(`${url}/s/${session}/_understudy/traces`)
  return ((await answer.json()) as { data: { outcome: string; status: number }[] }).data
}
/** Waits, in turns of the event loop with real pauses between them, until something is so. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 400 && !(await holds()); turn++) await Bun.sleep(50)
  expect(await holds()).toBe(true)
}

describe('request that does not end', () => {
  const rows: [string, string, string | undefined][] = [
    ['half a body', `${head(CHAT, 500)}{"model":`, undefined],
    ['a missing body', head('/v2/datasets', 500), undefined],
    [
      'half a body in chunks',
      `${head('/v2/contacts', 0).replace('content-length: 0', 'transfer-encoding: chunked')}5\r\n{"a":\r\n`,
      undefined,
    ],
    ['half a body of any size', `${head('/_understudy/snapshot', 1_000)}{`, undefined],
    ['a body that arrives byte by byte', `${head(CHAT, 5_000)}{`, ' '],
    [
      'chunks that arrive byte by byte',
      `${head(CHAT, 0).replace('content-length: 0', 'transfer-encoding: chunked')}1\r\n{\r\n`,
      '1\r\n \r\n',
    ],
  ]
  test.each(rows)('is rejected with 408 and its connection closed: %s', async (_, bytes, drop) => {
    const { socket, gone } = open(bytes)
    const dripping = drop === undefined ? undefined : setInterval(() => socket.writable && socket.write(drop), 100)
    const text = await gone
    clearInterval(dripping)
    expect(text).toStartWith('HTTP/1.1 408 ')
    const body = text.slice(text.indexOf('\r\n\r\n') + 4)
    const { code, message } = errorOf(body, 408)
    expect(code).toBe('request_timeout')
    expect(message).toContain('--client-timeout')
  })

  test.each([
    ['of known length', `${head(CHAT, 500)}{"model":`],
    ['in chunks', `${head(CHAT, 0).replace('content-length: 0', 'transfer-encoding: chunked')}5\r\n{"a":\r\n`],
    ['in invalid chunks', `${head(CHAT, 0).replace('content-length: 0', 'transfer-encoding: chunked')}zz\r\n`],
  ])('causes no internal error when the client leaves in the middle of a body %s', async (_, bytes) => {
    const { socket } = open(bytes)
    await Bun.sleep(50)
    socket.destroy()
    await until(() => server.pendingRequests <= 1)
    expect(await answered()).toBe(200)
    expect(bugs).toEqual([])
  })

  test('does not delay others when there are hundreds', async () => {
    const silent = Array.from({ length: 300 }, (_, index) => open(index % 2 ? 'POST ' : `${head(CHAT, 500)}{"model":`))
    for (let count = 0; count < 20; count++) expect(await answered()).toBe(200)
    for (const { socket } of silent) socket.destroy()
  })

  test('is answered when its chunks arrive in time', async () => {
    const body = chat('hello', false)
    const client = open(head(CHAT, body.length))
    for (const piece of body.match(/.{1,40}/g) ?? []) {
      await Bun.sleep(20)
      client.socket.write(piece)
    }
    await until(() => client.text().includes('chat.completion'))
    client.socket.destroy()
  })
})

describe('client that does not read', () => {
  test('receives no more than the connection holds, delays no other, and is disconnected', async () => {
    made = 0
    const { socket } = open(call('endless', true, 'unread'), false)
    await until(() => made > 0)
    for (let count = 0; count < 10; count++) expect(await answered()).toBe(200)
    await until(async () => (await tracesOf('unread')).length === 1)
    // The connection's two ends hold some megabytes; of 200 that is little.
    expect(made * WORDS.length).toBeLessThan(40_000_000)
    expect((await tracesOf('unread'))[0]).toMatchObject({ attempts: [{ outcome: 'canceled', status: 499 }] })
    expect(ended).toBeGreaterThan(0)
    const stopped = made
    await Bun.sleep(100)
    expect(made).toBe(stopped)
    socket.destroy()
  })

  test('receives the whole stream when it reads late', async () => {
    made = 0
    const client = open(call('some', true, 'late').replace('host:', 'connection: close\r\nhost:'), false)
    await until(() => made > 0)
    await Bun.sleep(200)
    client.listening()
    const text = await client.gone
    expect(text).toEndWith('data: [DONE]\n\n\r\n0\r\n\r\n')
    expect(client.received()).toBeGreaterThan(500 * WORDS.length)
    expect((await tracesOf('late'))[0]).toMatchObject({ outcome: 'succeeded' })
  })
})

// Opened first, since the server takes its time with them.
test('unused connection: is closed', async () => {
  await until(() => server.pendingRequests === 0)
  for (const { name, client } of unused) {
    if (name === 'a large answer that is not read') client.listening()
    const ended = await client.gone
    expect([name, ended.startsWith('HTTP/1.1 200 OK')]).toEqual([name, name.startsWith('after a')])
  }
})
