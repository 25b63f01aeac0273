// Very long requests and responses are stored in parts: traces, verdicts and snapshots have them whole, and they are removed with their
// trace.
import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { PART } from '../../src/db/long-texts.ts'
import { openFile, openReadOnly } from '../../src/db/open.ts'
import { accepted } from '../support/accepted.ts'
import { testApps } from '../support/app.ts'
import { emptyFolder } from '../support/server.ts'

const { appWith, close } = testApps()
const folder = emptyFolder()
afterAll(async () => {
  await close()
  folder.remove()
})
const CHAT = '/v2/router/chat/completions'
const bodyOf = (content: string) => ({ model: 'openai/some-model', messages: [{ role: 'user', content }] })
/** Text of so many characters, whose tokens are counted as fast as those of any prose. */
const words = (length: number) => 'some words '.repeat(length / 11 + 1).slice(0, length)
const PAIRS = '😀'.repeat(100)
/** Where the text begins in the request. */
const START = JSON.stringify(bodyOf('')).indexOf('""') + 1
/** The middle of a character stands where each of the first two parts would end. */
const content = [words(PART - 1 - START), PAIRS, words(PART - 1 - PAIRS.length), PAIRS, words(200_000), 'the end'].join(
  '',
)
const body = bodyOf(content)
const files = { file: join(folder.path, 'long.db'), memory: ':memory:' }
const fileRows = (file: string) => {
  const database = openReadOnly(file)
  const rows = Number(database.prepare('SELECT count(*) FROM long_texts').pluck().get())
  database.close()
  return rows
}

describe.each(Object.entries(files))('very long request (%s)', (_, db) => {
  const app = appWith({ db })
  const health = async () =>
    (await app.fetch('/_understudy/health')).json() as { stores?: unknown; counts: { traces: number } }

  test('is in its trace as received', async () => {
    const answer = await app.post(CHAT, body)
    expect(answer.status).toBe(200)
    const { request } = await app.traceOf(answer)
    expect(Bun.deepEquals(request, body)).toBe(true)
    expect((await health()).counts.traces).toBe(1)
  })

  test('is recognized as a repeat of an equal one', async () => {
    await app.post(CHAT, body)
    const verdict = (await app.fetch('/_understudy/verify')).json() as { ok: boolean; calls: number }
    expect(verdict.calls).toBe(2)
  })

  test('is kept in a snapshot and deleted by a reset', async () => {
    const snapshot = (await app.fetch('/_understudy/snapshot')).text
    await accepted(app.fetch('/_understudy/reset', { method: 'POST' }))
    expect((await health()).counts.traces).toBe(0)
    const restored = await app.fetch('/_understudy/snapshot', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: snapshot,
    })
    expect(restored.status).toBe(200)
    const { data } = (await app.fetch('/_understudy/traces')).json() as { data: { id: string }[] }
    const trace = (await app.fetch(`/_understudy/traces/${data[0]?.id}`)).json() as { request: unknown }
    expect(Bun.deepEquals(trace.request, body)).toBe(true)
  })
})

/** Parts of the request of a call. */
const PARTS = 3

test('very long request: is deleted with its trace, or at the next start after a killed process', async () => {
  const db = join(folder.path, 'kept.db')
  const app = appWith({ db, keep_traces: 2 })
  for (let call = 0; call < 4; call++) await app.post(CHAT, body)
  await app.close()
  expect(fileRows(db)).toBe(2 * PARTS)
  const { database, release } = openFile(db)
  database.exec("INSERT INTO long_texts (trace, field, part, text) VALUES (9, 'request', 0, 'left')")
  database.close()
  release()
  openFile(db).database.close()
  expect(fileRows(db)).toBe(2 * PARTS)
})
