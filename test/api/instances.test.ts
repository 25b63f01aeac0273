// Which process answered, and whether a session began there: what a client behind a balancer needs to know.
import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { accepted } from '../support/accepted.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { emptyFolder } from '../support/server.ts'

const alone = createTestApp()
const named = createTestApp({ instance: 'b' })
const free = createTestApp({ port: 0 })
afterAll(() => Promise.all([alone, named, free].map((app) => app.close())))

const call = (session: string, app: TestApp = named) =>
  app.post(`/s/${session}${CHAT}`, { model: 'openai/gpt-4o', ...user('Hello') })
const put = (name: string, body?: object, app: TestApp = named) =>
  app.fetch(`/_understudy/sessions/${name}`, {
    method: 'PUT',
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
const verified = async (session: string, app: TestApp = named) =>
  (await app.fetch(`/s/${session}/_understudy/verify`)).json() as unknown as Verification
const instanceOf = ({ headers }: { headers: Headers }) => headers.get('x-understudy-instance')
const isNew = ({ headers }: { headers: Headers }) => headers.get('x-understudy-session-new')

test('instance header: names the process on every response', async () => {
  const answers = [
    await call('names'),
    await named.post(CHAT, { model: 'nobody/knows' }),
    await named.post(CHAT, '{'),
    await named.fetch('/v2/datasets'),
    await named.fetch('/v2/no/such/path'),
    await named.fetch('/_understudy/health'),
    await named.fetch('/swagger'),
    await named.fetch('/_understudy/sessions', { headers: { authorization: 'nothing' } }),
  ]
  expect(answers.map(instanceOf)).toEqual(answers.map(() => 'b'))
  expect(answers.map(({ status }) => status)).toEqual([200, 400, 400, 200, 404, 200, 200, 401])
})

test('instance without a name: is named by host and port, and in traces only if the port was chosen', async () => {
  const [chosen, taken] = [await call('default', alone), await call('default', free)]
  expect([instanceOf(chosen), instanceOf(taken)]).toEqual(['127.0.0.1:8633', '127.0.0.1:0'])
  expect((await alone.traceOf(chosen)).instance).toBe('127.0.0.1:8633')
  expect(await free.traceOf(taken)).not.toHaveProperty('instance')
  expect((await named.traceOf(await call('traced'))).instance).toBe('b')
})

test('lists and counts: name their process', async () => {
  const paths = ['health', 'sessions', 'traces', 'traces?all=true', 'calls', 'calls?sessions=all']
  const lists = await Promise.all(paths.map((path) => named.fetch(`/_understudy/${path}`)))
  expect(lists.map((list) => list.json().instance)).toEqual(paths.map(() => 'b'))
})

test('new-session header: is sent with the first response of an implicitly created session only', async () => {
  const answers = [await call('fresh'), await call('fresh'), await call('fresh')]
  expect(answers.map(isNew)).toEqual(['true', null, null])
  const traces = await Promise.all(answers.map((answer) => named.traceOf(answer)))
  expect(traces.map((trace) => (trace as TraceRecord).new_session)).toEqual([true, undefined, undefined])
  const origins = (await named.fetch('/_understudy/sessions')).json().data as { name: string; origin: string }[]
  expect(origins.find(({ name }) => name === 'fresh')?.origin).toBe('called')
})

test('new-session header: is sent when the workspace is used first, in a stream, and with an error', async () => {
  const data = await named.post('/s/data/v2/datasets', { display_name: 'one', path: 'Default' })
  const stream = await named.post(`/s/stream${CHAT}`, { model: 'openai/gpt-4o', stream: true, ...user('Hello') })
  const refused = await named.post(`/s/refused${CHAT}`, { model: 'nobody/knows', ...user('Hello') })
  expect([data, stream, refused].map(isNew)).toEqual(['true', 'true', 'true'])
  expect(isNew(await call('data'))).toBeNull()
})

test('new-session header: is not sent for reading a session, or after it was created or reset explicitly', async () => {
  expect(isNew(await named.fetch('/s/watched/_understudy/traces'))).toBeNull()
  expect(isNew(await call('watched'))).toBe('true')
  await accepted(named.fetch('/s/watched/_understudy/reset', { method: 'POST' }))
  expect(isNew(await call('watched'))).toBeNull()
  await put('made')
  const first = await call('made')
  expect([isNew(first), (await named.traceOf(first)).new_session]).toEqual([null, undefined])
})

test('session at one of several processes: is never reported as complete when a call began it', async () => {
  await call('lost')
  await put('known')
  await call('known')
  await call('lost', alone)
  const verdicts = [await verified('lost'), await verified('known'), await verified('lost', alone)]
  expect(verdicts.map(({ verdict, ok, complete }) => ({ verdict, ok, complete }))).toEqual([
    { verdict: 'inconclusive', ok: false, complete: false },
    { verdict: 'pass', ok: true, complete: true },
    { verdict: 'pass', ok: true, complete: true },
  ])
  expect(verdicts[0]?.notices[0]).toContain('PUT /_understudy/sessions/lost')
})

describe('session that another instance may have answered', () => {
  const folder = emptyFolder()
  const open: TestApp[] = []
  afterAll(async () => {
    for (const app of open) await app.close()
    folder.remove()
  })
  const start = (name: string | undefined, dir: string) => {
    const app = createTestApp({ instance: name, sessions_dir: join(folder.path, dir), clock: 'real' })
    open.push(app)
    return app
  }
  const incomplete = ({ headers }: { headers: Headers }) => headers.get('x-understudy-session-incomplete')
  const brief = ({ verdict, ok, complete }: Verification) => ({ verdict, ok, complete })
  const PASS = { verdict: 'pass', ok: true, complete: true } as const
  const UNKNOWN = { verdict: 'inconclusive', ok: false, complete: false } as const

  test.each(['made', 'called'] as const)(
    'is incomplete and says so once after its own instance was away: one that was %s',
    async (how) => {
      const dir = `restored-${how}`
      const first = start('a', dir)
      if (how === 'made') await put('one', { seed: 7 }, first)
      const before = await call('one', first)
      expect([isNew(before), incomplete(before)]).toEqual([how === 'made' ? null : 'true', null])
      expect(brief(await verified('one', first))).toEqual(how === 'made' ? PASS : UNKNOWN)
      first.close()
      const second = start('a', dir)
      // To look at it is no call.
      expect(brief(await verified('one', second))).toEqual(UNKNOWN)
      const answers = [await call('one', second), await call('one', second)]
      expect(answers.map(incomplete)).toEqual(['restored', null])
      expect(answers.map(isNew)).toEqual([null, null])
      const verdict = await verified('one', second)
      expect([brief(verdict), verdict.calls]).toEqual([UNKNOWN, 3])
      expect(verdict.notices[0]).toContain('restored from an earlier process of the instance a')
      await accepted(second.post('/_understudy/sessions/one/reset', {}))
      expect([incomplete(await call('one', second)), brief(await verified('one', second))]).toEqual([null, PASS])
      second.close()
    },
  )

  test('is complete after a restart of the only, unnamed process', async () => {
    const first = start(undefined, 'alone')
    await call('one', first)
    first.close()
    const second = start(undefined, 'alone')
    const answer = await call('one', second)
    expect([incomplete(answer), isNew(answer)]).toEqual([null, null])
    expect([brief(await verified('one', second)), (await verified('one', second)).calls]).toEqual([PASS, 2])
    second.close()
  })

  /** A request as a balancer sends it on, which knows who has answered the last call of the session. */
  const after = (last: string | number, session: string, path = CHAT, method = 'POST') =>
    named.fetch(`/s/${session}${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        'x-understudy-served-by': String(typeof last === 'number' ? last : crc32(last)),
      },
      ...(path === CHAT && { body: JSON.stringify({ model: 'openai/gpt-4o', ...user('Hello') }) }),
    })

  test('is incomplete when the balancer says so, even if its own instance kept running', async () => {
    await put('kept')
    for (const last of [0, 'b', 'b']) expect(incomplete(await after(last, 'kept'))).toBeNull()
    expect(brief(await verified('kept'))).toEqual(PASS)
    const back = [await after('c', 'kept'), await after('b', 'kept')]
    expect(back.map(incomplete)).toEqual(['moved', null])
    const verdict = await verified('kept')
    expect([brief(verdict), verdict.calls]).toEqual([UNKNOWN, 5])
    expect(verdict.notices[0]).toContain('an instance other than b handled calls')
    await named.fetch('/_understudy/sessions/kept', { method: 'DELETE' })
    await put('kept')
    await after('b', 'kept')
    expect(brief(await verified('kept'))).toEqual(PASS)
  })

  const looks: [string, string, string][] = [
    ['its verdict', '/_understudy/verify', 'GET'],
    ['its settings', '/_understudy/sessions/seen', 'GET'],
    ['a PUT of it', '/_understudy/sessions/seen', 'PUT'],
  ]
  test.each(looks)('is incomplete even when %s is read first afterwards', async (_, path, method) => {
    await named.fetch('/_understudy/sessions/seen', { method: 'DELETE' })
    await put('seen')
    await after('b', 'seen')
    expect((await after('a', 'seen', path, method)).status).toBe(200)
    expect(brief(await verified('seen'))).toEqual(UNKNOWN)
  })

  test('ignores an invalid header of the balancer', async () => {
    await put('odd')
    for (const text of ['', 'a', '-1', '1e3', '00']) {
      const answer = await named.fetch('/s/odd/_understudy/traces', { headers: { 'x-understudy-served-by': text } })
      expect(answer.status).toBe(200)
    }
    expect(brief(await verified('odd'))).toEqual(PASS)
  })
})

test('session created by PUT: is created once and is the same when repeated', async () => {
  const settings = { seed: 7, clock: 'virtual', scenario: 'rate-limit-burst' }
  const made = await put('mine', settings)
  expect(made.json()).toMatchObject({ name: 'mine', seed: 7, scenario: 'rate-limit-burst', origin: 'made', calls: 0 })
  await call('mine')
  expect((await put('mine', settings)).json()).toMatchObject({ calls: 1 })
  expect((await put('mine')).json()).toMatchObject({ seed: 7, calls: 1 })
  const other = await put('mine', { seed: 8 })
  expect([other.status, errorOf(other.text, 409).code]).toEqual([409, 'session_exists'])
  expect((await put('mine', { name: 'mine' })).status).toBe(400)
  expect((await put('no spaces')).status).toBe(400)
})
