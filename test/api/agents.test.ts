// Agents as clients create, change and read them: statuses, defaults, and valid references.
import { afterAll, describe, expect, test } from 'bun:test'
import { checksumOf } from '../../src/lib/canonical.ts'
import { createTestApp } from '../support/app.ts'
import { strictAgent } from '../support/strict/agents.ts'
import { strictError } from '../support/strict/workspace.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const { call, ok } = workspaceOf(app)

let unique = 0
const agent = (fields: Json = {}): Json => ({
  key: `agent-${++unique}`,
  role: 'Support',
  description: 'Answers questions.',
  instructions: 'Help {{customer}} of {{shop.name}}.',
  path: 'Default',
  model: 'openai/gpt-4o',
  settings: {},
  ...fields,
})

test('agent creation: returns 201, live, version 1.0.0, with defaults filled in', async () => {
  const { status, body } = await call('POST', '/v2/agents', agent({ key: 'first' }))
  expect(status).toBe(201)
  expect(strictAgent.parse(body)).toMatchObject({
    key: 'first',
    status: 'live',
    version: '1.0.0',
    type: 'internal',
    engine: 'text',
    skills: [],
    model: { id: 'openai/gpt-4o' },
    variables: { customer: null, 'shop.name': null },
    metrics: { total_cost: 0 },
    settings: {
      max_iterations: 100,
      max_execution_time: 600,
      max_cost: 0,
      tool_approval_required: 'respect_tool',
      tools: [],
      evaluators: [],
      guardrails: [],
    },
  })
  expect(body).not.toHaveProperty('a2a')
  expect((await ok('GET', '/v2/agents/first'))._id).toBe(body._id)
  expect((await ok('GET', `/v2/agents/${body._id}`)).key).toBe('first')
  expect((await call('POST', '/v2/agents', agent({ key: 'first' }))).status).toBe(409)
})

test('agent: returns tools in their own shape, the model as an object, and its references', async () => {
  await ok('POST', '/v2/tools', { key: 'look_up', description: 'Finds an order.', function: { name: 'look_up' } })
  await ok('POST', '/v2/knowledge', { key: 'help', path: 'Default' })
  await ok('POST', '/v2/memory-stores', {
    key: 'customers',
    description: 'Customers.',
    embedding_config: { model: 'openai/text-embedding-3-small' },
  })
  const member = await ok('POST', '/v2/agents', agent())
  const body = strictAgent.parse(
    await ok(
      'POST',
      '/v2/agents',
      agent({
        model: { id: 'openai/gpt-4o', parameters: { temperature: 0.2 }, retry: { count: 2 } },
        fallback_models: ['anthropic/claude-sonnet-4-5', { id: 'openai/gpt-4.1' }],
        knowledge_bases: [{ knowledge_id: 'help' }],
        memory_stores: ['customers'],
        team_of_agents: [{ key: member.key, role: 'Knows returns.' }],
        skills: ['orders'],
        settings: {
          tools: [
            { type: 'function', key: 'look_up', requires_approval: true },
            { type: 'current_date' },
            { type: 'retrieve_agents' },
            { type: 'call_sub_agent' },
          ],
          guardrails: [{ id: 'svc_pii_detection', execute_on: 'input' }],
        },
      }),
    ),
  )
  expect(body.model).toMatchObject({
    id: 'openai/gpt-4o',
    parameters: { temperature: 0.2 },
    retry: { count: 2 },
    fallback_models: ['anthropic/claude-sonnet-4-5', 'openai/gpt-4.1'],
  })
  expect(body.settings?.tools).toMatchObject([
    { action_type: 'function', key: 'look_up', description: 'Finds an order.', requires_approval: true, timeout: 120 },
    { action_type: 'current_date', requires_approval: false },
    { action_type: 'retrieve_agents' },
    { action_type: 'call_sub_agent' },
  ])
  expect(body.settings?.guardrails).toEqual([{ id: 'svc_pii_detection', execute_on: 'input', sample_rate: 50 }])
  expect(body.team_of_agents).toEqual([{ key: member.key as string, role: 'Knows returns.' }])
})

test('agent: puts a new version live and publishes the previous one', async () => {
  const made = await ok('POST', '/v2/agents', agent({ settings: { max_iterations: 7 } }))
  const changed = await ok('PATCH', `/v2/agents/${made.key}`, { settings: { max_cost: 1.5 }, role: 'Seller' })
  expect(strictAgent.parse(changed)).toMatchObject({
    role: 'Seller',
    version: '1.0.1',
    status: 'live',
    settings: { max_iterations: 7, max_cost: 1.5, max_execution_time: 600 },
  })
  const versions = (await ok('GET', `/v2/agents/${made._id}/versions`)).data as { checksum: string; data: Json }[]
  expect(versions.map(({ data }) => data)).toEqual([changed, { ...made, status: 'published' }])
  expect(versions.map(({ checksum }) => checksum)).toEqual(versions.map(({ data }) => checksumOf(data)))
  expect((await call('DELETE', `/v2/agents/${made.key}`)).status).toBe(204)
  expect((await call('GET', `/v2/agents/${made.key}`)).status).toBe(404)
})

