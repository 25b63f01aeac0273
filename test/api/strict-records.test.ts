// A strict client of the workspace reads every response: datasets, files, evaluators, review sets, tools, contacts, memory.

import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp, SHIPPED_WORKSPACE } from '../support/app.ts'
import { type Neighbour, strictNotFound, strictTextNotFound } from '../support/strict/neighbours.ts'
import { strictClient } from '../support/strict-client.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const { call, remove, send } = strictClient(app)
const other = strictClient(app, { 'x-understudy-session': 'somebody-else' })
const UNKNOWN = '01JGFJJZ00ZZZZZZZZZZZZZZZZ'
const paramOf = (answer: { json(): Json }) => (answer.json().error as Json).param

describe('datasets for strict clients', () => {
  const dataset = async () => `/v2/datasets/${(await call('dataset', ['POST', '/v2/datasets'], { body: NAMED }))._id}`
  const NAMED = { display_name: 'Questions', path: 'Support/questions' }

  test('create several datapoints in one call and one version, and clear them in one', async () => {
    const at = await dataset()
    const body = ['one', 'two', 'three'].map((expected_output) => ({ inputs: { a: 1 }, expected_output }))
    const made = await call('newDatapoints', ['POST', `${at}/datapoints`], { body })
    expect(made.map(({ expected_output }) => expected_output)).toEqual(['one', 'two', 'three'])
    expect(new Set(made.map(({ snapshot_version }) => snapshot_version))).toEqual(new Set(['1.0.1']))
    const counts = async () => (await call('dataset', ['GET', at])).metadata
    expect(await counts()).toEqual({ total_versions: 2, datapoints_count: 3 })
    expect((await call('datapoints', ['GET', `${at}/datapoints`])).data).toHaveLength(3)
    expect(await call('newDatapoints', ['POST', `${at}/datapoints`], { body: [] })).toEqual([])
    await remove(`${at}/datapoints/${made[0]?._id}`)
    await remove(`${at}/clear`)
    expect(await counts()).toEqual({ total_versions: 4, datapoints_count: 0 })
    await remove(`${at}/clear`)
    expect(await counts()).toEqual({ total_versions: 4, datapoints_count: 0 })
    await remove(at)
    for (const path of [at, `${at}/datapoints`]) strictNotFound.parse((await send('GET', path, undefined)).json())
  })

  test('name the invalid one of several datapoints and create none', async () => {
    const at = await dataset()
    const wrong = await send('POST', `${at}/datapoints`, [{}, { inputs: { a: { b: 1 } } }])
    expect([wrong.status, paramOf(wrong)]).toEqual([400, '[1].inputs.a'])
    expect((await call('dataset', ['GET', at])).metadata).toMatchObject({ datapoints_count: 0 })
    const many = await send(
      'POST',
      `${at}/datapoints`,
      Array.from({ length: 5_001 }, () => ({})),
    )
    expect([many.status, many.json().message]).toEqual([400, expect.stringContaining('at most 5000 items')])
    expect((await send('DELETE', `/v2/datasets/${UNKNOWN}/clear`, undefined)).status).toBe(404)
  })

  test('are listed ten a page and at most fifty', async () => {
    const at = `${await dataset()}/datapoints`
    await call('newDatapoints', ['POST', at], { body: Array.from({ length: 51 }, () => ({})) })
    const page = async (query: string) => {
      const { data, has_more } = await call('datapoints', ['GET', `${at}${query}`])
      return [data.length, has_more]
    }
    expect(await page('')).toEqual([10, true])
    expect(await page('?limit=50')).toEqual([50, true])
    const beyond = await send('GET', `${at}?limit=51`, undefined)
    expect([beyond.status, paramOf(beyond)]).toEqual([400, 'limit'])
  })
})

