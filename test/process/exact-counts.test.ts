// The costs of a call that can be counted exactly: database transactions, and writes of a stream. Times belong to npm run bench; these
// must not grow unnoticed. Where one falls, lower it here.
import { afterEach, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sendsOf } from '../../bench/sends.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { startProvider } from '../support/forward.ts'
import { emptyFolder, startServer } from '../support/server.ts'

let open: { app: TestApp; remove(): void } | undefined
afterEach(() => {
  open?.app.close()
  open?.remove()
  open = undefined
})

const PATH = '/v2/router/chat/completions'
const bodyOf = (stream: boolean) => ({
  model: 'openai/gpt-4o-mini',
  messages: [{ role: 'user', content: 'Hello there, how are you today?' }],
  max_completion_tokens: 20,
  stream,
})
/** Fewer than after which anything is tidied up. */
const CALLS = 160
const MANY = 1_200

const LOG_HEAD = 32
const FRAME_HEAD = 24
const PAGE = 4096

/** Pages that were written to a log, and transactions that they were: the last page of each says how large the database is then. */
function writtenTo(log: string): { pages: number; transactions: number } {
  const bytes = readFileSync(log)
  const frames = Array.from({ length: Math.floor((bytes.length - LOG_HEAD) / (FRAME_HEAD + PAGE)) }, (_, index) =>
    bytes.readUInt32BE(LOG_HEAD + index * (FRAME_HEAD + PAGE) + 4),
  )
  return { pages: frames.length, transactions: frames.filter((size) => size > 0).length }
}

/** What some calls write, so many at once, after some that prepare what is used again. */
async function writtenBy({ stream = false, width = 1, many = CALLS, keep = 10_000 }) {
  const folder = emptyFolder()
  const db = join(folder.path, 'counted.db')
  const app = createTestApp({ db, keep_traces: keep })
  open = { app, remove: folder.remove }
  const call = () => app.post(PATH, bodyOf(stream))
  for (let calls = 0; calls < 10; calls++) await call()
  const before = writtenTo(`${db}-wal`)
  for (let calls = 0; calls < many; calls += width) await Promise.all(Array.from({ length: width }, call))
  const after = writtenTo(`${db}-wal`)
  return { pages: after.pages - before.pages, transactions: after.transactions - before.transactions }
}

test.each([
  ['a whole response', false],
  ['a stream', true],
] as const)('call: writes one transaction of at most three pages for %s', async (_, stream) => {
  const { pages, transactions } = await writtenBy({ stream })
  expect(transactions).toBe(CALLS)
  expect(pages).toBeLessThanOrEqual(CALLS * 3)
})

test('calls: share a transaction when they end in one turn', async () => {
  // A turn for each sixteen; a busy machine may need another.
  expect((await writtenBy({ width: 16 })).transactions).toBeLessThanOrEqual(CALLS / 8)
})

test('oldest traces: are removed many at once', async () => {
  // One of each call, and what tidies up, once for many of them.
  expect((await writtenBy({ many: MANY, keep: 100 })).transactions - MANY).toBeLessThanOrEqual(MANY / 20)
})

/** Sends of an untimed stream of twenty chunks, whose trace is committed before the first. */
const SENDS = 1

/** The fewest sends that a stream took, of a server with these options; undefined where they are not counted, as Linux does alone. */
async function sendsWith(options: readonly string[], { config = '' }: { config?: string } = {}) {
  const folder = emptyFolder()
  writeFileSync(join(folder.path, 'settings.yaml'), config)
  const server = await startServer(['--db', 'sends.db', ...options], { cwd: folder.path })
  try {
    const counts = await sendsOf(`${server.url}${PATH}`, { body: JSON.stringify(bodyOf(true)), calls: 20 })
    return counts && Math.min(...counts)
  } finally {
    await server.stop()
    folder.remove()
  }
}

test('untimed stream: is sent in few writes, with each event as a chunk of its own', async () => {
  expect((await sendsWith([])) ?? 0).toBeLessThanOrEqual(SENDS)
})

test('forwarded stream: is sent in one write when it arrives in one', async () => {
  const events = chunksOf(20)
  const provider = startProvider(() => new Response(events, { headers: { 'content-type': 'text/event-stream' } }))
  try {
    const config = `providers: { openai: { base_url: "${provider.url}", api_key: k, backend: forward } }`
    expect((await sendsWith(['--config', 'settings.yaml'], { config })) ?? 0).toBeLessThanOrEqual(SENDS)
    expect(provider.seen).toHaveLength(20)
  } finally {
    await provider.stop()
  }
})

/** A stream of so many chunks as a provider sends it. */
function chunksOf(count: number): string {
  const event = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  return `${event({ content: 'word ' }, null).repeat(count)}${event({}, 'stop')}data: [DONE]\n\n`
}
