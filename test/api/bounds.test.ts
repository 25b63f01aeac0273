// Storage and caches are bounded in bytes: the oldest is removed, the newest stays, and health shows the sizes.
import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Config } from '../../src/config.ts'
import { recordedReads } from '../../src/scenarios/engine.ts'
import { type Answer, createTestApp, type TestApp } from '../support/app.ts'
import { bodyOf, CHAT } from '../support/chat.ts'
import { playing } from '../support/scenario.ts'
import { bytesOf } from '../support/scripted.ts'
import { emptyFolder } from '../support/server.ts'

interface Size {
  entries: number
  bytes: number
  limit: number
  dropped: number
}
const apps: TestApp[] = []
const folder = emptyFolder()
afterAll(() => {
  for (const app of apps) app.close()
  folder.remove()
})

/** An application with these settings, and what its health says of a store or a cache. */
function bounded(settings: Partial<Config> = {}) {
  const app = createTestApp({ clock: 'virtual', ...settings })
  apps.push(app)
  const health = async () =>
    (await app.fetch('/_understudy/health')).json() as {
      stores: Record<'traces' | 'answers', Size>
      caches: Record<string, Omit<Size, 'dropped'>>
      counts: Record<string, number>
    }
  const ok = async (path: string, body: object): Promise<Answer> => {
    const answer = await app.post(path, body)
    expect(answer.status).toBe(200)
    return answer
  }
  return { app, health, ok }
}

const KB = 1_000
const text = (size: number, name: unknown) => `${name} ${'word '.repeat(size / 5)}`
const say = (size: number, name: unknown) => bodyOf({ messages: [{ role: 'user', content: text(size, name) }] })

describe('trace storage', () => {
  const LIMIT = 300 * KB
  const seen = async (app: TestApp, answers: readonly Answer[]) =>
    Promise.all(answers.map(async (answer) => 'id' in (await app.traceOf(answer))))

  /** Calls of 20 kB one after another, and their answers. */
  const fill = async ({ ok }: ReturnType<typeof bounded>, count: number, session = 'default') => {
    const answers: Answer[] = []
    for (let index = 0; index < count; index++) answers.push(await ok(`/s/${session}${CHAT}`, say(20 * KB, index)))
    return answers
  }

  test.each(['default', 'another'])('of session %s stays within its limit', async (session) => {
    const one = bounded({ keep_trace_bytes: LIMIT })
    const answers = await fill(one, 30, session)
    const { stores, counts } = await one.health()
    expect(stores.traces.bytes).toBeLessThanOrEqual(LIMIT)
    expect(stores.traces).toMatchObject({ entries: counts.traces, dropped: counts.traces_dropped, limit: LIMIT })
    expect(stores.traces.entries + stores.traces.dropped).toBe(30)
    const { entries, dropped } = stores.traces
    expect(entries).toBeGreaterThan(8)
    expect(await seen(one.app, answers)).toEqual([...Array(dropped).fill(false), ...Array(entries).fill(true)])
  })

  test('stays within its limit under parallel and large calls, and keeps the newest trace whatever its size', async () => {
    const one = bounded({ keep_trace_bytes: LIMIT })
    await Promise.all(Array.from({ length: 40 }, (_, index) => one.ok(CHAT, say(20 * KB, index))))
    expect((await one.health()).stores.traces.bytes).toBeLessThanOrEqual(LIMIT)
    const huge = await one.ok(CHAT, say(2 * LIMIT, 'huge'))
    expect(await seen(one.app, [huge])).toEqual([true])
    expect((await one.health()).stores.traces).toMatchObject({ entries: 1, dropped: 40 })
    const small = await one.ok(CHAT, say(100, 'small'))
    expect(await seen(one.app, [huge, small])).toEqual([false, true])
  })

  test('makes room when --keep-traces removes traces', async () => {
    const one = bounded({ keep_trace_bytes: LIMIT, keep_traces: 5 })
    await fill(one, 60)
    const { traces } = (await one.health()).stores
    expect(traces).toMatchObject({ entries: 5, dropped: 55 })
    expect(traces.bytes).toBeLessThan(LIMIT / 2)
  })

  test('counts the traces of an earlier run', async () => {
    const db = join(folder.path, 'traces.db')
    const before = bounded({ db })
    await fill(before, 30)
    before.app.close()
    const now = bounded({ db, keep_trace_bytes: LIMIT })
    const [newest = {} as Answer] = await fill(now, 1)
    const { traces } = (await now.health()).stores
    expect(traces.bytes).toBeLessThanOrEqual(LIMIT)
    expect(traces.entries + traces.dropped).toBe(31)
    expect(await seen(now.app, [newest])).toEqual([true])
  })

  test('still counts removed traces after the session was unloaded', async () => {
    const one = bounded({ keep_trace_bytes: LIMIT })
    await fill(one, 30, 'sleeper')
    const { traces } = (await one.health()).stores
    const { slot } = one.app.understudy.sessions.get('sleeper') as unknown as { slot: { sleep(): void } }
    slot.sleep()
    expect((await one.health()).stores.traces).toEqual(traces)
    await fill(one, 10, 'sleeper')
    const later = (await one.health()).stores.traces
    expect(later.entries + later.dropped).toBe(40)
    expect(later.bytes).toBeLessThanOrEqual(LIMIT)
  })
})

