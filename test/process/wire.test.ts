// The bytes that the executable puts on the wire.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { emptyFolder, exchange, type Server, startServer } from '../support/server.ts'

const folder = emptyFolder()
let server: Server
beforeAll(async () => {
  server = await startServer(['--db', ':memory:'], { cwd: folder.path })
})
afterAll(async () => {
  await server.stop()
  folder.remove()
})

const LAST = '\r\n0\r\n\r\n'
/** A streamed chat call as raw bytes, with the headers of a strict client: what it accepts is not what it wants. */
function chatBytes(content: string): string {
  const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content }], stream: true })
  return [
    'POST /v2/router/chat/completions HTTP/1.1',
    `Host: ${new URL(server.url).host}`,
    'Authorization: Bearer any',
    'Accept: application/json;q=1, text/event-stream;q=0',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
}

test('stream on the wire: has an HTTP chunk for each of role, content, finish and [DONE]', async () => {
  const [head = '', ...rest] = (await exchange(server.url, chatBytes('grüße 👋'), LAST)).split('\r\n\r\n')
  expect(head).toStartWith('HTTP/1.1 200 OK\r\n')
  expect(head.toLowerCase()).toContain('content-type: text/event-stream')
  expect(head.toLowerCase()).toContain('transfer-encoding: chunked')
  const chunks = [...rest.join('\r\n\r\n').matchAll(/([0-9a-f]+)\r\n([\s\S]*?)\r\n(?=[0-9a-f]+\r\n)/g)]
  for (const [, size = '', chunk = ''] of chunks) {
    expect(Number.parseInt(size, 16)).toBe(Buffer.byteLength(chunk))
    expect(chunk).toMatch(/^data: [^\n]+\n\n$/)
  }
  const events = chunks.map(([, , chunk = '']) => chunk.slice('data: '.length, -2))
  expect(events.pop()).toBe('[DONE]')
  const choices = events.map((event) => JSON.parse(event).choices[0])
  expect(choices[0]).toMatchObject({ delta: { role: 'assistant', content: '' }, finish_reason: null })
  const contents = choices.slice(1, -1).map(({ delta }) => delta.content)
  expect(contents.length).toBeGreaterThan(5)
  expect(contents.join('')).toContain('grüße 👋')
  expect(choices.at(-1)).toMatchObject({ delta: {}, finish_reason: 'stop' })
})

test('HTTP/1.0 request without a host: is rejected without an internal error', async () => {
  const text = await exchange(server.url, 'GET /_understudy/health HTTP/1.0\r\n\r\n', '"host_required"}}')
  expect(text).toStartWith('HTTP/1.1 400')
  expect(text).toContain('"host_required"')
})
