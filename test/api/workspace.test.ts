// What single operations of the workspace promise beyond what every resource does.

import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { strict } from '../support/strict/workspace.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const session = (name: string) => workspaceOf(app, { 'x-understudy-session': name })
const { ok, call } = workspaceOf(app)
const data = (body: Json) => body.data as Json[]
const REVIEW = '01JGFJJZ00Q8VN5K2ZC3R7WXYA'

describe('datasets', () => {
  test('have correct counts, and each change is a version without gaps', async () => {
    const { _id } = await ok('POST', '/v2/datasets', { display_name: 'Questions' })
    const at = `/v2/datasets/${_id}`
    const counts = async () => (await ok('GET', at)).metadata
    expect(await counts()).toEqual({ total_versions: 1, datapoints_count: 0 })
    const points = await Promise.all([1, 2, 3].map((number) => ok('POST', `${at}/datapoints`, { inputs: { number } })))
    expect(await counts()).toEqual({ total_versions: 4, datapoints_count: 3 })
    const changed = await ok('PATCH', `${at}/datapoints/${points[0]?._id}`, { expected_output: 'one' })
    expect(changed.snapshot_version).toBe('1.0.4')
    await ok('PATCH', `${at}/datapoints/${points[0]?._id}`, { expected_output: 'one' })
    await ok('DELETE', `${at}/datapoints/${points[1]?._id}`)
    await ok('PATCH', at, { display_name: 'Answers' })
    expect(await counts()).toEqual({ total_versions: 7, datapoints_count: 2 })
    const versions = data(await ok('GET', `${at}/versions`)).map(({ version }) => version)
    expect(versions).toEqual([6, 5, 4, 3, 2, 1, 0].map((number) => `1.0.${number}`))
    await ok('DELETE', at)
    expect((await call('GET', `${at}/datapoints/${points[0]?._id}`)).status).toBe(404)
  })

  test('own their datapoints exclusively', async () => {
    const [one, two] = [
      await ok('POST', '/v2/datasets', { display_name: '1' }),
      await ok('POST', '/v2/datasets', { display_name: '2' }),
    ]
    const point = await ok('POST', `/v2/datasets/${one._id}/datapoints`, {})
    expect((await call('PATCH', `/v2/datasets/${two._id}/datapoints/${point._id}`, {})).status).toBe(404)
  })

  test('have chat messages that strict clients read back', async () => {
    const { _id } = await ok('POST', '/v2/datasets', { display_name: 'Talk' })
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
      { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'weather', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
    ]
    const point = strict.datapoint?.parse(await ok('POST', `/v2/datasets/${_id}/datapoints`, { messages })) as Json
    expect((point.messages as Json[])[2]?.tool_calls).toMatchObject([{ type: 'function' }])
    const wrong = await call('PATCH', `/v2/datasets/${_id}/datapoints/${point._id}`, { messages: [{ role: 'boss' }] })
    expect(wrong.status).toBe(400)
    expect((wrong.body.error as Json).param).toBe('messages[0].role')
  })

  const NESTED = [{ a: { b: 1 } }, { a: [{ b: 1 }] }, { a: [[1]] }]
  test.each(NESTED)('reject nested inputs %j by key', async (inputs) => {
    const { _id } = await ok('POST', '/v2/datasets', { display_name: 'Nested' })
    const { status, body } = await call('POST', `/v2/datasets/${_id}/datapoints`, { inputs })
    expect([status, (body.error as Json).param]).toEqual([400, 'inputs.a'])
    expect(body.message).toContain('nested objects are not supported')
  })
})