describe('response storage', () => {
  const LIMIT = 300 * KB
  const RESPONSES = '/v2/router/responses'
  const ask = (input: string, previous?: string) => ({
    model: 'openai/gpt-4o',
    input,
    ...(previous && { previous_response_id: previous }),
  })
  const cached = (size: number, name: unknown, ttl: number) => ({
    ...say(size, name),
    cache: { type: 'exact_match', ttl },
  })
  const idOf = (answer: Answer) => String((answer.json() as { id: string }).id)

  test('stays within its limit: keeps the newest, drops the oldest', async () => {
    const { app, ok, health } = bounded({ keep_response_bytes: LIMIT })
    const ids: string[] = []
    for (let index = 0; index < 30; index++) ids.push(idOf(await ok(RESPONSES, ask(text(20 * KB, index)))))
    const { answers } = (await health()).stores
    expect(answers.bytes).toBeLessThanOrEqual(LIMIT)
    expect(answers.entries).toBeGreaterThan(5)
    expect(answers.dropped).toBeGreaterThan(5)
    expect((await app.post(RESPONSES, ask('And?', ids.at(-1)))).status).toBe(200)
    expect((await app.post(RESPONSES, ask('And?', ids[0]))).status).toBe(400)
  })

  test('drops expired responses before older valid ones', async () => {
    const { app, ok, health } = bounded({ keep_response_bytes: LIMIT })
    const oldest = idOf(await ok(RESPONSES, ask(text(20 * KB, 'oldest'))))
    await ok(RESPONSES, ask(text(20 * KB, 'second')))
    for (let index = 0; index < 100; index++) await ok(CHAT, cached(100, index, 10))
    const before = (await health()).stores.answers
    expect((await app.post('/_understudy/sessions/default/clock', { advance: '11s' })).status).toBe(200)
    for (let index = 0; index < 100; index++) await ok(CHAT, cached(100, `late ${index}`, 100))
    const after = (await health()).stores.answers
    expect(before).toMatchObject({ entries: 102, dropped: 0 })
    expect(after).toMatchObject({ entries: 102, dropped: 0 })
    // Both halves together would not have had room.
    expect(before.bytes * 1.5).toBeGreaterThan(LIMIT)
    expect((await app.post(RESPONSES, ask('And?', oldest))).status).toBe(200)
  })

  test('counts a rewritten response once, as the newest', async () => {
    const { app, health } = bounded({ keep_response_bytes: LIMIT })
    const { keyValues } = app.understudy.sessions.get('default')
    const put = (id: string) => keyValues.put({ kind: 'test', id, value: text(50 * KB, id) })
    for (const id of ['a', 'b', 'c', 'd']) await put(id)
    for (let index = 0; index < 20; index++) await put('a')
    expect((await health()).stores.answers).toMatchObject({ entries: 4, dropped: 0 })
    for (const id of ['e', 'f', 'g']) await put(id)
    const isText = (value: unknown) => typeof value === 'string'
    const there = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].filter((id) => keyValues.get('test', id, 0, isText) !== undefined)
    expect(there).toEqual(['a', 'd', 'e', 'f', 'g'])
  })
})

