// The tools of agents over HTTP: a task in, the results that its model read out.
import { afterAll, expect, test } from 'bun:test'
import { agentSession, type ModelTurn, results, story } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp({ shipped_fixtures: true })
afterAll(app.close)

/** Asks an agent with these tools, whose model calls them and then says it is done; `read` is what it was told of each call. */
async function asked(
  calls: ModelTurn,
  {
    tools,
    fixtures = [],
    made = [],
    fields = {},
    body = {},
  }: {
    tools: Json[]
    fixtures?: Json[]
    /** Tools of the workspace. */
    made?: Json[]
    fields?: Json
    body?: Json
  },
) {
  const session = agentSession(app)
  await session.begin([calls, 'Done.'], fixtures)
  for (const tool of made) await session.ok('POST', '/v2/tools', tool)
  await session.agent({ ...fields, settings: { tools } })
  const task = await session.ask('Go.', body)
  const read = (task.messages ?? []).flatMap(({ role, parts }) =>
    role === 'tool' ? parts.map((part) => (part as unknown as { result: unknown }).result) : [],
  )
  return { session, task, read }
}
const weather = {
  key: 'get_weather',
  type: 'http',
  http: {
    blueprint: { url: 'https://weather.example', method: 'GET' },
    arguments: { city: { type: 'string', description: 'Where.' } },
  },
}
const fixture = (match: Json, reply: Json) => ({ match: { operation: 'agents.tools', ...match }, reply })
const call = (name: string, args: Json = {}) => ({ name, arguments: args })

test('tool fixture: answers by tool, agent, arguments and iteration, errors included', async () => {
  const { task, read } = await asked(
    [
      call('get_weather', { city: 'Oslo' }),
      call('get_weather', { city: 'Rome' }),
      call('google_search', { query: 'x' }),
    ],
    {
      made: [weather],
      tools: [{ type: 'http', key: 'get_weather' }, { type: 'google_search' }],
      fixtures: [
        fixture({ tool: 'get_weather', agent: 'help*', arguments: { city: 'Oslo' } }, { result: { celsius: 3 } }),
        fixture({ tool: 'get_weather' }, { error: '{{call.arguments.city}} has no weather.' }),
        fixture({ tool: 'google_search', iteration: 1 }, { result: [], timing: { duration: '2s' } }),
      ],
    },
  )
  expect(read).toEqual([{ celsius: 3 }, { error: 'Rome has no weather.' }, []])
  expect(task.status.state).toBe('completed')
  expect(story(task).at(-1)).toBe('agent: Done.')
})

test('tool response: comes from the shipped weather fixture, or is generated and says so', async () => {
  const { read } = await asked(
    [call('get_weather', { city: 'Paris' }), call('web_scraper', { url: 'https://a.example' })],
    {
      made: [weather],
      tools: [{ type: 'http', key: 'get_weather' }, { type: 'web_scraper' }],
    },
  )
  expect(read).toEqual([
    { city: 'Paris', celsius: 21, sky: 'clear' },
    expect.objectContaining({ generated: true, url: 'https://a.example' }),
  ])
})

test('tool response: names the nearest fixtures to the model when one is required and missing', async () => {
  const strict = createTestApp({ on_unmatched: 'error' })
  const session = agentSession(strict)
  await session.begin([[call('google_search', { query: 'x' })], 'Done.'], [fixture({ tool: 'other' }, { result: 1 })])
  await session.agent({ settings: { tools: [{ type: 'google_search' }] } })
  expect(story(await session.ask('Go.'))[2]).toContain('no fixture matches this call of the tool')
  strict.close()
})

test('tool call: returns an error to the model for invalid arguments, a non-object and an unknown tool', async () => {
  const { task, read } = await asked(
    { tool_calls: [call('google_search'), { name: 'google_search', arguments: '{"que' }, call('hammer')] },
    { tools: [{ type: 'google_search' }] },
  )
  expect(read).toEqual([
    { error: expect.stringContaining('the arguments of google_search do not fit its schema: ') },
    { error: 'the arguments must be a JSON object, got "{\\"que"' },
    { error: 'there is no tool "hammer"; there are google_search' },
  ])
  expect(task.status.state).toBe('completed')
})

