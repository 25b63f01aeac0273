// Every resource of the registry over HTTP: methods, pages, errors, restarts and sessions.

import { afterAll, test as anyTest, describe, expect } from 'bun:test'
import { join } from 'node:path'
import fc from 'fast-check'
import type { z } from 'zod'
import { resources } from '../../src/resources/index.ts'
import { createTestApp } from '../support/app.ts'
import { property, runs, test } from '../support/property.ts'
import { emptyFolder } from '../support/server.ts'
import { strictError } from '../support/strict/workspace.ts'
import { bodyOf, type Json, listPathOf, made, parsed, patchOf, workspaceOf } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const workspace = workspaceOf(app)
const UNKNOWN = '01JGFJJZ00ZZZZZZZZZZZZZZZZ'
const UNKNOWN_UUID = '00000000-0000-4000-8000-000000000000'
const unknownId = (id: string) => (id.includes('-') ? UNKNOWN_UUID : id.replace(/[^_]{26}$/, UNKNOWN))
const data = (body: Json) => (Array.isArray(body) ? body : body.data) as Json[]

test('resource registry: has a unique kind and path for each resource', () => {
  expect(new Set(resources.map(({ kind }) => kind)).size).toBe(resources.length)
  expect(new Set(resources.map(({ path }) => path)).size).toBe(resources.length)
  expect(made.length).toBeGreaterThanOrEqual(7)
})