describe('reads recorded by a scenario', () => {
  const rules = [{ at: 'workspace', match: { path: '/v2/nowhere' }, fault: { type: 'stale-read' } }]
  const reads = async ({ health }: ReturnType<typeof bounded>) => (await health()).caches.scenario_reads

  test('stay within their limits of number and bytes', async () => {
    const one = bounded()
    expect(await reads(one)).toEqual({ entries: 0, bytes: 0, limit: 0 })
    const { prefix } = await playing(one.app, rules)
    const tool = { key: 'large', description: text(200 * KB, 'large'), function: { name: 'large' } }
    const made = (await one.ok(`${prefix}/v2/tools`, tool)).json() as { _id: string }
    for (let index = 0; index < 60; index++) await one.app.fetch(`${prefix}/v2/tools/${made._id}`)
    const large = await reads(one)
    expect(large?.bytes).toBeLessThanOrEqual(8 << 20)
    expect(large?.entries).toBeLessThan(45)
    expect(large?.entries).toBeGreaterThan(30)
    for (let index = 0; index < 250; index++) await one.app.fetch(`${prefix}/v2/datasets/none-${index}`)
    expect((await reads(one))?.entries).toBe(200)
  })

  test('exclude file contents', async () => {
    const one = bounded()
    const { prefix } = await playing(one.app, rules)
    const form = new FormData()
    form.append('purpose', 'retrieval')
    form.append('file', new File([text(100 * KB, 'file')], 'a.txt', { type: 'text/plain' }))
    const file = (await one.app.fetch(`${prefix}/v2/files`, { method: 'POST', body: form })).json() as { _id: string }
    const content = await one.app.fetch(`${prefix}/v2/files/${file._id}/content`)
    expect([content.status, content.text.length]).toEqual([200, text(100 * KB, 'file').length])
    expect(await reads(one)).toMatchObject({ entries: 0, bytes: 0 })
    await one.app.fetch(`${prefix}/v2/files/${file._id}`)
    expect(await reads(one)).toMatchObject({ entries: 1 })
  })

  test('keep the newest and skip one that exceeds the limit alone', () => {
    const kept = recordedReads({ count: 3, bytes: 100 })
    const reply = (value: unknown) => ({ ...bytesOf(''), body: { kind: 'value' as const, value } })
    for (const url of ['/a', '/b', '/c', '/d']) kept.add(url, reply('x'))
    expect(kept.list.map(({ url }) => url)).toEqual(['/b', '/c', '/d'])
    kept.add('/e', reply('x'.repeat(80)))
    expect(kept.list.map(({ url }) => url)).toEqual(['/c', '/d', '/e'])
    kept.add('/f', reply('x'.repeat(90)))
    expect(kept.list.map(({ url }) => url)).toEqual(['/f'])
    kept.add('/g', bytesOf('x'))
    kept.add('/h', reply('x'.repeat(200)))
    expect(kept.list).toEqual([])
    expect(kept.size()).toEqual({ entries: 0, bytes: 0, limit: 100 })
  })
})

test('health: shows the sizes of scenario body counters and drawn images', async () => {
  const one = bounded()
  const { prefix } = await playing(one.app, [{ match: { model: 'none/*' }, fault: { type: 'hang' } }])
  for (let index = 0; index < 10; index++) await one.ok(`${prefix}${CHAT}`, say(100, index))
  const { caches } = await one.health()
  expect(caches.scenario_counters).toMatchObject({ entries: 10, limit: 8 << 20 })
  expect(caches.pictures).toMatchObject({ limit: 32 << 20 })
})
