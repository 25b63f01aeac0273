// Faults of the tools of agents, and rules that select the agent, task, iteration and tool.
import { afterAll, describe, expect, test } from 'bun:test'
import { rulesWithoutEffect } from '../../src/scenarios/load.ts'
import { ScenarioFile } from '../../src/scenarios/schema.ts'
import { agentSession, type ModelTurn, type StrictTask, story } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

const search = { name: 'google_search', arguments: { query: 'x' } }
const date = { name: 'current_date' }

/** A session with rules and an agent whose model says these turns; what comes of a task, and what the scenario says of a rule. */
async function rehearsal(rules: readonly Json[], turns: readonly ModelTurn[], more: Json = {}) {
  const session = agentSession(app)
  await session.begin(turns)
  const named = rules.map((rule, index) => ({ name: `rule ${index + 1}`, ...rule }))
  await session.ok('PUT', '/_understudy/scenario', { name: 'bad-day', clock: 'virtual', rules: named })
  const tools = [{ type: 'google_search', timeout: 30 }, { type: 'current_date' }]
  await session.agent({ settings: { tools }, ...more })
  const rule = async (name = 'rule 1') =>
    ((await session.ok('GET', '/_understudy/scenario')).rules as Json[]).find((one) => one.name === name)
  const traceOf = ({ metadata }: StrictTask) => session.ok('GET', `/_understudy/traces/${(metadata as Json).trace_id}`)
  return { ...session, rule, traceOf, now: () => app.understudy.sessions.get(session.name).clock.now() }
}
const toldOf = (task: StrictTask) => story(task).filter((line) => line.startsWith('tool: '))

describe('tool fault', () => {
  test('tool-error is read by the model and is in the trace of the task', async () => {
    const fault = { type: 'tool-error', message: 'The server is down.', after: '3s' }
    const { ask, rule, traceOf } = await rehearsal([{ match: { tool: 'google_*' }, fault }], [[search, date], 'Sorry.'])
    const task = await ask('Go.')
    expect(toldOf(task)).toEqual([
      'tool: {"error":"The server is down."}',
      expect.stringContaining('"date":"2025-01-01"'),
    ])
    expect(task.status.state).toBe('completed')
    expect(await rule()).toMatchObject({ at: 'tool', matched: 1, triggered: 1, applied: 1 })
    const trace = await traceOf(task)
    expect(trace.faults).toEqual(['rule 1'])
    const { steps } = trace.task as { steps: Json[] }
    expect(steps.find(({ name }) => name === 'google_search')).toMatchObject({
      outcome: 'failed',
      error: 'The server is down.',
      faults: ['rule 1'],
      duration_ms: 3_000,
    })
  })

  test('tool-timeout lasts as long as the tool may take', async () => {
    const rules = [{ match: { tool: 'google_search' }, fault: { type: 'tool-timeout' } }]
    const { ask, rule, now } = await rehearsal(rules, [[search], 'Sorry.'])
    const begun = now()
    expect(toldOf(await ask('Go.'))).toEqual([
      'tool: {"error":"the tool google_search gave no result within its timeout of 30 s"}',
    ])
    expect(now() - begun).toBe(30_000)
    expect(await rule()).toMatchObject({ applied: 1 })
  })

  test('delay makes a tool late', async () => {
    const rules = [{ at: 'tool', match: { tool: 'current_date' }, fault: { type: 'delay', for: '7s' } }]
    const { ask, now } = await rehearsal(rules, [[date], 'Late.'])
    const begun = now()
    expect(toldOf(await ask('Go.'))).toEqual([expect.stringContaining('"time":"00:00:07"')])
    expect(now() - begun).toBe(7_000)
  })

  test('sub-agent-failed affects only the agents of a team', async () => {
    const call = { name: 'call_sub_agent', arguments: { agent: 'writer', message: 'Write.' } }
    const team = {
      team_of_agents: [{ key: 'writer' }],
      settings: { tools: [{ type: 'current_date' }, { type: 'retrieve_agents' }, { type: 'call_sub_agent' }] },
    }
    const rules = [{ fault: { type: 'sub-agent-failed', message: 'No ink.' } }]
    const session = await rehearsal(rules, [[call, date], 'Sorry.'], { key: 'writer' })
    await session.agent(team)
    expect(toldOf(await session.ask('Go.'))).toEqual(['tool: {"error":"No ink."}', expect.stringContaining('2025')])
    expect(await session.rule()).toMatchObject({ applied: 1, skipped: { 'the tool is not a sub-agent': 1 } })
    expect((await session.ok('GET', '/v2/agents/writer/tasks')).data).toEqual([])
  })
})

