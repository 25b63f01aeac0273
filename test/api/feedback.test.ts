// Feedback travels as events: dispatched, applied in order, kept through a restart.

import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createTestApp } from '../support/app.ts'
import { emptyFolder } from '../support/server.ts'
import { PRODUCTS, strict } from '../support/strict/workspace.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const session = (name: string) => workspaceOf(app, { 'x-understudy-session': name })
const { call } = workspaceOf(app)
const data = (body: Json) => body.data as Json[]
/** Lets everything that waits on a session's clock happen. */
const settled = (name: string) => app.understudy.sessions.get(name).clock.sleep(1_000)

describe('feedback', () => {
  const one = { property: 'rating', value: ['good'], trace_id: 'elsewhere' }
  const listed = async (calls: ReturnType<typeof session>) =>
    data(await calls.ok('GET', '/v2/feedback')).map(({ id }) => id)
  test.each(PRODUCTS)('about %s is added and removed', async (product) => {
    const calls = session('products')
    const sent = strict.feedback?.parse(await calls.ok('POST', '/v2/feedback', { ...one, product })) as Json
    expect(sent).toMatchObject({ ...one, product })
    await settled('products')
    expect(await listed(calls)).toEqual([sent.id])
    const removal = { id: sent.id, trace_id: one.trace_id, product }
    expect(strict.feedbackRemoved?.parse(await calls.ok('POST', '/v2/feedback/remove', removal))).toEqual(removal)
    await settled('products')
    expect(await listed(calls)).toEqual([])
    expect((await calls.call('POST', '/v2/feedback/remove', removal)).status).toBe(404)
  })

  test('is applied in the order in which it was sent', async () => {
    const calls = session('order')
    const send = (value: string) => calls.ok('POST', '/v2/feedback', { ...one, id: 'mine', value })
    const remove = () =>
      calls.ok('POST', '/v2/feedback/remove', { id: 'mine', trace_id: one.trace_id, product: 'router' })
    await Promise.all([send('first'), remove(), send('second')])
    await settled('order')
    expect(data(await calls.ok('GET', '/v2/feedback'))).toMatchObject([
      { id: 'mine', value: 'second', product: 'deployments' },
    ])
    const events = data(await calls.ok('GET', '/_understudy/events'))
    expect(events.map(({ type, status }) => [type, status])).toEqual([
      ['feedback.submitted', 'applied'],
      ['feedback.removed', 'applied'],
      ['feedback.submitted', 'applied'],
    ])
  })

  test.each(['text', 4, ['a', 'b']])('accepts the value %j', async (value) => {
    expect(await session('values').ok('POST', '/v2/feedback', { ...one, value })).toMatchObject({ value })
  })
  const refused: [Json, string][] = [
    [{ value: { a: 1 } }, 'value'],
    [{ value: [1] }, 'value[0]'],
    [{ product: 'shoes' }, 'product'],
    [{ property: undefined }, 'property'],
    [{ trace_id: undefined }, 'trace_id'],
  ]
  test.each(refused)('%j is rejected at %s', async (wrong, param) => {
    const { status, body } = await call('POST', '/v2/feedback', { ...one, ...wrong })
    expect([status, (body.error as Json).param]).toEqual([400, param])
  })

  test('for an unknown trace is accepted with a warning, and rejected in strict mode', async () => {
    const calls = session('warned')
    const warned = await calls.call('POST', '/v2/feedback', one)
    expect(warned.headers.get('x-understudy-warning')).toContain('"elsewhere"')
    expect((await calls.ok('GET', '/_understudy/traces')).warnings).toMatchObject([
      expect.stringContaining('"elsewhere"'),
    ])
    const chat = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'hello' }] }
    const trace_id = (await calls.call('POST', '/v2/router/chat/completions', chat)).headers.get('x-understudy-trace')
    const known = await calls.call('POST', '/v2/feedback', { ...one, trace_id })
    expect([known.status, known.headers.get('x-understudy-warning')]).toEqual([200, null])
    const exact = createTestApp({ strict: true })
    const refused = await workspaceOf(exact).call('POST', '/v2/feedback', one)
    expect([refused.status, (refused.body.error as Json).param]).toEqual([404, 'trace_id'])
    exact.close()
  })

  test('left by a stopped process is applied by the next one', async () => {
    const folder = emptyFolder()
    const db = join(folder.path, 'events.db')
    const before = createTestApp({ db })
    await workspaceOf(before).ok('POST', '/v2/feedback', one)
    before.close()
    const after = createTestApp({ db })
    await after.understudy.sessions.get('default').clock.sleep(1_000)
    expect(data(await workspaceOf(after).ok('GET', '/v2/feedback'))).toMatchObject([one])
    after.close()
    folder.remove()
  })
})