const NOT_VALID: [string, Json, number, string][] = [
  ['a key that begins with a digit', { key: '1st' }, 400, 'key'],
  ['a key that is too long', { key: 'a'.repeat(256) }, 400, 'key'],
  ['an empty role', { role: '' }, 400, 'role'],
  ['missing instructions', { instructions: undefined }, 400, 'instructions'],
  ['a model without a provider', { model: 'gpt-4o' }, 400, 'model'],
  ['a model that does not generate text', { model: 'openai/text-embedding-3-small' }, 400, 'model'],
  [
    'a fallback that does not generate text',
    { fallback_models: ['openai/text-embedding-3-small'] },
    400,
    'fallback_models[0]',
  ],
  [
    'an unknown knowledge base',
    { knowledge_bases: [{ knowledge_id: 'nowhere' }] },
    404,
    'knowledge_bases[0].knowledge_id',
  ],
  ['an unknown memory store', { memory_stores: ['nowhere'] }, 404, 'memory_stores[0]'],
  [
    'an unknown member of the team',
    {
      team_of_agents: [{ key: 'nobody' }],
      settings: { tools: [{ type: 'retrieve_agents' }, { type: 'call_sub_agent' }] },
    },
    404,
    'team_of_agents[0].key',
  ],
  ['a team without the tools that it needs', { team_of_agents: [{ key: 'nobody' }] }, 400, 'settings.tools'],
  ['an unknown tool type', { settings: { tools: [{ type: 'hammer' }] } }, 400, 'settings.tools[0].type'],
  ['a tool without a name', { settings: { tools: [{ type: 'function' }] } }, 400, 'settings.tools[0].key'],
  ['an unknown tool', { settings: { tools: [{ type: 'function', key: 'nowhere' }] } }, 404, 'settings.tools[0].key'],
  [
    'a timeout beyond ten minutes',
    { settings: { tools: [{ type: 'current_date', timeout: 601 }] } },
    400,
    'settings.tools[0].timeout',
  ],
  [
    'an unknown evaluator',
    { settings: { evaluators: [{ id: 'nowhere', execute_on: 'output' }] } },
    404,
    'settings.evaluators[0].id',
  ],
  [
    'a rate beyond 100',
    { settings: { guardrails: [{ id: 'svc_pii_detection', execute_on: 'input', sample_rate: 101 }] } },
    400,
    'settings.guardrails[0].sample_rate',
  ],
  ['an external agent without an address', { type: 'a2a' }, 400, 'a2a'],
]
describe('invalid agent', () => {
  test('is rejected for a tool of another type and for a tool that the server lacks', async () => {
    await ok('POST', '/v2/tools', { key: 'plain', function: { name: 'plain' } })
    const mcp = { server_url: 'https://files.example', connection_type: 'http', tools: [{ name: 'read' }] }
    await ok('POST', '/v2/tools', { key: 'files', type: 'mcp', mcp })
    const made = (tool: Json) => call('POST', '/v2/agents', agent({ settings: { tools: [tool] } }))
    const other = await made({ type: 'http', key: 'plain' })
    expect([other.status, (other.body.error as Json).param]).toEqual([400, 'settings.tools[0].type'])
    expect(other.body.message).toContain('must be "function"')
    const missing = await made({ type: 'mcp', key: 'files', tool_id: 'write' })
    expect([missing.status, (missing.body.error as Json).param]).toEqual([400, 'settings.tools[0].tool_id'])
    expect(missing.body.message).toContain('"read"')
    const there = await made({ type: 'mcp', key: 'files', tool_id: 'read', timeout: 5 })
    expect((there.body.settings as Json).tools).toMatchObject([{ tool_id: 'read', timeout: 5 }])
  })

  test.each(NOT_VALID)('is rejected at its field for %s', async (_, fields, status, param) => {
    const answer = await call('POST', '/v2/agents', agent(fields))
    expect([answer.status, (answer.body.error as Json).param]).toEqual([status, param])
    strictError.parse(answer.body)
  })

  test('lists the valid names when a name is unknown', async () => {
    const fresh = workspaceOf(app, { 'x-understudy-session': 'names' })
    await fresh.ok('POST', '/v2/knowledge', { key: 'manuals', path: 'Default' })
    const { body } = await fresh.call('POST', '/v2/agents', agent({ knowledge_bases: [{ knowledge_id: 'nowhere' }] }))
    expect(body.message).toContain('"manuals"')
  })
})

describe('guardrail name of an agent', () => {
  const guarded = (id: string) => agent({ settings: { guardrails: [{ id, execute_on: 'input' }] } })

  test.each(['foo_pii_detection', '_pii_detection', 'acme_pii_detection'])('rejects %s', async (id) => {
    const { status, body } = await call('POST', '/v2/agents', guarded(id))
    expect([status, (strictError.parse(body).error as Json).param]).toEqual([404, 'settings.guardrails[0].id'])
    expect(body.message).toContain('"svc_pii_detection"')
  })

  test('uses the namespace of the server', async () => {
    const acme = createTestApp({ namespace: 'acme' })
    const there = workspaceOf(acme)
    const { status, body } = await there.call('POST', '/v2/agents', guarded('svc_pii_detection'))
    expect([status, body.message]).toEqual([404, expect.stringContaining('"acme_pii_detection"')])
    await there.ok('POST', '/v2/agents', guarded('acme_pii_detection'))
    await acme.close()
  })
})

test('external agent: is stored and shown with its card', async () => {
  const body = await ok('POST', '/v2/agents', agent({ type: 'a2a', a2a: { agent_url: 'https://agents.example/one' } }))
  expect(strictAgent.parse(body)).toMatchObject({ type: 'a2a', a2a: { card_url: 'https://agents.example/one/card' } })
})
