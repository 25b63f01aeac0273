// Faults of the workspace routes: errors and delays, stale reads, and pages that shift.

import { afterAll, describe, expect, test } from 'bun:test'
import type { Answer } from '../support/app.ts'
import { createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { playing } from '../support/scenario.ts'

const app = createTestApp()
afterAll(app.close)

type Json = Record<string, unknown>
const DATASETS = '/v2/datasets'

/** A session with a scenario, and calls to its workspace. */
async function workspace(rules: readonly object[]) {
  const { prefix, rule, chat } = await playing(app, rules)
  const call = (method: string, path: string, body?: object): Promise<Answer> =>
    app.fetch(`${prefix}${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
  const create = async (name: string) =>
    (await call('POST', DATASETS, { display_name: name, path: 'Default' })).json() as Json
  const names = async (query = '') => {
    const { data, has_more: more } = (await call('GET', `${DATASETS}${query}`)).json() as {
      data: Json[]
      has_more: boolean
    }
    return { names: data.map((one) => one.display_name), ids: data.map((one) => String(one._id)), more }
  }
  return { prefix, rule, chat, call, create, names }
}

describe('workspace http-error and delay', () => {
  test('return an error of this API and leave the workspace unchanged', async () => {
    const fault = { type: 'http-error', status: 503, retry_after: '2s' }
    const { call, chat, rule, names } = await workspace([
      { at: 'workspace', match: { operation: 'createDataset' }, fault },
    ])
    const answer = await call('POST', DATASETS, { display_name: 'One', path: 'Default' })
    expect(answer.status).toBe(503)
    expect(errorOf(answer.text, 503).type).toBe('server_error')
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'retry-after': '2',
      'x-understudy-faults': 'rule 1',
      'x-understudy-scenario': 'bad-day',
    })
    expect((await names()).names).toEqual([])
    expect((await chat()).status).toBe(200)
    expect(await rule()).toMatchObject({ triggered: 1, applied: 1 })
  })

  test.each<[match: object, hit: string[]]>([
    [{}, ['list', 'create', 'get', 'other']],
    [{ operation: '*Dataset*' }, ['list', 'create', 'get']],
    [{ operation: 'listDatasets' }, ['list']],
    [{ path: '/v2/datasets/*' }, ['get']],
    [{ path: '/v2/projects' }, ['other']],
    [{ header: { 'x-team': 'blue' } }, []],
    [{ body: { display_name: 'One' } }, ['create']],
  ])('%j affects %j', async (match, hit) => {
    const { call } = await workspace([{ at: 'workspace', match, fault: { type: 'http-error', status: 500 } }])
    const calls: Record<string, Promise<Answer>> = {
      list: call('GET', DATASETS),
      create: call('POST', DATASETS, { display_name: 'One', path: 'Default' }),
      get: call('GET', `${DATASETS}/00000000-0000-4000-8000-000000000000`),
      other: call('GET', '/v2/projects'),
    }
    const met: string[] = []
    for (const [name, answer] of Object.entries(calls)) if ((await answer).status === 500) met.push(name)
    expect(met).toEqual(hit)
  })

  test('count calls for their rule, while provider rules leave the workspace alone', async () => {
    const error = { type: 'http-error', status: 500 }
    const { call } = await workspace([{ at: 'workspace', when: { calls: 2 }, fault: error }, { fault: error }])
    const statuses: number[] = []
    for (let count = 0; count < 3; count++) statuses.push((await call('GET', DATASETS)).status)
    expect(statuses).toEqual([200, 500, 200])
  })

  test("wait on the session's clock", async () => {
    const { create } = await workspace([{ at: 'workspace', when: { calls: 1 }, fault: { type: 'delay', for: '90s' } }])
    expect([(await create('One')).created, (await create('Two')).created]).toEqual([
      '2025-01-01T00:01:30.000Z',
      '2025-01-01T00:01:30.000Z',
    ])
  })

  test('leave client mistakes as they are, and a header selects the scenario of one call', async () => {
    const { call, prefix } = await workspace([{ at: 'workspace', fault: { type: 'delay', for: '1s' } }])
    expect(errorOf((await call('POST', DATASETS, { display_name: 1 })).text, 400).param).toBe('display_name')
    const chosen = (name: string) => app.fetch(`${prefix}${DATASETS}`, { headers: { 'x-understudy-scenario': name } })
    expect((await chosen('stream-cut')).headers.get('x-understudy-scenario')).toBe('stream-cut')
    expect(errorOf((await chosen('nowhere')).text, 400).message).toContain('stream-cut')
  })

  test('cause no internal error when the client disconnects', async () => {
    const { prefix } = await playing(app, [{ at: 'workspace', fault: { type: 'delay', for: '10m' } }], {
      clock: 'real',
    })
    const leaving = new AbortController()
    const answer = app.fetch(`${prefix}${DATASETS}`, { signal: leaving.signal })
    leaving.abort()
    expect((await answer).status).toBe(499)
  })
})

describe('stale-read', () => {
  const stale = [{ fault: { type: 'stale-read' } }]

  test('returns a record and a list as before the last write', async () => {
    const { call, create, names, rule } = await workspace([{ ...stale[0], match: { operation: '*Dataset*' } }])
    const { _id } = await create('One')
    const name = async () => ((await call('GET', `${DATASETS}/${_id}`)).json() as Json).display_name
    expect([await name(), (await names()).names]).toEqual(['One', ['One']])
    await call('PATCH', `${DATASETS}/${_id}`, { display_name: 'Two' })
    expect([await name(), (await names()).names]).toEqual(['One', ['One']])
    await create('Three')
    expect([await name(), (await names()).names]).toEqual(['One', ['Two']])
    expect((await names('?limit=5')).names).toEqual(['Three', 'Two'])
    expect(await rule()).toMatchObject({
      applied: 4,
      skipped: { 'the call is not a read': 3, 'nothing else was read there before': 3 },
    })
  })

  test('returns what was deleted', async () => {
    const { call, create } = await workspace([{ ...stale[0], when: { calls: '3+' } }])
    const { _id } = await create('One')
    const path = `${DATASETS}/${_id}`
    expect((await call('GET', path)).status).toBe(200)
    await call('DELETE', path)
    expect((await call('GET', path)).json()).toMatchObject({ display_name: 'One' })
  })

  test('does not affect other sessions', async () => {
    const [one, two] = [
      await workspace(stale),
      await workspace([{ at: 'workspace', fault: { type: 'delay', for: 0 } }]),
    ]
    for (const { create, names } of [one, two]) {
      await names()
      await create('New')
    }
    expect([(await one.names()).names, (await two.names()).names]).toEqual([[], ['New']])
  })
})

describe('shifted-page', () => {
  const paged = async (shift: string) => {
    const made = await workspace([{ match: { operation: 'listDatasets' }, fault: { type: 'shifted-page', shift } }])
    for (const name of ['one', 'two', 'three', 'four', 'five']) await made.create(name)
    return made
  }

  test('skips an item of each page, so that a paging client misses some', async () => {
    const { names, rule } = await paged('skip')
    const first = await names('?limit=3')
    expect(first).toMatchObject({ names: ['four', 'three'], more: true })
    expect(await names(`?limit=3&starting_after=${first.ids[1]}`)).toMatchObject({ names: ['one'], more: false })
    expect(await names(`?limit=3&starting_after=${(await names('?limit=50')).ids.at(-1)}`)).toMatchObject({
      names: [],
    })
    expect(await rule()).toMatchObject({ applied: 3, skipped: { 'the page is empty': 1 } })
  })

  test('repeats the item before the page, so that a paging client sees some twice', async () => {
    const { names, rule } = await paged('repeat')
    const first = await names('?limit=2')
    expect(first).toMatchObject({ names: ['five', 'four'], more: true })
    const second = await names(`?limit=2&starting_after=${first.ids[1]}`)
    expect(second).toMatchObject({ names: ['four', 'three'], more: true })
    expect(await names(`?limit=2&starting_after=${second.ids[1]}`)).toMatchObject({
      names: ['three', 'two'],
      more: true,
    })
    expect(await rule()).toMatchObject({
      applied: 2,
      skipped: { 'no item before the page was read, or it has room for one only': 1 },
    })
  })

  test('leaves a response without a list alone', async () => {
    const { create, call, rule } = await workspace([{ fault: { type: 'shifted-page' } }])
    const { _id } = await create('One')
    expect((await call('GET', `${DATASETS}/${_id}`)).json()).toMatchObject({ display_name: 'One' })
    expect(await rule()).toMatchObject({ applied: 0, skipped: { 'the response is not a list': 2 } })
  })
})

test.each(['processing', 'queued'])(
  'stuck-processing: keeps a datasource in %s, alone and in lists, until the scenario ends',
  async (status) => {
    const { prefix, call, rule } = await workspace([{ fault: { type: 'stuck-processing', status } }])
    const form = new FormData()
    form.set('file', new File(['# Returns\n\nWithin 30 days.'], 'returns.md'))
    const { _id: file_id } = (await app.fetch(`${prefix}/v2/files`, { method: 'POST', body: form })).json()
    const base = (await call('POST', '/v2/knowledge', { key: 'help' })).json()
    const at = `/v2/knowledge/${base._id}/datasources`
    const { _id } = (await call('POST', at, { file_id })).json()
    const { clock } = app.understudy.sessions.get(prefix.slice('/s/'.length))
    const chunks = async () => (await call('GET', `${at}/${_id}/chunks`)).json().data as Json[]
    while ((await chunks()).length === 0) await clock.sleep(1000)
    const state = async () => {
      const { data } = (await call('GET', at)).json() as { data: Json[] }
      return [(await call('GET', `${at}/${_id}`)).json().status, ...data.map((one) => one.status)]
    }
    expect(await state()).toEqual([status, status])
    const { applied, skipped } = (await rule()) ?? {}
    // A new one is queued by itself.
    const reasons = ['the response has no datasource', ...(status === 'queued' ? ['it is already in that state'] : [])]
    expect([applied, Object.keys(skipped ?? {})]).toEqual([status === 'queued' ? 2 : 3, reasons])
    await call('DELETE', '/_understudy/scenario')
    expect(await state()).toEqual(['completed', 'completed'])
  },
)

test('file content: is returned byte for byte while a scenario is active', async () => {
  const { prefix } = await workspace([{ at: 'workspace', fault: { type: 'delay', for: '1s' } }])
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
  const form = new FormData()
  form.set('file', new File([bytes], 'all.png', { type: 'image/png' }))
  const { _id } = (await app.fetch(`${prefix}/v2/files`, { method: 'POST', body: form })).json()
  const headers = { authorization: 'Bearer any' }
  const content = new Request(`http://localhost${prefix}/v2/files/${_id}/content`, { headers })
  const response = await app.understudy.app.fetch(content)
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes)
  expect(response.headers.get('content-disposition')).toBe('attachment')
})

test('file content: is read as it is when its type is JSON and it is not', async () => {
  const { prefix, call } = await workspace([
    { at: 'workspace', match: { path: '/v2/projects' }, fault: { type: 'delay', for: '1s' } },
  ])
  const form = new FormData()
  form.set('purpose', 'retrieval')
  form.set('file', new File(['RIFF: no JSON'], 'sound.json', { type: 'application/json' }))
  const { _id } = (await app.fetch(`${prefix}/v2/files`, { method: 'POST', body: form })).json() as { _id: string }
  const { status, text } = await call('GET', `/v2/files/${_id}/content`)
  expect([status, text]).toEqual([200, 'RIFF: no JSON'])
})