test('files for strict clients: are uploaded, listed, renamed and deleted', async () => {
  const upload = (purpose?: string) => {
    const body = new FormData()
    body.set('file', new File(['You may return it.'], 'returns.txt'))
    if (purpose) body.set('purpose', purpose)
    return body
  }
  const made = await call('file', ['POST', '/v2/files'], { body: upload() })
  expect(made).toMatchObject({ file_name: 'returns.txt', bytes: 18, purpose: 'retrieval' })
  await call('file', ['POST', '/v2/files'], { body: upload('batch') })
  const at = `/v2/files/${made._id}`
  expect(await call('file', ['PATCH', at], { body: { file_name: 'new.txt' } })).toMatchObject({ file_name: 'new.txt' })
  expect((await app.fetch(`${at}/content`)).text).toBe('You may return it.')
  expect((await call('files', ['GET', '/v2/files'])).data).toHaveLength(2)
  const wrong = await send('POST', '/v2/files', upload('assistants'))
  expect([wrong.status, paramOf(wrong)]).toEqual([400, 'purpose'])
  await remove(at)
})

describe('evaluators for strict clients', () => {
  const schema = { type: 'object', required: ['subject'] }
  const ticket = { type: 'json_schema', key: 'ticket', path: 'Default', schema: JSON.stringify(schema) }
  const polite = { type: 'llm_eval', mode: 'single', path: 'Default', model: 'openai/gpt-4o', prompt: 'Polite?' }

  test('have a schema as a JSON string and apply it when invoked', async () => {
    const made = await call('evaluator', ['POST', '/v2/evaluators'], { body: ticket })
    expect(made.schema).toBe(ticket.schema)
    const asObject = { ...ticket, key: 'object', schema }
    expect((await call('evaluator', ['POST', '/v2/evaluators'], { body: asObject })).schema).toBe(ticket.schema)
    const invoke = (output?: string) =>
      call('invoked', ['POST', `/v2/evaluators/${made._id}/invoke`], { body: { output, query: 'Help!' } })
    expect(await invoke('{"subject":"x"}')).toEqual({ type: 'boolean', value: true })
    expect(await invoke('no JSON')).toEqual({ type: 'boolean', value: false })
    const without = await send('POST', '/v2/evaluators/ticket/invoke', {})
    expect([without.status, paramOf(without)]).toEqual([400, 'output'])
    const changed = { schema: '{"type":"array"}', version_increment: 'minor', version_description: 'Lists' }
    await call('evaluator', ['PATCH', `/v2/evaluators/${made._id}`], { body: changed })
    expect(await invoke('[]')).toEqual({ type: 'boolean', value: true })
    const versions = await call('versions', ['GET', `/v2/evaluators/${made._id}/versions`])
    const said = versions.data.map(({ version, description }) => [version, description])
    expect(said).toEqual([
      ['1.1.0', 'Lists'],
      ['1.0.0', 'created'],
    ])
    for (const one of ['{', '"text"', 'null'])
      expect(paramOf(await send('POST', '/v2/evaluators', { ...ticket, key: 'x', schema: one }))).toBe('schema')
  })

  test('call a model with the given input, and name its trace', async () => {
    const prompt = 'Compare {{log.output}} to {{log.reference}}, from {{log.retrievals}}: {{log.input}}'
    await call('evaluator', ['POST', '/v2/evaluators'], { body: { ...polite, key: 'compare', prompt } })
    const body = { query: 'Q', output: 'A', reference: 'B', retrievals: ['C', 'D'], model: 'openai/gpt-4o-mini' }
    const answer = await call('invoked', ['POST', '/v2/evaluators/compare/invoke'], { body })
    if (answer.type !== 'llm_evaluator') throw new Error('a model was to be asked')
    expect(answer.value.value).toBe(true)
    const trace = await app.fetch(`/_understudy/traces/${answer.value.workflow_run_id}`)
    expect(trace.json()).toMatchObject({ model: 'openai/gpt-4o-mini' })
    expect(trace.text).toContain('Compare A to B, from C\\n\\nD: Q')
  })

  test('are listed completely, with the seeded ones', async () => {
    expect((await call('evaluators', ['GET', '/v2/evaluators'])).data.length).toBeGreaterThan(1)
    const made = await call('evaluator', ['POST', '/v2/evaluators'], { body: { ...polite, key: 'gone' } })
    await remove(`/v2/evaluators/${made._id}`)
    const seeded = createTestApp(SHIPPED_WORKSPACE)
    const client = strictClient(seeded)
    for (const [name, path] of SEEDED) {
      const list = await client.call(name, ['GET', path])
      expect(Array.isArray(list) ? list.length : (list as { data: unknown[] }).data.length).toBeGreaterThan(0)
    }
    await seeded.close()
  })
  const SEEDED: [Neighbour, string][] = [
    ['datasets', '/v2/datasets'],
    ['files', '/v2/files'],
    ['knowledgeBases', '/v2/knowledge'],
    ['evaluators', '/v2/evaluators'],
    ['reviewSets', '/v2/human-eval-sets'],
    ['tools', '/v2/tools'],
    ['contacts', '/v2/contacts'],
  ]
})

