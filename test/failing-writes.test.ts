// Calls of one turn share a transaction, and a write that fails takes no other call with it.
import { afterAll, expect, test } from 'bun:test'
import { openClone, template } from '../src/db/open.ts'
import { createWriter } from '../src/db/writer.ts'
import { createTestApp } from './support/app.ts'
import { CHAT, user } from './support/chat.ts'

const reported: unknown[] = []
const app = createTestApp({}, (error) => reported.push(error))
afterAll(app.close)
const say = (content: string) => app.post(CHAT, { model: 'openai/gpt-4o', ...user(content) })

test('a trace that cannot be stored fails its own call alone', async () => {
  const ids = [await say('one'), await say('two')].map(({ headers }) => headers.get('x-understudy-trace'))
  const snapshot = (await app.fetch('/_understudy/snapshot')).json() as { tables: { traces: object[] } }
  // The trace that the second call of a session gets stands there as that of another one.
  const [second] = snapshot.tables.traces.filter((row) => (row as { id: string }).id === ids[1])
  snapshot.tables.traces = [{ ...second, seq: 1 }]
  expect((await app.post('/_understudy/snapshot', snapshot)).status).toBe(200)
  await app.post('/_understudy/sessions/default/clock', { set: '2025-01-01T00:00:00Z' })
  const answers = await Promise.all([say('two'), say('three'), say('four')])
  expect(answers.map(({ status }) => status)).toEqual([500, 200, 200])
  expect(reported).toHaveLength(1)
  const traces = (await app.fetch('/_understudy/traces')).json().data as { id: string }[]
  expect(traces.map(({ id }) => id)).toEqual(
    [answers[2], answers[1]]
      .map((answer) => answer?.headers.get('x-understudy-trace') as string)
      .concat(ids[1] as string),
  )
})

test('of a hundred writes with three bad ones, the three fail and the others are there', async () => {
  const database = openClone(template())
  const writer = createWriter(database)
  const insert = database.prepare('INSERT INTO kept (kind, id, value) VALUES (?, ?, ?)')
  const bad = new Set([0, 41, 99])
  const writes = Array.from({ length: 100 }, (_, index) =>
    writer.write(() => {
      insert.run('test', String(index), '1')
      if (bad.has(index)) throw new Error(`no ${index}`)
    }),
  )
  const results = await Promise.allSettled(writes)
  expect(results.flatMap((one) => (one.status === 'rejected' ? [one.reason.message] : []))).toEqual([
    'no 0',
    'no 41',
    'no 99',
  ])
  expect(database.prepare('SELECT count(*) FROM kept').pluck().get()).toBe(97)
  writer.close()
})
