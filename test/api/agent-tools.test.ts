// The types of tools of agents: what a model is offered for each, what a call returns with and without a fixture, and errors that a model
// reads.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ToolEntry } from '../../src/agents/tools/define.ts'
import { entryOf, toolsIn } from '../support/agent-tools.ts'
import { createTestApp } from '../support/app.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const { ok } = workspaceOf(app)
const { session, offered, run } = toolsIn(app)

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const blueprint = { url: 'https://weather.example/{{city}}', method: 'GET', headers: { authorization: 'secret' } }
const http = {
  blueprint,
  arguments: {
    city: { type: 'string', description: 'Where.' },
    days: { type: 'number', description: 'How many.', default_value: 1 },
    token: { type: 'string', description: 'Hidden.', send_to_model: false, default_value: 'x' },
  },
}
const files = { server_url: 'https://files.example', connection_type: 'http' }
const KINDS: {
  entry: () => Promise<ToolEntry>
  /** Name and parameters of what is offered. */
  offers: [string, Json]
  given: Json
  /** Made up without a fixture. */
  made: Json
}[] = [
  {
    entry: async () => entryOf('google_search'),
    offers: ['google_search', { required: ['query'] }],
    given: { query: 'lamps' },
    made: { generated: true, query: 'lamps', results: expect.any(Array) },
  },
  {
    entry: async () => entryOf('web_scraper'),
    offers: ['web_scraper', { required: ['url'] }],
    given: { url: 'https://example.com' },
    made: { generated: true, url: 'https://example.com', content: expect.any(String) },
  },
  {
    entry: async () => entryOf('openai:web_search'),
    offers: ['openai_web_search', { required: ['query'] }],
    given: { query: 'lamps' },
    made: { generated: true, tool: 'openai:web_search' },
  },
  {
    entry: async () => entryOf('anthropic:bash'),
    offers: ['anthropic_bash', { required: ['input'] }],
    given: { input: 'ls' },
    made: { generated: true, arguments: { input: 'ls' } },
  },
  {
    entry: async () => entryOf('http', await ok('POST', '/v2/tools', { key: 'get-weather', type: 'http', http })),
    offers: [
      'get-weather',
      {
        properties: {
          city: { type: 'string', description: 'Where.' },
          days: { type: 'number', description: 'How many.', default: 1 },
        },
        required: ['city'],
      },
    ],
    given: { city: 'Paris' },
    made: { generated: true, status: 200, request: { method: 'GET', url: blueprint.url } },
  },
  {
    entry: async () =>
      entryOf(
        'code',
        await ok('POST', '/v2/tools', {
          key: 'count',
          type: 'code',
          code_tool: {
            language: 'python',
            code: 'print(1)',
            parameters: city,
            output_schema: { type: 'object', properties: { count: { const: 7 } }, required: ['count'] },
          },
        }),
      ),
    offers: ['count', city],
    given: { city: 'Paris' },
    made: { generated: true, result: { count: 7 } },
  },
  {
    entry: async () =>
      entryOf(
        'mcp',
        await ok('POST', '/v2/tools', {
          key: 'files',
          type: 'mcp',
          mcp: { ...files, tools: [{ id: 'one', name: 'read file', description: 'Reads.', schema: city }] },
        }),
        { tool_id: 'one' },
      ),
    offers: ['read_file', city],
    given: { city: 'Paris' },
    made: { generated: true, arguments: { city: 'Paris' } },
  },
  {
    entry: async () =>
      entryOf('mcp', await ok('POST', '/v2/tools', { key: 'unsaid', type: 'mcp', mcp: files }), { tool_id: 'write' }),
    offers: ['write', { properties: {} }],
    given: { anything: [1] },
    made: { generated: true, arguments: { anything: [1] } },
  },
  {
    entry: async () =>
      entryOf(
        'json_schema',
        await ok('POST', '/v2/tools', {
          key: 'form',
          type: 'json_schema',
          json_schema: { name: 'place', description: 'A place.', schema: city },
        }),
      ),
    offers: ['place', city],
    given: { city: 'Paris' },
    made: { city: 'Paris' },
  },
]