describe('tool rule match', () => {
  const fault = { type: 'tool-error', message: 'no' }
  const WHICH: [Json, number[]][] = [
    [{}, [0, 1, 2]],
    [{ tool: 'current_date' }, [1, 2]],
    [{ tool: 'hammer' }, []],
    [{ agent: 'help*' }, [0, 1, 2]],
    [{ agent: 'writer' }, []],
    [{ iteration: 2 }, [2]],
    [{ iteration: '1-1', tool: '*date*' }, [1]],
    [{ task: '01*' }, [0, 1, 2]],
    [{ task: 'other' }, []],
    [{ operation: 'agents.tools' }, [0, 1, 2]],
    [{ operation: 'chat.completions' }, []],
    [{ body: { query: 'x' } }, [0]],
  ]
  test.each(WHICH)('selects calls by %j', async (match, failed) => {
    const { ask } = await rehearsal([{ match, fault }], [[search, date], [date], 'Done.'])
    const read = toldOf(await ask('Go.'))
    expect(read.flatMap((line, index) => (line === 'tool: {"error":"no"}' ? [index] : []))).toEqual(failed)
  })

  test('limits a provider fault to one iteration of one agent', async () => {
    const rules = [{ match: { agent: 'helper', iteration: 2 }, fault: { type: 'http-error', status: 503 } }]
    const { ask, rule } = await rehearsal(rules, [[date], 'Done.'])
    const task = await ask('Go.')
    expect(task.status.state).toBe('failed')
    expect(toldOf(task)).toHaveLength(1)
    expect(await rule()).toMatchObject({ at: 'provider', matched: 1, applied: 1 })
  })

  const NEVER: [Json, string][] = [
    [{ match: { provider: 'openai' }, fault }, 'tool calls have no provider'],
    [{ match: { text: 'hi' }, fault }, 'tool calls have no text'],
    [{ match: { tool: 'x' }, fault: { type: 'http-error', status: 500 } }, "'tool' only applies at 'tool'"],
    [
      { match: { operation: 'chat.completions' }, fault },
      `at 'tool', 'operation' must be omitted or "agents.tools", got "chat.completions"`,
    ],
    [{ match: { path: '/v2/router/*' }, fault }, `at 'tool', 'path' must be omitted or "/v2/agents/:key/task"`],
    [
      { match: { operation: 'chat.completions' }, fault: { type: 'stuck-task' } },
      `at 'task', 'operation' must be omitted or "agents.iterations"`,
    ],
    [
      { match: { operation: 'agent.*' }, fault: { type: 'approval-never' } },
      `at 'approval', 'operation' must be omitted or "agents.approvals"`,
    ],
    [{ at: 'gateway', match: { agent: 'x' }, fault: { type: 'reset' } }, "'agent' only applies at"],
    [{ at: 'workspace', match: { iteration: 1 }, fault: { type: 'delay', for: 1 } }, "'iteration' only applies at"],
  ]
  test.each(NEVER)('reports why its rule can never be triggered: %j', (rule, words) => {
    const scenario = ScenarioFile.parse({ name: 's', rules: [{ name: 'r', ...rule }] })
    const lines = rulesWithoutEffect({ ...scenario, location: 'here' }, ['chat.completions'])
    expect(lines).toEqual([expect.stringContaining(words)])
  })
  test('does not count the tool operation as unknown', () => {
    const rules = [{ name: 'r', match: { operation: 'agents.tools', tool: 'x' }, fault }]
    expect(
      rulesWithoutEffect({ ...ScenarioFile.parse({ name: 's', rules }), location: 'here' }, ['chat.completions']),
    ).toEqual([])
  })
})
