// Very long stored values, such as responses: in parts, each in a transaction of its own, and whole when they are read.
import { afterAll, expect, test } from 'bun:test'
import { accepted } from '../support/accepted.ts'
import { createTestApp } from '../support/app.ts'

const apps = [createTestApp(), createTestApp({ keep_response_bytes: 4_000_000 })] as const
const [app, small] = apps
afterAll(() => apps.forEach((one) => void one.close()))

const model = 'ollama/any-model'
const RESPONSES = '/v2/router/responses'
const LONG = `${'Ada went down to the sea. '.repeat(100_000)}\u{1f600}`
const ask = (from: typeof app, body: object) => from.post(RESPONSES, { model, ...body })

test('response to a very long input: is continued as a whole and is in a snapshot', async () => {
  const first = await ask(app, { input: LONG })
  expect(first.status).toBe(200)
  const { id, usage } = first.json() as { id: string; usage: { input_tokens: number } }
  const next = await ask(app, { input: 'And then?', previous_response_id: id })
  expect((next.json() as { usage: { input_tokens: number } }).usage.input_tokens).toBeGreaterThan(usage.input_tokens)
  const { entries, bytes } = app.understudy.sessions.get('default').counts().keyValues
  expect({ entries, large: bytes > LONG.length }).toEqual({ entries: 8, large: true })
  const snapshot = await app.fetch('/_understudy/snapshot')
  await accepted(app.post('/_understudy/reset', ''))
  const loaded = await app.fetch('/_understudy/snapshot', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: snapshot.text,
  })
  expect(loaded.status).toBe(200)
  const again = await ask(app, { input: 'And then?', previous_response_id: id })
  expect((again.json() as { usage: object }).usage).toEqual((next.json() as { usage: object }).usage)
})

test('response to a very long input: is not found when its parts were removed', async () => {
  const { id } = (await ask(small, { input: LONG })).json() as { id: string }
  await ask(small, { input: LONG.slice(0, -700_000) })
  const next = await ask(small, { input: 'And then?', previous_response_id: id })
  expect(next.status).toBe(400)
})