describe('paths and projects', () => {
  test('are created once by a path, with its folders', async () => {
    const calls = session('paths')
    const first = await calls.ok('POST', '/v2/datasets', { display_name: 'a', path: 'Support/eu/returns' })
    const second = await calls.ok('POST', '/v2/datasets', { display_name: 'b', path: 'Support/eu' })
    expect(second.project_id).toBe(first.project_id as string)
    const projects = data(await calls.ok('GET', '/v2/projects'))
    expect(projects).toMatchObject([{ _id: first.project_id, name: 'Support', folders: ['eu', 'eu/returns'] }])
    expect((await calls.call('DELETE', `/v2/projects/${first.project_id}`)).status).toBe(409)
    const moved = await calls.ok('PATCH', `/v2/datasets/${first._id}`, { path: 'Elsewhere' })
    expect(moved.project_id).not.toBe(first.project_id as string)
    const back = await calls.ok('PATCH', `/v2/datasets/${first._id}`, { project_id: first.project_id })
    expect(back.project_id).toBe(first.project_id as string)
    const nowhere = await calls.call('PATCH', `/v2/datasets/${first._id}`, {
      project_id: '00000000-0000-4000-8000-000000000000',
    })
    expect([nowhere.status, (nowhere.body.error as Json).param]).toEqual([404, 'project_id'])
  })

  test('treat the first name of a path as a folder with a project token', async () => {
    const mapped = createTestApp({ tokens: { bound: { workspace: 'default', project: 'Support' } } })
    const bound = workspaceOf(mapped, { authorization: 'Bearer bound' })
    const tool = { key: 'a', function: { name: 'a' } }
    const made = await bound.ok('POST', '/v2/tools', { ...tool, path: 'eu/returns' })
    expect(made.path).toBe('eu/returns')
    await bound.ok('POST', '/v2/datasets', { display_name: 'no path at all' })
    const set = { display_name: 's', human_eval_ids: [REVIEW], filter_type: 'name', filter_value: 'x' }
    expect((await bound.ok('POST', '/v2/human-eval-sets', set)).project_id).toBe(made.project_id as string)
    const free = workspaceOf(mapped)
    expect(data(await free.ok('GET', '/v2/projects'))).toMatchObject([
      { _id: made.project_id, name: 'Support', folders: ['eu', 'eu/returns'] },
    ])
    mapped.close()
  })

  const model = 'openai/gpt-4o'
  test.each<[path: string, body: Json]>([
    ['tools', { function: { name: 'a' } }],
    ['evaluators', { type: 'llm_eval', prompt: 'x', model }],
    ['knowledge', { embedding_model: model }],
    ['memory-stores', { embedding_config: { model } }],
    ['agents', { role: 'r', instructions: 'i', model, settings: {} }],
  ])('keep %s in a project that is renamed, and that another token created', async (kind, body) => {
    const mapped = createTestApp({ tokens: { bound: { workspace: 'default', project: 'Support' } } })
    const free = workspaceOf(mapped)
    const names = async () => data(await free.ok('GET', '/v2/projects')).map(({ name }) => name)
    const made = [
      await free.ok('POST', `/v2/${kind}`, { ...body, key: 'one', description: 'd', path: 'Sales/eu' }),
      await workspaceOf(mapped, { authorization: 'Bearer bound' }).ok('POST', `/v2/${kind}`, {
        ...body,
        key: 'two',
        description: 'd',
        path: 'eu',
      }),
    ]
    const [renamed] = data(await free.ok('GET', '/v2/projects')).filter(({ name }) => name === 'Sales')
    await free.ok('PATCH', `/v2/projects/${renamed?._id}`, { name: 'Trade' })
    for (const { _id, key, path, project_id } of made) {
      const at = `/v2/${kind}/${kind === 'memory-stores' ? key : _id}`
      for (const patch of [{ description: 'e' }, { description: 'f', path }]) {
        const { project_id: now = project_id } = await free.ok('PATCH', at, patch)
        expect(now).toBe(project_id as string)
      }
    }
    expect(await names()).toEqual(['Support', 'Trade'])
    mapped.close()
  })

  test('are not given to a review set by a token that changes it', async () => {
    const mapped = createTestApp({ tokens: { bound: { workspace: 'default', project: 'Support' } } })
    const set = { display_name: 's', human_eval_ids: [REVIEW], filter_type: 'name', filter_value: 'x' }
    const { _id } = await workspaceOf(mapped).ok('POST', '/v2/human-eval-sets', set)
    const bound = workspaceOf(mapped, { authorization: 'Bearer bound' })
    const changed = await bound.ok('PATCH', `/v2/human-eval-sets/${_id}`, { display_name: 't' })
    expect(changed).not.toHaveProperty('project_id')
    mapped.close()
  })

  test.each(['', '/', 'a//b', '/a', 'a/'])('reject the path %j', async (path) => {
    const { status, body } = await call('POST', '/v2/datasets', { display_name: 'x', path })
    expect([status, (body.error as Json).param]).toEqual([400, 'path'])
  })
})

