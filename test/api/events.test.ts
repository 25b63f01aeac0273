// Events are applied by subject: one that is slow or fails delays no other, and is reported.

import { afterEach, expect, test } from 'bun:test'
import type { Fields } from '../../src/contract/workspace/record.ts'
import { createEventQueue, dispatch, type EventHandler, MAX_ATTEMPTS } from '../../src/resources/knowledge/events.ts'
import { workOf } from '../../src/resources/verbs.ts'
import { createTestApp } from '../support/app.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const apps: ReturnType<typeof createTestApp>[] = []
afterEach(() => {
  for (const app of apps.splice(0)) app.close()
})
function started() {
  const app = createTestApp()
  apps.push(app)
  return { app, calls: workspaceOf(app), session: app.understudy.sessions.get('default') }
}
const CALLER = { workspace: '00000000-0000-4000-8000-000000000001', user: '00000000-0000-4000-8000-000000000002' }

/** A queue of our own over a session, with what it has done and reported. */
function queueWith(handler: EventHandler) {
  const { app, session } = started()
  const reported: unknown[] = []
  const queue = createEventQueue({ test: handler }, (error) => reported.push(error))
  const send = (subject: string, data: Fields = {}) =>
    session.transact(() => dispatch(workOf(session, CALLER), { type: 'test', subject, data: { subject, ...data } }))
  const stored = (id: unknown) => session.records.get('event', CALLER.workspace, String(id))?.body as Json
  return { app, session, queue, send, stored, reported }
}
const nothing = () => {}

test('event queue: fails an event after five tries with the reason, then applies those behind it', async () => {
  const tried: unknown[] = []
  const { session, queue, send, stored, reported } = queueWith(async ({ subject, bad }) => {
    tried.push(subject)
    if (bad) throw new Error('cannot be applied')
    return nothing
  })
  const [first, second, other] = [await send('a', { bad: true }), await send('a'), await send('b')]
  queue.wake(session)
  expect(queue.counts()).toEqual({ waiting: 3, failed: 0 })
  await session.clock.sleep(1)
  expect(stored(other._id)).toMatchObject({ status: 'applied', attempts: 0, error: null })
  expect(stored(first._id)).toMatchObject({ status: 'dispatched', attempts: 1, error: 'cannot be applied' })
  expect(stored(second._id)).toMatchObject({ status: 'dispatched', attempts: 0 })
  await session.clock.sleep(60_000)
  expect(stored(first._id)).toMatchObject({ status: 'failed', attempts: MAX_ATTEMPTS, error: 'cannot be applied' })
  expect(stored(second._id)).toMatchObject({ status: 'applied' })
  expect(tried).toEqual(['a', 'b', 'a', 'a', 'a', 'a', 'a'])
  expect(reported).toHaveLength(1)
  expect(queue.counts()).toEqual({ waiting: 0, failed: 1 })
})

test('event queue: retries a failing event after growing waits', async () => {
  const at: number[] = []
  const { session, queue, send, stored } = queueWith(async () => {
    at.push(session.clock.now())
    if (at.length < 4) throw new Error('not yet')
    return nothing
  })
  const { _id } = await send('a')
  queue.wake(session)
  await session.clock.sleep(60_000)
  expect(at.map((time) => time - (at[0] ?? 0))).toEqual([0, 100, 300, 700])
  expect(stored(_id)).toMatchObject({ status: 'applied', attempts: 3 })
})

test('event queue: blocks only its own subject while an event does not finish', async () => {
  const { session, queue, send, stored } = queueWith(({ subject }) =>
    subject === 'slow' ? new Promise(() => {}) : Promise.resolve(nothing),
  )
  const slow = [await send('slow'), await send('slow')]
  const quick = await send('quick')
  queue.wake(session)
  await session.clock.sleep(1_000)
  expect(slow.map(({ _id }) => stored(_id).status)).toEqual(['dispatched', 'dispatched'])
  expect(stored(quick._id).status).toBe('applied')
})

test('event queue: does not delay feedback while a datasource is chunked, and health counts waiting events', async () => {
  const { calls, session, app } = started()
  const counts = async () => ((await calls.ok('GET', '/_understudy/health')).counts as Json).events_waiting
  const form = new FormData()
  form.append('file', new File(['Some text.'], 'a.txt', { type: 'text/plain' }))
  const file = (await app.fetch('/v2/files', { method: 'POST', body: form })).json() as Json
  const base = await calls.ok('POST', '/v2/knowledge', { key: 'help', path: 'Default' })
  const sources = `/v2/knowledge/${base._id}/datasources`
  if (session.clock.kind === 'virtual') session.clock.freeze()
  const { _id } = await calls.ok('POST', sources, { file_id: file._id })
  await calls.ok('POST', '/v2/feedback', { property: 'rating', value: ['good'], trace_id: 'elsewhere' })
  expect(await counts()).toBe(2)
  if (session.clock.kind === 'virtual') await session.clock.advance(10)
  expect((await calls.ok('GET', `${sources}/${_id}`)).status).toBe('processing')
  expect((await calls.ok('GET', '/v2/feedback')).data).toHaveLength(1)
  if (session.clock.kind === 'virtual') await session.clock.advance(1_000)
  expect((await calls.ok('GET', `${sources}/${_id}`)).status).toBe('completed')
  expect(await counts()).toBe(0)
})