describe.each(made.map((resource) => [resource.kind, resource] as const))('resource %s', (_, resource) => {
  const path = listPathOf(resource, workspace)
  const create = async () => parsed(resource, await workspace.ok('POST', await path, bodyOf(resource)))
  const at = async (record: Json) => `${await path}/${record._id}`

  test('is returned after creation, with a valid id, times and authors', async () => {
    const body = bodyOf(resource)
    const record = parsed(resource, await workspace.ok('POST', await path, body))
    expect(record._id).toMatch(resource.id.pattern)
    expect(record.created).toBe('2025-01-01T00:00:00.000Z')
    expect(record.updated).toBe(record.created)
    expect(record.created_by_id).toBe(record.updated_by_id)
    // These are answered in a form of their own, or not at all.
    const others = ['path', 'output_type', 'model', 'settings', 'embedding_model']
    const kept = Object.entries(body).filter(([field]) => !others.includes(field))
    expect(record).toMatchObject(Object.fromEntries(kept))
    expect(await workspace.ok('GET', await at(record))).toEqual(record)
  })

  test('is changed by an update only in the named fields', async () => {
    const record = await create()
    const patch = patchOf(resource)
    const changed = parsed(resource, await workspace.ok('PATCH', await at(record), patch))
    expect(changed).toMatchObject(patch)
    const moving = [...Object.keys(patch), 'updated', 'updated_by_id', 'snapshot_version', 'metadata', 'version']
    for (const [field, value] of Object.entries(record))
      if (!moving.includes(field)) expect(changed[field]).toEqual(value)
    expect(await workspace.ok('GET', await at(record))).toEqual(changed)
    expect(await workspace.ok('PATCH', await at(record), {})).toEqual(changed)
  })

  test('is missing after deletion', async () => {
    const record = await create()
    const { deletedStatus = 200 } = resource
    const gone = deletedStatus === 204 ? {} : { _id: record._id, deleted: true }
    expect(await workspace.call('DELETE', await at(record))).toMatchObject({ status: deletedStatus, body: gone })
    for (const method of ['GET', 'DELETE']) expect((await workspace.call(method, await at(record))).status).toBe(404)
    expect(data(await workspace.ok('GET', await path)).map(({ _id }) => _id)).not.toContain(record._id)
  })

  const pagedTest = resource.plainList === true ? anyTest.skip : test
  pagedTest('lists pages in both directions, newest first', async () => {
    const ids: unknown[] = []
    for (let count = 0; count < 5; count++) ids.unshift((await create())._id)
    const page = async (query: string) => {
      const body = await workspace.ok('GET', `${await path}?${query}`)
      expect(body.object).toBe('list')
      for (const record of data(body)) parsed(resource, record)
      return { ids: data(body).map(({ _id }) => _id), more: body.has_more }
    }
    const first = await page('limit=2')
    expect(first).toEqual({ ids: ids.slice(0, 2), more: true })
    const second = await page(`limit=2&starting_after=${ids[1]}`)
    expect(second).toEqual({ ids: ids.slice(2, 4), more: true })
    expect(await page(`limit=2&ending_before=${ids[3]}`)).toEqual({ ids: ids.slice(1, 3), more: true })
    expect(await page(`limit=2&ending_before=${ids[2]}`)).toEqual({ ids: ids.slice(0, 2), more: false })
    expect(await page(`limit=50&ending_before=${ids[0]}`)).toEqual({ ids: [], more: false })
  })

  const BAD_PAGES: [string, string][] = [
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=ten', 'limit'],
    ['colour=red', 'colour'],
  ]
  test.each(BAD_PAGES)('rejects a page of %s by name', async (query, said) => {
    const { status, body } = await workspace.call('GET', `${await path}?${query}`)
    expect(status).toBe(400)
    expect(strictError.parse(body).message).toContain(said)
  })

  pagedTest('rejects both cursors at once and unknown cursors', async () => {
    const { _id } = await create()
    const both = await workspace.call('GET', `${await path}?starting_after=${_id}&ending_before=${_id}`)
    expect([both.status, (both.body.error as Json).param]).toEqual([400, 'ending_before'])
    const nowhere = await workspace.call('GET', `${await path}?starting_after=${unknownId(String(_id))}`)
    expect([nowhere.status, (nowhere.body.error as Json).param]).toEqual([404, 'starting_after'])
    const malformed = await workspace.call('GET', `${await path}?ending_before=no-such-id`)
    expect([malformed.status, (malformed.body.error as Json).param]).toEqual([404, 'ending_before'])
  })

  test.each(['GET', 'PATCH', 'DELETE'])('returns 404 on %s of an unknown id, whatever its form', async (method) => {
    const { _id } = await create()
    const body = method === 'PATCH' ? patchOf(resource) : undefined
    const strange = [
      'no-such-id',
      '0',
      `${_id}x`,
      String(_id).toUpperCase().replace(/^/, 'X'),
      '%00',
      '%ED%A0%80',
      '%zz',
      '😀',
    ]
    for (const id of [unknownId(String(_id)), ...strange]) {
      const unknown = await workspace.call(method, `${await path}/${id}`, body)
      expect([id, unknown.status]).toEqual([id, 404])
      expect(strictError.parse(unknown.body).message).toMatch(/^[A-Z][a-z ]+ not found: /)
      const asText = method === 'PATCH' && resource.textErrors?.includes('update')
      if (asText) expect(unknown.body.error).toBe(unknown.body.message)
      else expect((unknown.body.error as Json).param).toBe(resource.param)
    }
    const long = await workspace.call(method, `${await path}/${'x'.repeat(3_000)}`, body)
    expect(long.status).toBe(404)
    expect(String(long.body.message).length).toBeLessThan(300)
  })

  test('returns 400 and names a field of the wrong type', async () => {
    for (const field of Object.keys(bodyOf(resource))) {
      const wrong = { ...bodyOf(resource), [field]: { not: { a: ['value'] } } }
      const { status, body } = await workspace.call('POST', await path, wrong)
      // Free objects take any value.
      if (status < 300) {
        expect(['metadata', 'settings']).toContain(field)
        continue
      }
      expect([field, status]).toEqual([field, 400])
      expect(String((body.error as Json).param).split(/[.[]/)[0]).toBe(field)
    }
  })

  if (resource.key && !resource.upsert) {
    test('returns 409 for a key that is taken, on create and update', async () => {
      const first = await create()
      const second = await create()
      const canChange = Object.hasOwn((resource.update as z.ZodObject).shape, resource.key ?? '')
      const taken = { [resource.key as string]: first[resource.key as string] }
      for (const answer of [
        await workspace.call('POST', await path, { ...bodyOf(resource), ...taken }),
        ...(canChange ? [await workspace.call('PATCH', await at(second), taken)] : []),
      ]) {
        expect(answer.status).toBe(409)
        expect(answer.body.message).toContain(String(first._id))
        expect((answer.body.error as Json).param).toBe(resource.key as string)
      }
      expect(await workspace.ok('GET', await at(second))).toEqual(second)
    })
  }

  test('is unknown in another session and another workspace', async () => {
    const record = await create()
    const strange = workspaceOf(app, { 'x-understudy-session': `other-${resource.kind}` })
    expect((await strange.call('GET', await at(record))).status).toBe(404)
    const mapped = createTestApp({ tokens: { acme: { workspace: 'acme' } } })
    const [here, there] = [workspaceOf(mapped), workspaceOf(mapped, { authorization: 'Bearer acme' })]
    const list = await listPathOf(resource, here)
    const own = await here.ok('POST', list, bodyOf(resource))
    expect((await there.call('GET', `${list}/${own._id}`)).status).toBe(404)
    await mapped.close()
  })
})

test('records: are the same after a restart, and numbering continues', async () => {
  const folder = emptyFolder()
  const db = join(folder.path, 'workspace.db')
  const before = createTestApp({ db })
  const records: [string, Json][] = []
  for (const resource of made) {
    const first = workspaceOf(before)
    const path = await listPathOf(resource, first)
    const record = await first.ok('POST', path, bodyOf(resource))
    records.push([`${path}/${record._id}`, await first.ok('PATCH', `${path}/${record._id}`, patchOf(resource))])
  }
  before.close()
  const after = createTestApp({ db })
  const again = workspaceOf(after)
  for (const [path, record] of records) {
    expect(await again.ok('GET', path)).toEqual(record)
    await again.ok('DELETE', path)
  }
  for (const resource of made) {
    const path = await listPathOf(resource, again)
    await again.ok('POST', path, bodyOf(resource))
  }
  after.close()
  folder.remove()
})

test('record ids: are the same for the same calls and seed, and differ with another seed', async () => {
  const ids = async (seed: number) => {
    const one = createTestApp({ seed })
    const calls = workspaceOf(one)
    const made = []
    for (const path of ['/v2/contacts', '/v2/contacts']) {
      made.push((await calls.ok('POST', path, { external_id: `user-${made.length}` }))._id)
    }
    one.close()
    return made
  }
  expect(await ids(1)).toEqual(await ids(1))
  expect(await ids(1)).not.toEqual(await ids(2))
})

property('property: pages of a list together are the list, with nothing twice or missing', async () => {
  const pages = workspaceOf(app, { 'x-understudy-session': 'pages' })
  const total = 23
  for (let count = 0; count < total; count++) await pages.ok('POST', '/v2/contacts', { external_id: `user-${count}` })
  const all = data(await pages.ok('GET', '/v2/contacts?limit=50')).map(({ external_id }) => external_id)
  expect(all).toEqual(Array.from({ length: total }, (_, count) => `user-${total - 1 - count}`))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 30 }), fc.boolean(), async (limit, forwards) => {
      const seen: unknown[] = []
      const last = data(await pages.ok('GET', '/v2/contacts?limit=50')).at(-1)
      if (!forwards) seen.push(last?.external_id)
      let cursor = forwards ? '' : `&ending_before=${last?._id}`
      for (;;) {
        const page = await pages.ok('GET', `/v2/contacts?limit=${limit}${cursor}`)
        const found = data(page)
        expect(found.length).toBeLessThanOrEqual(limit)
        const names = found.map(({ external_id }) => external_id)
        if (forwards) seen.push(...names)
        else seen.unshift(...names)
        if (!page.has_more) break
        cursor = forwards ? `&starting_after=${found.at(-1)?._id}` : `&ending_before=${found[0]?._id}`
      }
      expect(seen).toEqual(all)
    }),
    { numRuns: runs(20), seed: 1 },
  )
})