describe('evaluators', () => {
  const llm = { type: 'llm_eval', path: 'Default', prompt: 'x', model: 'openai/gpt-4o' }
  test('are returned without output_type and with a description', async () => {
    const made = await ok('POST', '/v2/evaluators', { ...llm, key: 'plain', output_type: 'number' })
    expect(made).not.toHaveProperty('output_type')
    expect(strict.evaluator?.parse(made)).toMatchObject({ description: '', mode: 'single' })
  })

  test('are run by id and key only in their own workspace', async () => {
    const mapped = createTestApp({ tokens: { a: { workspace: 'a' }, b: { workspace: 'b' } } })
    const [own, other] = ['a', 'b'].map((token) => workspaceOf(mapped, { authorization: `Bearer ${token}` }))
    const json = { type: 'json_schema', key: 'list', schema: { type: 'array' } }
    const made = await own?.ok('POST', '/v2/evaluators', json)
    for (const id of [made?._id, 'list']) {
      const run = `/_understudy/evaluators/${id}/run`
      expect(await own?.ok('POST', run, { text: '[]' })).toMatchObject({ id: made?._id, key: 'list', value: true })
      expect((await other?.call('POST', run, { text: '[]' }))?.status).toBe(404)
    }
    mapped.close()
  })

  const configs = [
    { enabled: true, type: 'boolean', value: true },
    { enabled: true, type: 'categorical', values: ['good'] },
    { enabled: false, type: 'number', value: 3, operator: 'gte', alert_on_failure: true },
    null,
  ]
  test.each(configs)('accept guardrail_config %j', async (guardrail_config) => {
    const key = `guard-${guardrail_config?.type}`
    strict.evaluator?.parse(await ok('POST', '/v2/evaluators', { ...llm, key, guardrail_config }))
  })

  const refused: [Json, string, string][] = [
    [{ mode: 'jury', jury: {} }, 'mode', 'a jury is not emulated'],
    [{ type: 'http_eval' }, 'type', 'not emulated'],
    [{ type: 'python_eval' }, 'type', 'not emulated'],
    [{ key: '' }, 'key', 'at least 1'],
    [{ key: '-a' }, 'key', 'letters and digits'],
    [{ path: '' }, 'path', 'at least 1'],
    [{ repetitions: 4 }, 'repetitions', 'at most 3'],
    [{ repetitions: 0 }, 'repetitions', 'at least 1'],
    [{ output_type: 'colour' }, 'output_type', 'one of'],
    [{ model: 'gpt' }, 'model', '<provider>/<model>'],
    [{ categorical_labels: [{}] }, 'categorical_labels[0].value', 'required'],
  ]
  test.each(refused)('reject %j at %s', async (wrong, param, said) => {
    const { status, body } = await call('POST', '/v2/evaluators', { ...llm, key: 'wrong', ...wrong })
    expect([status, (body.error as Json).param]).toEqual([400, param])
    expect(body.message).toContain(said)
  })
})

describe('human review sets', () => {
  const set = { display_name: 'Set', human_eval_ids: [REVIEW] }
  test('accept both forms of filter, and change from one to the other', async () => {
    const spans = { ...set, filter_type: 'span_type', filter_values: ['llm'] }
    const made = strict.human_review_set?.parse(await ok('POST', '/v2/human-eval-sets', spans)) as Json
    const named = { filter_type: 'name', filter_value: 'refund*' }
    const changed = strict.human_review_set?.parse(await ok('PATCH', `/v2/human-eval-sets/${made._id}`, named)) as Json
    expect(changed).toMatchObject(named)
    expect(changed).not.toHaveProperty('filter_values')
  })
  const refused: [Json, string][] = [
    [{ filter_type: 'span_type', filter_values: [] }, 'filter_values'],
    [{ filter_type: 'span_type' }, 'filter_values'],
    [{ filter_type: 'name' }, 'filter_value'],
    [{ filter_type: 'colour' }, 'filter_type'],
    [{ filter_type: 'name', filter_value: 'x', human_eval_ids: [] }, 'human_eval_ids'],
    [{ filter_type: 'name', filter_value: 'x', human_eval_ids: ['x'] }, 'human_eval_ids[0]'],
    [{ filter_type: 'name', filter_value: 'x', display_name: 'n'.repeat(256) }, 'display_name'],
    [{ filter_type: 'name', filter_value: 'x', project_id: 'p' }, 'project_id'],
  ]
  test.each(refused)('reject %j at %s', async (wrong, param) => {
    const { status, body } = await call('POST', '/v2/human-eval-sets', { ...set, ...wrong })
    expect([status, (body.error as Json).param]).toEqual([400, param])
  })

  test('return 404 for an unknown project', async () => {
    const { status, body } = await call('POST', '/v2/human-eval-sets', {
      ...set,
      filter_type: 'name',
      filter_value: 'x',
      project_id: '00000000-0000-4000-8000-000000000000',
    })
    expect([status, (body.error as Json).param]).toEqual([404, 'project_id'])
  })
})

describe('contacts', () => {
  test('are updated by the same external id, and other fields stay', async () => {
    const ada = {
      external_id: 'ada',
      display_name: 'Ada',
      email: 'ada@example.com',
      tags: ['a'],
      metadata: { plan: 'pro' },
    }
    const first = strict.contact?.parse(await ok('POST', '/v2/contacts', ada)) as Json
    const second = strict.contact?.parse(await ok('POST', '/v2/contacts', { external_id: 'ada', email: null })) as Json
    expect(second).toEqual({ ...first, email: null })
  })
  const refused: [Json, string][] = [
    [{ external_id: '' }, 'external_id'],
    [{ external_id: 'x'.repeat(121) }, 'external_id'],
    [{ email: 'nobody' }, 'email'],
    [{ avatar_url: 'javascript:alert(1)' }, 'avatar_url'],
    [{ avatar_url: 'here' }, 'avatar_url'],
    [{ tags: 'one' }, 'tags'],
    [{ metadata: [] }, 'metadata'],
  ]
  test.each(refused)('reject %j at %s', async (wrong, param) => {
    const { status, body } = await call('POST', '/v2/contacts', { external_id: 'x', ...wrong })
    expect([status, (body.error as Json).param]).toEqual([400, param])
  })
})
