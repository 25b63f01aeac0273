// Versions of tools and evaluators: one for each change, without gaps.

import { afterAll, describe, expect, test } from 'bun:test'
import { checksumOf } from '../../src/lib/canonical.ts'
import { createTestApp } from '../support/app.ts'
import { strict } from '../support/strict/workspace.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const session = (name: string) => workspaceOf(app, { 'x-understudy-session': name })
const { ok, call } = workspaceOf(app)
const data = (body: Json) => body.data as Json[]
const UNKNOWN = '01JGFJJZ00ZZZZZZZZZZZZZZZZ'

describe('versions of tools and evaluators', () => {
  test('are written by each change with a checksum, and strict clients read them', async () => {
    const tool = await ok('POST', '/v2/tools', { key: 'versioned', description: 'one', function: { name: 'f' } })
    for (const description of ['two', 'two', 'three']) await ok('PATCH', `/v2/tools/${tool._id}`, { description })
    const list = await ok('GET', `/v2/tools/${tool._id}/versions?limit=10`)
    strict.evaluatorVersions?.parse(list)
    expect(data(list).map(({ version }) => version)).toEqual(['1.0.2', '1.0.1', '1.0.0'])
    expect(data(list).map((version) => (version.data as Json).description)).toEqual(['three', 'two', 'one'])
    for (const version of data(list)) {
      const got = await ok('GET', `/v2/tools/${tool._id}/versions/${version._id}`)
      expect(strict.version?.parse(got)).toEqual(version)
      expect(got.checksum).toBe(checksumOf(got.data))
      expect([got.entityType, got.entityId]).toEqual(['tool', tool._id as string])
    }
    const other = await ok('POST', '/v2/tools', { key: 'other', function: { name: 'f' } })
    const strange = await call('GET', `/v2/tools/${other._id}/versions/${data(list)[0]?._id}`)
    expect(strange.status).toBe(404)
    expect(strange.body.message).toStartWith('Tool or version not found: ')
  })

  test('have no gaps under parallel writes, and the last one wins', async () => {
    const tool = await ok('POST', '/v2/tools', { key: 'contended', function: { name: 'f' } })
    const names = Array.from({ length: 40 }, (_, index) => `name ${index}`)
    await Promise.all(names.map((description) => ok('PATCH', `/v2/tools/${tool._id}`, { description })))
    const versions = data(await ok('GET', `/v2/tools/${tool._id}/versions?limit=200`))
    expect(versions.map(({ version }) => version)).toEqual(names.map((_, index) => `1.0.${40 - index}`).concat('1.0.0'))
    expect(versions[0]?.data).toEqual(await ok('GET', `/v2/tools/${tool._id}`))
  })

  test('are ten a page for evaluators, with a limit of up to 200', async () => {
    const body = {
      type: 'llm_eval',
      key: 'counted',
      path: 'Default',
      prompt: 'x',
      model: 'openai/gpt-4o',
      description: '',
    }
    const { _id } = await ok('POST', '/v2/evaluators', body)
    for (let count = 0; count < 12; count++) await ok('PATCH', `/v2/evaluators/${_id}`, { prompt: `prompt ${count}` })
    const at = `/v2/evaluators/${_id}/versions`
    const page = await ok('GET', at)
    expect([data(page).length, page.has_more]).toEqual([10, true])
    expect(data(await ok('GET', `${at}?limit=200`))).toHaveLength(13)
    const missing = await call('GET', `/v2/evaluators/${UNKNOWN}/versions`)
    expect([missing.status, missing.body.message]).toEqual([404, expect.stringMatching(/^Evaluator not found/)])
  })

  test('are all returned for tools without a limit, with parameters for strict clients', async () => {
    const calls = session('many tools')
    const many = session('many-tools')
    expect((await calls.call('GET', '/v2/tools')).status).toBe(400)
    for (let count = 0; count < 60; count++) {
      const parameters = count % 2 ? { type: 'object', properties: {} } : {}
      await many.ok('POST', '/v2/tools', { key: `tool-${count}`, function: { name: 'f', parameters } })
    }
    const list = await many.ok('GET', '/v2/tools')
    strict.tools?.parse(list)
    expect([data(list).length, list.has_more]).toEqual([60, false])
  })
})
