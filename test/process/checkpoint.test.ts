// The write-ahead log of a database stays small without delaying calls: a worker moves it into the file.
import { afterAll, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, startServer } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const MEGABYTE = 1_000_000
const CALLS = 8
const text = 'some words '.repeat(MEGABYTE / 2)
const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }

test('write-ahead log: does not grow with the data, and nothing is lost when the process is killed', async () => {
  const db = join(folder.path, 'understudy.db')
  const args = ['--db', db]
  const server = await startServer(args, { cwd: folder.path })
  const ids: string[] = []
  const ask = async (content: string) => {
    const answer = await fetch(`${server.url}/v2/router/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'openai/some-model', messages: [{ role: 'user', content }] }),
    })
    expect(answer.status).toBe(200)
    await answer.text()
    ids.push(answer.headers.get('x-understudy-trace') ?? '')
  }
  for (let call = 0; call < CALLS; call++) await ask(text)
  // The log begins anew with the first commit after all of it was moved.
  const sizeOfLog = () => statSync(`${db}-wal`).size
  for (let call = 0; call < 1_000 && sizeOfLog() > 30 * MEGABYTE; call++) await ask('Hello')
  expect(sizeOfLog()).toBeLessThanOrEqual(30 * MEGABYTE)
  await server.stop('SIGKILL')
  const again = await startServer(args, { cwd: folder.path })
  try {
    for (const id of ids) {
      const trace = await fetch(`${again.url}/_understudy/traces/${id}`, { headers })
      expect(trace.status).toBe(200)
      const { request } = (await trace.json()) as { request: { messages: { content: string }[] } }
      const content = request.messages[0]?.content ?? ''
      expect([text, 'Hello'].includes(content) ? 'whole' : `${content.length} characters`).toBe('whole')
    }
  } finally {
    await again.stop()
  }
})