describe('tools that need the network', () => {
  let entries: ToolEntry[]
  beforeAll(async () => {
    entries = await Promise.all(KINDS.map(({ entry }) => entry()))
  })
  const rows = KINDS.map(({ offers: [name] }, index) => [name, index] as const)
  const rowOf = (index: number) =>
    ({ ...KINDS[index], entry: entries[index] }) as (typeof KINDS)[0] & { entry: ToolEntry }

  test.each(rows)('%s is offered to the model', (name, index) => {
    const { entry, offers } = rowOf(index)
    const [definition, ...more] = offered(entry)
    expect(more).toEqual([])
    expect(definition).toMatchObject({ name, description: expect.any(String), parameters: offers[1] })
    expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(JSON.stringify(definition)).not.toContain('secret')
  })

  test.each(rows)('%s returns the response of a fixture', async (name, index) => {
    const { entry, given } = rowOf(index)
    const fixtures = [{ match: { tool: name, agent: 'helper' }, reply: { result: { by: '{{call.tool}}' } } }]
    expect(await run(entry, given, { fixtures, onUnmatched: 'error' })).toMatchObject({ result: { by: name } })
    const wrong = [{ match: { tool: name }, reply: { error: 'It is down.', timing: { duration: '3s' } } }]
    expect(await run(entry, given, { fixtures: wrong })).toMatchObject({ error: 'It is down.', ms: 3_000 })
  })

  test.each(rows)('%s returns a generated response and says so without a fixture', async (_, index) => {
    const { entry, given, made } = rowOf(index)
    const answer = await run(entry, given)
    expect(answer).toMatchObject({ result: made, ms: 0 })
    expect(await run(entry, given)).toEqual(answer)
    expect(JSON.stringify(answer)).not.toContain('secret')
  })

  test('with --on-unmatched error there must be one', async () => {
    const { entry, given } = rowOf(0)
    await expect(run(entry, given, { onUnmatched: 'error' })).rejects.toMatchObject({
      status: 404,
      code: 'fixture_not_found',
    })
  })

  test('return an error when one exceeds its timeout', async () => {
    const fixtures = [{ match: { tool: 'google_search' }, reply: { result: 1, timing: { duration: '1m' } } }]
    const slow = (timeout?: number) => run(entryOf('google_search', null, { timeout }), { query: 'x' }, { fixtures })
    expect(await slow()).toMatchObject({ result: 1, ms: 60_000 })
    const error = 'the tool google_search gave no result within its timeout of 5 s'
    expect(await slow(5)).toEqual({ error, ms: 5_000 })
  })

  test('end with the reason when the caller is gone', async () => {
    const fixtures = [{ match: {}, reply: { result: 1, timing: { duration: '1m' } } }]
    const controller = new AbortController()
    const running = run(entryOf('google_search'), { query: 'x' }, { fixtures, signal: controller.signal })
    controller.abort(new Error('canceled'))
    await expect(running).rejects.toThrow('canceled')
  })
})

const WRONG: [string, ToolEntry, Json, string][] = [
  ['a missing argument', entryOf('google_search'), {}, 'the arguments of google_search do not fit its schema: '],
  ['an argument of the wrong type', entryOf('google_search'), { query: 7 }, 'query: '],
  ['an unknown argument', entryOf('current_date'), { zone: 'x' }, 'zone'],
]
test.each(WRONG)('tool arguments: return an error to the model for %s', async (_, entry, given, words) => {
  const result = await run(entry, given)
  expect((result as { error?: string }).error).toContain(words)
})

test("tool schema: does not fail the model's call when the schema itself is invalid", async () => {
  const entry = entryOf('code', { code_tool: { parameters: { type: 'object', properties: 7 } } })
  expect(await run(entry, {})).toMatchObject({ result: { generated: true } })
})

test('date tool: returns the date of the session', async () => {
  const now = new Date(session.clock.now()).toISOString()
  expect(offered(entryOf('current_date'))).toMatchObject([{ name: 'current_date' }])
  expect(await run(entryOf('current_date'), {})).toMatchObject({ result: { iso: now, date: now.slice(0, 10) } })
})

test('function tool: is offered as the client wrote it and is not run by the server', async () => {
  const record = await ok('POST', '/v2/tools', {
    key: 'look-up',
    description: 'Of the tool.',
    function: { name: 'look_up', parameters: city },
  })
  const entry = entryOf('function', record)
  expect(offered(entry)).toEqual([{ name: 'look_up', description: 'Of the tool.', parameters: city }])
})