test('tool timeout: is an error for its call while other tools return results', async () => {
  const { session, read } = await asked([call('google_search', { query: 'x' }), call('current_date')], {
    tools: [{ type: 'google_search', timeout: 5 }, { type: 'current_date' }],
    fixtures: [fixture({ tool: 'google_search' }, { result: 1, timing: { duration: '1m' } })],
  })
  expect(read).toEqual([
    { error: 'the tool google_search gave no result within its timeout of 5 s' },
    expect.objectContaining({ date: '2025-01-01' }),
  ])
  const { clock } = app.understudy.sessions.get(session.name)
  expect(clock.now()).toBe(Date.UTC(2025, 0, 1) + 5_000)
})

test('functions of the same name: stay distinct, and each is answered by its client', async () => {
  const made = ['one', 'two'].map((key) => ({ key, description: key, function: { name: 'look_up' } }))
  const { session, task } = await asked(
    [
      { name: 'look_up_2', id: 'a' },
      { name: 'look_up', id: 'b' },
    ],
    {
      made,
      tools: [
        { type: 'function', key: 'one' },
        { type: 'function', key: 'two' },
        { type: 'function', key: 'two' },
      ],
    },
  )
  expect(task.status.state).toBe('input-required')
  const ended = await session.ask(results(['a', 2], ['b', 1]), { task_id: task.id })
  expect(story(ended).at(-1)).toBe('agent: Done.')
})

test('memory: written by one task is found by another', async () => {
  const session = agentSession(app)
  const about = { memory_store: 'customers' }
  const query = [{ tool_calls: [call('query_memory_store', { ...about, query: 'tea' })] }, { content: 'Tea it is.' }]
  await session.begin(
    [[call('write_memory_store', { ...about, text: 'Likes tea.' })], 'Noted.'],
    [{ match: { operation: 'chat.completions', user: 'What do I like?' }, replies: query }],
  )
  const embedding_config = { model: 'openai/text-embedding-3-small' }
  await session.ok('POST', '/v2/memory-stores', { key: 'customers', description: 'Customers.', embedding_config })
  const tools = [{ type: 'write_memory_store' }, { type: 'query_memory_store' }]
  await session.agent({ memory_stores: ['customers'], settings: { tools } })
  const memory = { entity_id: 'ada' }
  await session.ask('I like tea.', { memory })
  expect(story(await session.ask('What do I like?', { memory }))[2]).toContain('"text":"Likes tea."')
  const { data } = await session.ok('GET', '/v2/memory-stores/customers/memories/ada/documents')
  expect(data).toHaveLength(1)
})

test('team agent: works for a positive virtual time without being late', async () => {
  const session = agentSession(app)
  await session.begin(
    [[call('retrieve_agents'), call('call_sub_agent', { agent: 'writer', message: 'Write.' })], 'Read it.'],
    [
      {
        match: { operation: 'chat.completions', system: { contains: 'Writes.' } },
        replies: [
          { tool_calls: [call('current_date')] },
          { tool_calls: [call('current_date')] },
          { tool_calls: [call('current_date')] },
          { content: 'Once upon a time.' },
        ],
      },
    ],
  )
  await session.agent({ key: 'writer', description: 'Writes.', settings: { tools: [{ type: 'current_date' }] } })
  await session.agent({
    team_of_agents: [{ key: 'writer', role: 'Writes stories.' }],
    settings: { tools: [{ type: 'retrieve_agents' }, { type: 'call_sub_agent' }] },
  })
  const told = story(await session.ask('A story!'))
  expect(told.filter((line) => line.startsWith('tool: '))).toEqual([
    expect.stringContaining('Writes stories.'),
    expect.stringContaining('Once upon a time.'),
  ])
  expect(app.understudy.sessions.get(session.name).clock.now()).toBe(Date.UTC(2025, 0, 1))
})

test('session fixtures: answer the next call once they are set', async () => {
  const session = agentSession(app)
  await session.begin([
    [call('google_search', { query: 'x' })],
    'One.',
    [call('google_search', { query: 'x' })],
    'Two.',
  ])
  await session.agent({ settings: { tools: [{ type: 'google_search' }] } })
  expect(story(await session.ask('Go.'))[2]).toContain('"generated":true')
  const { data } = await session.ok('GET', '/_understudy/fixtures')
  expect((data as Json[]).some(({ operation }) => operation === 'agents.tools')).toBe(true)
  await session.ok('PUT', '/_understudy/fixtures', [
    fixture({ tool: 'google_search' }, { result: 'given' }),
    {
      match: { operation: 'chat.completions', tool_result: false },
      reply: { tool_calls: [call('google_search', { query: 'x' })] },
    },
    { match: { operation: 'chat.completions' }, reply: { content: 'Three.' } },
  ])
  expect(story(await session.ask('Go.'))[2]).toBe('tool: "given"')
})
