// What a call costs that can be counted exactly: statements of the database, and sends of a stream. Times are for npm run bench;
// these must not grow unnoticed. Where one falls, lower it here.
import { afterAll, afterEach, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Driver from 'better-sqlite3'
import { headers } from '../../bench/headers.ts'
import { sendsOf } from '../../bench/sends.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { startProvider } from '../support/forward.ts'
import { emptyFolder, startServer } from '../support/server.ts'

/** Statements that are run, by their first word, of each database of this process: other files may have left some open. */
const seen = new Map<Driver.Database, Record<string, number>>()
const statement = Object.getPrototypeOf(new Driver(':memory:').prepare('SELECT 1')) as Record<string, unknown>
const RUNS = ['run', 'get', 'all', 'iterate']
const originals = RUNS.map((name) => statement[name] as (...args: unknown[]) => unknown)
for (const [index, name] of RUNS.entries()) {
  statement[name] = function (this: Driver.Statement, ...args: unknown[]) {
    const word = this.source.trim().split(/\s/)[0]?.toUpperCase() ?? ''
    const counts = seen.get(this.database) ?? {}
    counts[word] = (counts[word] ?? 0) + 1
    seen.set(this.database, counts)
    return originals[index]?.apply(this, args)
  }
}
afterAll(() => {
  for (const [index, name] of RUNS.entries()) statement[name] = originals[index]
})

let open: TestApp | undefined
afterEach(() => open?.close())

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

const total = (counts: Record<string, number>) => Object.values(counts).reduce((sum, count) => sum + count, 0)

/** Statements of some calls, so many at once, after some that prepare what is used again. */
async function statementsOf({
  stream = false,
  width = 1,
  many = CALLS,
  keep = 10_000,
}): Promise<Record<string, number>> {
  const app = createTestApp({ keep_traces: keep })
  open = app
  const call = () => app.post(PATH, bodyOf(stream))
  for (let calls = 0; calls < 10; calls++) await call()
  seen.clear()
  for (let calls = 0; calls < many; calls += width) await Promise.all(Array.from({ length: width }, call))
  return [...seen.values()].toSorted((a, b) => total(b) - total(a))[0] ?? {}
}

test.each([
  ['a whole answer', false],
  ['a stream', true],
] as const)('%s takes one statement, which is a transaction itself', async (_, stream) => {
  expect(await statementsOf({ stream })).toEqual({ INSERT: CALLS })
})

test('calls of one turn share a transaction', async () => {
  const { BEGIN, COMMIT, ...others } = await statementsOf({ width: 16 })
  // One for four of them, where so many end in one turn.
  expect(Object.keys(others)).toEqual(['INSERT'])
  expect(others.INSERT).toBeLessThanOrEqual(CALLS / 2)
  expect(COMMIT).toBe(BEGIN ?? 0)
  // A turn for each sixteen; a busy machine may need another.
  expect(BEGIN).toBeLessThanOrEqual(CALLS / 8)
})

test('the oldest traces go many at once', async () => {
  const counts = await statementsOf({ many: MANY, keep: 100 })
  // One of each call, and what tidies up, once for many of them.
  expect(total(counts) - MANY).toBeLessThanOrEqual(MANY / 20)
})

/** Sends of an untimed stream of twenty chunks, whose trace is committed before the first. */
const SENDS = 1

/** The fewest sends that a stream took, of a server with these options; undefined where they are not counted, as Linux does alone. */
async function sendsWith(options: readonly string[], { config = '' }: { config?: string } = {}) {
  const folder = emptyFolder()
  writeFileSync(join(folder.path, 'settings.yaml'), config)
  const server = await startServer(['--db', 'sends.db', ...options], { cwd: folder.path })
  try {
    const counts = await sendsOf(`${server.url}${PATH}`, { body: JSON.stringify(bodyOf(true)), headers, calls: 20 })
    return counts && Math.min(...counts)
  } finally {
    await server.stop()
    folder.remove()
  }
}

test('an untimed stream goes out in few sends, though each event is a chunk of its own', async () => {
  expect((await sendsWith([])) ?? 0).toBeLessThanOrEqual(SENDS)
})

test('a forwarded stream that comes in one piece goes out in one', async () => {
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
