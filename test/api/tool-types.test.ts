// Tools of every type are stored in the workspace as clients write them, and returned as strict clients read them.

import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { strict, strictError } from '../support/strict/workspace.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const { call, ok } = workspaceOf(app)

const person = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
const blueprint = { url: 'https://weather.example', method: 'GET' }
const server = { server_url: 'https://files.example', connection_type: 'http' }
const code_tool = { language: 'python', code: 'print(1)' }

const TYPES: [string, Json, Json][] = [
  ['function', { function: { name: 'look_up' } }, {}],
  ['json_schema', { json_schema: { name: 'person', description: 'A person.', schema: person } }, {}],
  [
    'http',
    { http: { blueprint, arguments: { city: { type: 'string', description: 'Where.' } } } },
    { http: { blueprint, arguments: { city: { type: 'string', description: 'Where.', send_to_model: true } } } },
  ],
  ['mcp', { mcp: server }, { mcp: { ...server, tools: [] } }],
  ['mcp', { mcp: { ...server, tools: [{ id: 't1', name: 'read', schema: person }] } }, {}],
  ['code', { code_tool: { ...code_tool, parameters: person } }, {}],
]

describe('tool types', () => {
  test.each(TYPES)('include %s', async (type, fields, answered) => {
    const key = `kept-${type}-${crypto.randomUUID()}`
    const made = await ok('POST', '/v2/tools', { key, path: 'Default', description: 'd', type, ...fields })
    expect(made).toMatchObject({ key, type, status: 'live', ...fields, ...answered })
    expect(strict.tool?.parse(await ok('GET', `/v2/tools/${made._id}`))).toEqual(made)
    const patched = await ok('PATCH', `/v2/tools/${made._id}`, { type, status: 'draft' })
    expect(patched).toMatchObject({ ...fields, ...answered, status: 'draft' })
    strict.tools?.parse(await ok('GET', '/v2/tools'))
  })

  test('have stable ids for the tools of an MCP server', async () => {
    const tools = [{ name: 'read' }, { name: 'write' }]
    const made = await ok('POST', '/v2/tools', { key: 'server', type: 'mcp', mcp: { ...server, tools } })
    const idsOf = ({ mcp }: Json) => (mcp as { tools: { id: string }[] }).tools.map(({ id }) => id)
    expect(new Set(idsOf(made)).size).toBe(2)
    expect(idsOf(await ok('PATCH', `/v2/tools/${made._id}`, { description: 'other' }))).toEqual(idsOf(made))
  })

  test('remove the settings of the old type when it changes', async () => {
    const { _id } = await ok('POST', '/v2/tools', { key: 'changing', function: { name: 'f' } })
    const changed = await ok('PATCH', `/v2/tools/${_id}`, { type: 'code', code_tool })
    expect(changed).toMatchObject({ type: 'code', code_tool })
    expect(changed).not.toHaveProperty('function')
    const refused = await call('PATCH', `/v2/tools/${_id}`, { type: 'http' })
    expect([refused.status, (refused.body.error as Json).param]).toEqual([400, 'http'])
  })
})

const NOT_VALID: [string, Json, string][] = [
  ['an unknown type', { type: 'hammer' }, 'type'],
  ['missing settings of its type', { type: 'http' }, 'http'],
  ['settings of another type', { type: 'code', code_tool, http: { blueprint } }, 'http'],
  [
    'an unknown method',
    { type: 'http', http: { blueprint: { ...blueprint, method: 'LOOK' } } },
    'http.blueprint.method',
  ],
  ['an unknown language', { type: 'code', code_tool: { ...code_tool, language: 'cobol' } }, 'code_tool.language'],
  ['an unknown connection', { type: 'mcp', mcp: { ...server, connection_type: 'pigeon' } }, 'mcp.connection_type'],
  ['a name with spaces', { function: { name: 'look up' } }, 'function.name'],
]
describe('invalid tool', () => {
  test.each(NOT_VALID)('%s', async (_, fields, param) => {
    const { status, body } = await call('POST', '/v2/tools', { key: 'http_error', ...fields })
    expect([status, (body.error as Json).param]).toEqual([400, param])
    strictError.parse(body)
  })
})
