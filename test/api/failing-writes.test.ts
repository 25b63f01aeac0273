// Calls of one turn share a transaction, and a failing write takes no other call with it.
import { afterAll, describe, expect, test } from 'bun:test'
import { openClone, template } from '../../src/db/open.ts'
import { createWriter, type LargeWrite } from '../../src/db/writer.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'

const reported: unknown[] = []
const app = createTestApp({}, (error) => reported.push(error))
afterAll(app.close)
const say = (content: string, stream = false) =>
  app.post(CHAT, { model: 'openai/gpt-4o', ...user(content), ...(stream && { stream }) })

/** Puts the trace of another call where that of the call with this number should stand. */
async function takePlace(number: number, of: Awaited<ReturnType<typeof say>>) {
  const { traces } = app.understudy.sessions.get('default')
  const { request, rendered, response: answer, ...trace } = await app.traceOf(of)
  const texts = { request: JSON.stringify(request), rendered: JSON.stringify(rendered), answer: JSON.stringify(answer) }
  await traces.record(number, { ...trace, id: 'another' }, { ...texts, arrived: 0, left: 0 })
}

test('failed trace write: fails only its own call', async () => {
  const first = await say('one')
  await takePlace(2, first)
  const answers = await Promise.all([say('two'), say('three'), say('four')])
  expect(answers.map(({ status }) => status)).toEqual([500, 200, 200])
  expect(reported).toHaveLength(1)
  const stored = (await app.fetch('/_understudy/traces')).json().data as { id: string }[]
  const idOf = (answer = first) => answer.headers.get('x-understudy-trace') as string
  expect(stored.map(({ id }) => id)).toEqual([idOf(answers[2]), idOf(answers[1]), 'another', idOf(first)])
})

test('failed trace write: rejects a stream before its first byte', async () => {
  const first = await say('five')
  await takePlace(6, first)
  reported.length = 0
  const [refused, streamed] = await Promise.all([say('six', true), say('seven', true)])
  expect(refused.status).toBe(500)
  expect(refused.headers.get('content-type')).toStartWith('application/json')
  expect(errorOf(refused.text, 500).code).toBe('internal_error')
  expect(reported).toHaveLength(1)
  expect(streamed.status).toBe(200)
  expect(streamed.text).toEndWith('data: [DONE]\n\n')
})

test('batched writes: fail only the three invalid ones of a hundred', async () => {
  const database = openClone(template())
  const writer = createWriter(database)
  const insert = database.prepare('INSERT INTO kept (kind, id, value) VALUES (?, ?, ?)')
  const bad = new Set([0, 41, 99])
  const write = writer.batched<LargeWrite & { index: number }>({
    put(writes) {
      for (const { index } of writes) {
        insert.run('test', String(index), '1')
        if (bad.has(index)) throw new Error(`no ${index}`)
      }
    },
  })
  const results = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => write({ index })))
  expect(results.flatMap((one) => (one.status === 'rejected' ? [one.reason.message] : []))).toEqual([
    'no 0',
    'no 41',
    'no 99',
  ])
  expect(database.prepare('SELECT count(*) FROM kept').pluck().get()).toBe(97)
  writer.close()
})

const PATHS: [string, object][] = [
  ['/v2/router/chat/completions', { model: 'openai/gpt-4o', ...user('Hello') }],
  ['/v1/chat/completions', { model: 'gpt-4o', ...user('Hello') }],
  ['/v1/responses', { model: 'gpt-4o', input: 'Hello' }],
  ['/v1/messages', { model: 'claude-sonnet-4', max_tokens: 100, ...user('Hello') }],
  ['/v1/chat/completions', { model: 'openai/gpt-4o', ...user('Hello'), retry: { count: 1 } }],
  ['/v2/router/embeddings', { model: 'openai/text-embedding-3-small', input: 'Hello' }],
]
const rows = PATHS.flatMap(([path, body]): [string, string, object][] =>
  path.endsWith('embeddings')
    ? [[path, 'whole', body]]
    : [
        [path, 'whole', body],
        [path, 'streamed', { ...body, stream: true }],
      ],
)
/** How a disk is full: in the moment of the commit, or before anything is written. */
const failures = {
  'at the commit': () => Promise.reject(Object.assign(new Error('disk is full'), { code: 'SQLITE_FULL' })),
  'at once': () => {
    throw Object.assign(new Error('disk is full'), { code: 'SQLITE_FULL' })
  },
}
describe.each(Object.entries(failures))('full disk %s', (_, fail) => {
  test.each(rows)('%s, %s: returns 507 and leaves no call running', async (path, _, body) => {
    const name = `full-${Bun.hash(JSON.stringify([path, body, String(fail)]))}`
    const at = (rest: string) => `/s/${name}${rest}`
    const ask = () => app.post(at(path), body)
    expect((await ask()).status).toBe(200)
    const { traces } = app.understudy.sessions.find(name)
    const { record } = traces
    const leave = new AbortController()
    const live = await app.understudy.app.fetch(
      new Request(`http://localhost${at('/_understudy/live?as=numbers')}`, {
        headers: { authorization: 'Bearer any' },
        signal: leave.signal,
      }),
    )
    traces.record = fail
    const refused = await ask()
    traces.record = record
    expect(refused.status).toBe(507)
    expect(refused.text).toContain('nothing of this is stored')
    expect((await ask()).status).toBe(200)
    expect((await app.fetch(at('/_understudy/verify'))).json()).toMatchObject({ pending: 0, calls: 2, notices: [] })
    const reader = (live.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader()
    let shown = ''
    while (!shown.includes('"above"')) shown += (await reader.read()).value ?? ''
    expect([...shown.matchAll(/"under_way":(\d+)/g)].at(-1)?.[1]).toBe('0')
    leave.abort()
  })
})

test('full disk: is reported at the end of a stream that takes time', async () => {
  const fault = { type: 'slow-stream', tokens_per_second: 1_000 }
  await accepted(
    app.fetch('/s/slow/_understudy/scenario', {
      method: 'PUT',
      body: JSON.stringify({ name: 'slow', rules: [{ name: 'slow', fault }] }),
    }),
  )
  const { traces } = app.understudy.sessions.find('slow')
  traces.record = failures['at the commit']
  for (const [path, body] of PATHS.slice(0, 4)) {
    const { status, text } = await app.post(`/s/slow${path}`, { ...body, stream: true })
    expect(status).toBe(200)
    expect(text).toContain('nothing of this is stored')
  }
  expect((await app.fetch('/s/slow/_understudy/verify')).json()).toMatchObject({ pending: 0 })
})
