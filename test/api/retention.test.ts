// How many traces are kept, which are removed first, and that health says so; expired data is removed as well.
import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Config } from '../../src/config.ts'
import { readConfig } from '../../src/config.ts'
import { A, closeScripted, createScripted, says } from '../support/scripted.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(() => {
  closeScripted()
  folder.remove()
})
const CHAT = '/v2/router/chat/completions'
const body = (name: string) => ({ model: A, name, messages: [{ role: 'user', content: 'Hello!' }] })

function appKeeping(keep_traces: number, settings: Partial<Config> = {}) {
  const app = createScripted({ [A]: [says('Yes.')] }, { keep_traces, ...settings })
  return {
    ...app,
    make: async (count: number, session = 'default', from = 1) => {
      for (let call = from; call < from + count; call++) await app.post(`/s/${session}${CHAT}`, body(`call ${call}`))
    },
    names: async (session = 'default') => {
      const { data } = (await app.fetch(`/_understudy/traces?session=${session}`)).json() as {
        data: { name: string }[]
      }
      return data.map(({ name }) => name)
    },
    counts: async () => (await app.fetch('/_understudy/health')).json().counts,
  }
}

test('trace retention: keeps the newest traces, and health counts the removed ones', async () => {
  const app = appKeeping(3)
  await app.make(3)
  expect(await app.counts()).toMatchObject({ traces: 3, traces_dropped: 0 })
  const oldest = await app.post(CHAT, body('call 4'))
  await app.make(3, 'default', 5)
  expect(await app.names()).toEqual(['call 7', 'call 6', 'call 5'])
  expect(await app.counts()).toMatchObject({ traces: 3, traces_dropped: 4 })
  expect(await app.traceOf(oldest)).toMatchObject({ error: { code: 'trace_not_found' } } as never)
})

test('trace retention: applies to each session by itself', async () => {
  const app = appKeeping(2)
  await app.make(5, 'busy')
  await app.make(2, 'quiet')
  expect(await app.names('busy')).toEqual(['call 5', 'call 4'])
  expect(await app.names('quiet')).toEqual(['call 2', 'call 1'])
  expect(await app.counts()).toMatchObject({ sessions: 3, traces: 4, traces_dropped: 3 })
})

test('trace retention: shows and counts the same after a session was unloaded', async () => {
  const app = appKeeping(3)
  await app.make(5, 'sleeper')
  const counted = await app.counts()
  expect(counted).toMatchObject({ traces: 3, traces_dropped: 2 })
  const { slot } = app.understudy.sessions.get('sleeper') as unknown as { slot: { sleep(): void; loaded: boolean } }
  slot.sleep()
  expect(slot.loaded).toBe(false)
  expect(await app.counts()).toEqual(counted)
  expect(await app.names('sleeper')).toEqual(['call 5', 'call 4', 'call 3'])
  expect(await app.counts()).toEqual(counted)
  await app.make(1, 'sleeper', 6)
  expect(await app.names('sleeper')).toEqual(['call 6', 'call 5', 'call 4'])
  expect(await app.counts()).toMatchObject({ traces: 3, traces_dropped: 3 })
})

test('trace retention: keeps no more than its limit under parallel calls', async () => {
  const app = appKeeping(5)
  await Promise.all(Array.from({ length: 20 }, (_, call) => app.post(CHAT, body(`call ${call + 1}`))))
  expect(await app.names()).toEqual(['call 20', 'call 19', 'call 18', 'call 17', 'call 16'])
  expect(await app.counts()).toMatchObject({ traces: 5, traces_dropped: 15 })
})

test('trace retention: drops traces after a restart with a lower limit', async () => {
  const db = join(folder.path, 'fewer.db')
  const before = appKeeping(10, { db })
  await before.make(8)
  before.close()
  const now = appKeeping(2, { db })
  expect(await now.counts()).toMatchObject({ traces: 8, traces_dropped: 0 })
  await now.make(1, 'default', 9)
  expect(await now.names()).toEqual(['call 9', 'call 8'])
  expect(await now.counts()).toMatchObject({ traces: 2, traces_dropped: 7 })
})

test('trace retention: defaults to ten thousand traces and 256 MiB', () => {
  expect(readConfig({}, {})).toMatchObject({
    keep_traces: 10_000,
    keep_trace_bytes: 2 ** 28,
    keep_response_bytes: 2 ** 27,
  })
})

test('response cache: removes expired responses when another one is stored', async () => {
  const app = appKeeping(10)
  const session = app.understudy.sessions.get('default')
  const stored = async () => (await session.snapshot()).tables.kept?.length
  const ask = (content: string, ttl: number) =>
    app.ask({ messages: [{ role: 'user', content }], cache: { type: 'exact_match', ttl } })
  for (const content of ['one', 'two', 'three']) await ask(content, 10)
  await ask('four', 1000)
  expect(await stored()).toBe(4)
  await session.clock.sleep(10_000)
  await app.ask({})
  expect(await stored()).toBe(4)
  await ask('five', 10)
  expect(await stored()).toBe(2)
})