test('human review sets for strict clients: are an array, filtered by project, and a new filter replaces the old one', async () => {
  const path = '/v2/human-eval-sets'
  const project = await send('POST', '/v2/projects', { name: 'Reviews' })
  const project_id = project.json()._id
  const body = { display_name: 'a', human_eval_ids: [UNKNOWN], filter_type: 'span_type', filter_values: ['chat'] }
  const made = await call('reviewSet', ['POST', path], { body: { ...body, project_id } })
  await call('reviewSet', ['POST', path], { body })
  expect(await call('reviewSets', ['GET', path])).toHaveLength(2)
  expect(await call('reviewSets', ['GET', `${path}?project_id=${project_id}`])).toMatchObject([{ _id: made._id }])
  expect(paramOf(await send('GET', `${path}?limit=10`, undefined))).toBe('limit')
  const at = `${path}/${made._id}`
  const changed = await call('reviewSet', ['PATCH', at], { body: { filter_type: 'name', filter_value: 'x*' } })
  expect(changed).toMatchObject({ filter_type: 'name', filter_value: 'x*' })
  expect(changed).not.toHaveProperty('filter_values')
  expect(paramOf(await send('PATCH', at, { filter_type: 'span_type' }))).toBe('filter_values')
  expect((await send('DELETE', at, undefined)).status).toBe(200)
})

test('tools for strict clients: have every type, change it, and describe their versions', async () => {
  const mcp = { server_url: 'https://mcp.example', connection_type: 'sse' }
  const fields: Json[] = [
    { type: 'function', function: { name: 'f' } },
    { type: 'json_schema', json_schema: { name: 'j', description: '', schema: { type: 'object' } } },
    { type: 'http', http: { blueprint: { url: 'https://a.example', method: 'GET', headers: { a: { value: 'b' } } } } },
    { type: 'mcp', mcp },
    { type: 'code', code_tool: { language: 'python', code: 'pass' } },
  ]
  for (const [index, own] of fields.entries()) {
    const body = { key: `tool-${index}`, path: 'Default', description: 'd', ...own }
    const made = await call('tool', ['POST', '/v2/tools'], { body })
    const at = `/v2/tools/${made._id}`
    const patch = { type: own.type, description: 'e', version_increment: 'major', version_description: 'Second' }
    expect(await call('tool', ['PATCH', at], { body: patch })).toMatchObject({ description: 'e', type: own.type })
    const { data } = await call('versions', ['GET', `${at}/versions?limit=10`])
    expect(data[0]).toMatchObject({ version: '2.0.0', description: 'Second' })
    expect(data[0]?.data).not.toHaveProperty('version_increment')
  }
  expect((await call('tools', ['GET', '/v2/tools'])).data).toHaveLength(5)
  const missing = await send('PATCH', `/v2/tools/tool_${UNKNOWN}`, { type: 'function' })
  expect(missing.status).toBe(404)
  expect(strictTextNotFound.parse(missing.json()).error).toStartWith('Tool not found')
})

