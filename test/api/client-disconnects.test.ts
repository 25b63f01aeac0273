// Clients that leave during a silence, or close their side of the connection: their call is canceled, and no other one is.
import { afterAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { listen } from '../../src/cli/run/listen.ts'
import { readConfig } from '../../src/config.ts'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import { endWorkers, workerCounts } from '../../src/workers/pool.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp } from '../support/app.ts'

const settings = { ...readConfig({}, {}), clock: 'virtual' as const, db: ':memory:', port: 0, host: '127.0.0.1' }
const app = createTestApp({ ...settings, skip_latency: false })
const servers = await listen(settings, app.understudy)
const url = `http://127.0.0.1:${servers[0]?.port}`
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop(true)))
  app.close()
  endWorkers()
})

const message = { messages: [{ role: 'user', content: 'Hello!' }] }
const paths: [string, object][] = [
  ['/v1/chat/completions', { model: 'gpt-4o', ...message }],
  ['/v1/messages', { model: 'claude-sonnet-4', max_tokens: 10, ...message }],
  ['/v2/router/chat/completions', { model: 'openai/gpt-4o', ...message }],
]
const RULES = [
  { name: 'stall', match: { stream: true }, fault: { type: 'stall-stream', after_chunks: 3 } },
  { name: 'hang', match: { stream: false }, fault: { type: 'hang' } },
]

/** Calls on a bare socket, and leaves once the call is under way; resolves when the connection is over. */
async function leave(session: string, [path, body]: (typeof paths)[number], how: 'end' | 'destroy'): Promise<void> {
  const { port, hostname } = new URL(url)
  const text = JSON.stringify(body)
  const socket = connect(Number(port), hostname)
  const over = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('error', () => {}).resume()
  socket.write(
    `POST /s/${session}${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer any\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
  while (app.understudy.sessions.find(session).clock.endless === 0)
    await new Promise((resolve) => setImmediate(resolve))
  socket[how]()
  await over
}

const rows = paths.flatMap(([path, body]) =>
  [false, true].flatMap((stream) =>
    (['end', 'destroy'] as const).map(
      (how) => [path, stream ? 'streamed' : 'whole', how, { ...body, stream }] as const,
    ),
  ),
)
test.each(rows)(
  'disconnect, %s, %s, left by %s: cancels the call while another session continues',
  async (path, _, how, body) => {
    const session = `gone-${Bun.hash(`${path} ${how} ${JSON.stringify(body)}`)}`
    await accepted(
      app.fetch(`/_understudy/sessions/${session}`, {
        method: 'PUT',
        body: JSON.stringify({ scenario: { name: 'silent', rules: RULES } }),
      }),
    )
    const gone = leave(session, [path, body], how)
    const other = await fetch(`${url}/s/healthy${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(other.status).toBe(200)
    await other.text()
    await gone
    const verdict = async () =>
      (await app.fetch(`/s/${session}/_understudy/verify?wait=5s&ended=badly`)).json() as { pending: number }
    expect(await verdict()).toMatchObject({ pending: 0, canceled: [{}], findings: [] })
    const { data } = (await app.fetch(`/s/${session}/_understudy/traces`)).json() as { data: TraceRecord[] }
    expect(data.map(({ outcome }) => outcome)).toEqual(['canceled'])
  },
)

/** Numbers to call, no two alike: a guardrail takes seconds for them. */
const numbers = Array.from({ length: 80_000 }, (_, index) => `+1555${1_000_000 + index}`).join(' ')
test('disconnect: cancels the call without an error while a worker checks its texts for a guardrail', async () => {
  const left = new AbortController()
  const guardrails = [{ id: 'svc_pii_detection', execute_on: 'input' }]
  const request = new Request('http://localhost/s/guarded/v2/router/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: numbers }], guardrails }),
    signal: left.signal,
  })
  const answered = app.understudy.app.fetch(request)
  while (workerCounts().jobs === 0) await new Promise((resolve) => setImmediate(resolve))
  left.abort()
  expect((await answered).status).toBe(499)
  const { data } = (await app.fetch('/s/guarded/_understudy/traces')).json() as { data: TraceRecord[] }
  expect(data).toEqual([expect.objectContaining({ outcome: 'canceled', status: 499 })])
  expect(data[0]?.error).toMatchObject({ code: 'client_gone' })
})
