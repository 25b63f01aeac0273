// The tree of an agent's task, as trace show draws it: iterations, attempts, tools, waits and sub-agents.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { stripVTControlCharacters } from 'node:util'
import { relatedTraces, taskTree } from '../../src/cli/print/waterfall.ts'
import type { StoredTrace, TraceRecord } from '../../src/contract/core/trace.ts'
import { agentSession, type ModelTurn, taskBody } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import { runCommand, serveHere } from '../support/cli.ts'
import { emptyFolder, type Server } from '../support/server.ts'
import type { Json } from '../support/workspace.ts'

const date = { name: 'current_date' }
const AGENT = {
  ...{ key: 'helper', role: 'Helper', description: 'Helps.', instructions: 'Help.', path: 'Default' },
  model: 'openai/gpt-4o',
}

describe('task tree', () => {
  const app = createTestApp()
  afterAll(app.close)

  /** The trace of a task of an agent with such tools, and those that belong to it. */
  async function drawing(
    turns: readonly ModelTurn[],
    { tools = [], rules, fixtures, ...more }: Json & { tools?: Json[]; fixtures?: Json[] } = {},
  ) {
    const session = agentSession(app)
    await session.begin(turns, fixtures)
    if (rules) await session.ok('PUT', '/_understudy/scenario', { name: 'bad-day', rules })
    await session.agent({ key: 'writer' })
    await session.agent({ settings: { tools }, ...more })
    const task = await session.ask('Go.')
    const get = (id: string) => session.ok('GET', `/_understudy/traces/${id}`) as unknown as Promise<TraceRecord>
    const trace = await get(String((task.metadata as Json).trace_id))
    return { task, trace, related: await relatedTraces(trace, get) }
  }
  type Drawing = Awaited<ReturnType<typeof drawing>>
  const lines = ({ trace, related }: Pick<Drawing, 'trace' | 'related'>, width = 120) =>
    trace.task ? taskTree(trace.task, related, width).map(stripVTControlCharacters) : []
  /** Without what differs from run to run. */
  const plain = (drawn: Drawing) =>
    lines(drawn).map((line) => line.replaceAll(drawn.task.id, 'ID').replaceAll(/\d+ ms/g, 'N ms'))

  test('shows iterations, tools and their faults', async () => {
    const rules = [
      { name: 'down', match: { tool: 'google_search' }, fault: { type: 'tool-error', message: 'It is down.' } },
    ]
    const search = { name: 'google_search', arguments: { query: 'x' } }
    const tools = [{ type: 'google_search' }, { type: 'current_date' }]
    expect(plain(await drawing([[search, date], 'Done.'], { tools, rules }))).toEqual([
      '  task ID of helper, turn 1: completed',
      '  ├ iteration 1',
      '  │ ├ model openai/gpt-4o succeeded in N ms',
      '  │ ├ tool google_search failed in N ms, It is down., faults: down',
      '  │ └ tool current_date succeeded in N ms',
      '  └ iteration 2',
      '    └ model openai/gpt-4o succeeded in N ms',
    ])
  })

  test('shows the fixture that answered a tool, which verify counts as used', async () => {
    const session = agentSession(app)
    const match = { operation: 'agents.tools', tool: 'google_search' }
    await session.begin(
      [[{ name: 'google_search', arguments: { query: 'x' } }], 'Done.'],
      [
        { name: 'found', match, reply: { result: 'here' } },
        { name: 'idle', match, reply: { result: 'there' } },
      ],
    )
    await session.agent({ settings: { tools: [{ type: 'google_search' }] } })
    const { metadata } = await session.ask('Go.')
    const trace = (await session.ok(
      'GET',
      `/_understudy/traces/${(metadata as Json).trace_id}`,
    )) as unknown as StoredTrace
    expect(trace.task?.steps.map(({ kind, fixture }) => [kind, fixture])).toEqual([
      ['model', undefined],
      ['tool', 'found'],
      ['model', undefined],
    ])
    const [line] = lines({ trace, related: new Map() }).filter((one) => one.includes('google_search'))
    expect(line).toMatch(/tool google_search succeeded in \d+ ms, fixture found$/)
    const { fixtures } = (await session.ok('GET', '/_understudy/verify')) as { fixtures: { unused: string[] } }
    expect(fixtures.unused).toContain('idle')
    expect(fixtures.unused).not.toContain('found')
  })

  test('shows the attempts of a model when there were several', async () => {
    const rules = [{ name: 'busy', match: { attempt: 1 }, fault: { type: 'http-error', status: 503 } }]
    const model = { id: 'openai/gpt-4o', retry: { count: 1, on_codes: [503] } }
    const drawn = plain(await drawing(['Done.'], { rules, model }))
    expect(drawn.slice(0, 3)).toEqual([
      '  task ID of helper, turn 1: completed',
      '  └ iteration 1',
      '    └ model openai/gpt-4o succeeded in N ms',
    ])
    expect(drawn.slice(3).filter((line) => line.includes(' openai/gpt-4o '))).toEqual([
      expect.stringMatching(/^ {6}├ first openai\/gpt-4o HTTP error 503 in N ms, faults: busy, /),
      expect.stringMatching(/^ {6}└ retry openai\/gpt-4o succeeded 200 in N ms, after N ms$/),
    ])
  })

  test('shows what the task waits for', async () => {
    const tools = [{ type: 'current_date', requires_approval: true }]
    expect(plain(await drawing([[date]], { tools })).slice(-1)).toEqual(['    └ waits for current_date'])
    const drawn = plain(await drawing([[date]], { tools }))
    expect(drawn[0]).toBe('  task ID of helper, turn 1: input-required (approval)')
  })

  const TEAM = {
    team_of_agents: [{ key: 'writer' }],
    tools: [{ type: 'retrieve_agents' }, { type: 'call_sub_agent' }],
  }
  const call = { name: 'call_sub_agent', arguments: { agent: 'writer', message: 'Write.' } }
  const WRITER = { match: { operation: 'chat.completions', user: 'Write.' }, reply: { content: 'Written.' } }
  test('shows a sub-agent with its iterations, or without them when its trace is gone', async () => {
    const drawn = await drawing([[call], 'Done.'], { ...TEAM, fixtures: [WRITER] })
    expect(plain(drawn)).toEqual([
      '  task ID of helper, turn 1: completed',
      '  ├ iteration 1',
      '  │ ├ model openai/gpt-4o succeeded in N ms',
      '  │ └ agent writer succeeded in N ms, completed',
      '  │   └ iteration 1',
      '  │     └ model openai/gpt-4o succeeded in N ms',
      '  └ iteration 2',
      '    └ model openai/gpt-4o succeeded in N ms',
    ])
    expect(plain({ ...drawn, related: new Map() })).toContain('  │ └ agent writer succeeded in N ms')
  })

  test.each([40, 41, 57, 80, 120, 250])('has no line longer than %d columns and loses no word', async (width) => {
    const rules = [
      {
        name: 'a rule with quite a long name of its own',
        match: { tool: 'current_date' },
        fault: { type: 'tool-error', message: `It is ${'very '.repeat(30)}far down.` },
      },
    ]
    const tools = [...TEAM.tools, { type: 'current_date' }]
    const drawn = await drawing([[call, date], 'Written.', 'Done.'], { ...TEAM, tools, rules })
    const found = lines(drawn, width)
    expect(found.filter((line) => Bun.stringWidth(line) > width)).toEqual([])
    const words = (text: readonly string[]) => text.join(' ').replaceAll(/[├│└\s]+/g, '')
    expect(words(found)).toBe(words(lines(drawn, 10_000)))
  })
})