test('contacts for strict clients: are added and listed ten a page', async () => {
  for (let count = 0; count < 11; count++)
    await call('contact', ['POST', '/v2/contacts'], { body: { external_id: `c-${count}`, email: null, tags: [] } })
  const { data, has_more } = await call('contacts', ['GET', '/v2/contacts'])
  expect([data.length, has_more]).toEqual([10, true])
})

test('memory for strict clients: has stores, memories found by a part of the entity, and documents', async () => {
  const model = 'openai/text-embedding-3-small'
  const body = { key: 'people', description: 'People.', embedding_config: { model }, path: 'Default' }
  await call('store', ['POST', '/v2/memory-stores'], { body, status: 201 })
  const at = '/v2/memory-stores/people'
  expect(await call('store', ['PATCH', at], { body: { ttl: 60 } })).toMatchObject({ ttl: 60 })
  for (const entity_id of ['ann', 'ben', 'hannah'])
    await call('memory', ['POST', `${at}/memories`], { body: { entity_id }, status: 201 })
  const found = await call('memories', ['GET', `${at}/memories?q=ANN&limit=10`])
  expect(found.data.map(({ entity_id }) => entity_id)).toEqual(['hannah', 'ann'])
  expect(found.has_more).toBe(false)
  const pages = await call('memories', ['GET', `${at}/memories?q=ann&limit=1`])
  expect([pages.data[0]?.entity_id, pages.has_more]).toEqual(['hannah', true])
  const rest = await call('memories', ['GET', `${at}/memories?q=ann&limit=1&starting_after=${pages.data[0]?._id}`])
  expect([rest.data[0]?.entity_id, rest.has_more]).toEqual(['ann', false])
  const back = await call('memories', ['GET', `${at}/memories?q=ann&limit=1&ending_before=${rest.data[0]?._id}`])
  expect([back.data[0]?.entity_id, back.has_more]).toEqual(['hannah', false])
  const ann = `${at}/memories/ann`
  await call('memory', ['PATCH', ann], { body: { metadata: { tier: 'gold' } } })
  const text = { text: '  Likes tea. ', metadata: { of: 'drinks' } }
  const written = await call('document', ['POST', `${ann}/documents`], { body: text, status: 201 })
  expect(written.text).toBe('Likes tea.')
  await call('document', ['PATCH', `${ann}/documents/${written._id}`], { body: { text: 'Likes coffee.' } })
  expect((await call('documents', ['GET', `${ann}/documents`])).data).toHaveLength(1)
  expect((await call('memory', ['GET', ann])).documents_count).toBe(1)
  for (const path of [`${ann}/documents/${written._id}`, ann, at]) await remove(path)
  expect((await call('stores', ['GET', '/v2/memory-stores'])).data).toEqual([])
  strictNotFound.parse((await send('GET', at, undefined)).json())
})

test('deleted record under a scenario: has no body', async () => {
  const made = await call('dataset', ['POST', '/v2/datasets'], { body: { display_name: 'x' } })
  const played = strictClient(app, { 'x-understudy-scenario': 'outage' })
  await played.remove(`/v2/datasets/${made._id}`)
})

test('records: are invisible to another session', async () => {
  const lists: [Neighbour, string][] = [
    ['datasets', '/v2/datasets'],
    ['files', '/v2/files'],
    ['evaluators', '/v2/evaluators'],
    ['tools', '/v2/tools'],
    ['contacts', '/v2/contacts'],
  ]
  for (const [name, path] of lists)
    expect((await other.call(name, ['GET', path])) as object).toMatchObject({ data: [] })
  expect(await other.call('reviewSets', ['GET', '/v2/human-eval-sets'])).toEqual([])
})