describe('knowledge tools', () => {
  const agent = { knowledge_bases: [{ knowledge_id: 'help', search_type: 'hybrid_search' as const, top_k: 1 }] }
  beforeAll(async () => {
    const base = await ok('POST', '/v2/knowledge', { key: 'help', description: 'Help pages.' })
    const form = new FormData()
    form.set('file', new File(['# Returns\n\nThirty days.\n\n# Lamps\n\nLamps glow for years.'], 'help.md'))
    const { _id } = (await app.fetch('/v2/files', { method: 'POST', body: form })).json()
    const at = `/v2/knowledge/${base._id}/datasources`
    await ok('POST', at, {
      file_id: _id,
      chunking_options: { chunking_configuration: { type: 'advanced', chunk_max_characters: 30 } },
    })
    for (;;) {
      const [source] = (await ok('GET', at)).data as Json[]
      if (source?.status === 'completed') break
      await session.clock.sleep(10)
    }
  })

  test("list the knowledge bases and query one with the agent's settings", async () => {
    expect(await run(entryOf('retrieve_knowledge_bases'), {}, { agent })).toMatchObject({
      result: { knowledge_bases: [{ knowledge_base: 'help', description: 'Help pages.' }] },
    })
    expect(offered(entryOf('query_knowledge_base'), agent)[0]?.parameters).toMatchObject({
      properties: { knowledge_base: { enum: ['help'] } },
      required: ['knowledge_base', 'query'],
    })
    const ask = (more: Json) =>
      run(entryOf('query_knowledge_base'), { knowledge_base: 'help', query: 'lamps glow', ...more }, { agent })
    const { matches } = ((await ask({})) as { result: { matches: Json[] } }).result
    expect(matches).toEqual([
      { id: expect.any(String), score: expect.any(Number), text: expect.stringContaining('glow') },
    ])
    expect(((await ask({ top_k: 2 })) as { result: { matches: Json[] } }).result.matches.length).toBe(2)
  })

  test("return an error for a knowledge base that is not the agent's or was deleted", async () => {
    const entry = entryOf('query_knowledge_base')
    const given = { knowledge_base: 'other', query: 'x' }
    expect(await run(entry, given, { agent })).toMatchObject({ error: expect.stringContaining('"help"') })
    expect(await run(entry, given)).toMatchObject({ error: 'this agent has no knowledge base "other"' })
    const gone = { knowledge_bases: [{ knowledge_id: 'other', search_type: 'hybrid_search' as const }] }
    expect(await run(entry, given, { agent: gone })).toMatchObject({
      error: expect.stringMatching(/^Knowledge base not found/),
    })
  })
})

describe('team tools', () => {
  const agent = { team_of_agents: [{ key: 'writer', role: 'Writes.' }, { key: 'reader' }] }

  test('list the members', async () => {
    await ok('POST', '/v2/agents', {
      key: 'reader',
      role: 'Reads.',
      description: 'Reads books.',
      instructions: '',
      path: 'Default',
      model: 'openai/gpt-4o',
      settings: {},
    })
    expect(await run(entryOf('retrieve_agents'), {}, { agent })).toMatchObject({
      result: {
        agents: [
          { agent: 'writer', role: 'Writes.' },
          { agent: 'reader', role: 'Reads.', description: 'Reads books.' },
        ],
      },
    })
  })

  test('call a member and return an error for anyone else', async () => {
    const calls: unknown[] = []
    const delegate = async (
      ...[member, message, { id }]: Parameters<NonNullable<Parameters<typeof run>[2]>['delegate'] & {}>
    ) => {
      calls.push([member, message, id])
      return { result: 'done' }
    }
    const entry = entryOf('call_sub_agent')
    const given = { agent: 'writer', message: 'Write.' }
    expect(await run(entry, given, { agent, delegate })).toMatchObject({ result: 'done' })
    expect(calls).toEqual([['writer', 'Write.', 'call_1']])
    expect(await run(entry, { ...given, agent: 'boss' }, { agent, delegate })).toMatchObject({
      error: expect.stringContaining('"reader"'),
    })
    expect(calls).toHaveLength(1)
  })
})