describe('trace show of a task', () => {
  const folder = emptyFolder()
  let server: Server
  let id = ''
  beforeAll(async () => {
    server = await serveHere(['--db', 'traces.db', '--token', 'secret'], { cwd: folder.path })
    const post = async (path: string, body: Json): Promise<Json> =>
      (await fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).then((answer) => answer.json())) as Json
    await post('/v2/agents', { ...AGENT, settings: {} })
    id = String(((await post('/v2/agents/helper/task', taskBody('Go.'))).metadata as Json).trace_id)
  })
  afterAll(async () => {
    await server.stop()
    folder.remove()
  })

  test.each(['server', 'file'])('draws it from the %s, and --json prints only the trace', async (from) => {
    const source = from === 'server' ? ['--url', server.url, '--token', 'secret'] : ['--db', 'traces.db']
    const shown = await runCommand(['trace', 'show', id, ...source], { cwd: folder.path })
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toMatch(/\n {2}task \w{26} of helper, turn 1: completed\n {2}└ iteration 1\n {4}└ model /)
    const json = await runCommand(['trace', 'show', id, '--json', ...source], { cwd: folder.path })
    expect((JSON.parse(json.stdout) as StoredTrace).task).toMatchObject({ agent: 'helper', state: 'completed' })
    // Its model was asked later, but not by whoever looks.
    const last = await runCommand(['trace', 'show', 'last', '--json', ...source], { cwd: folder.path })
    expect((JSON.parse(last.stdout) as StoredTrace).id).toBe(id)
  })

  test('fits a terminal of 40 columns', async () => {
    const { stdout } = await runCommand(['trace', 'show', id, '--db', 'traces.db'], {
      cwd: folder.path,
      terminal: { isTTY: true, columns: 40 },
    })
    const tree = stdout.split('\n').filter((line) => /^ {2,}[└├│]|^ {2}task /.test(line))
    expect(tree.length).toBeGreaterThanOrEqual(3)
    expect(tree.filter((line) => line.length > 40)).toEqual([])
  })
})
