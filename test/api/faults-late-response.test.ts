// late-response: what a canceled task was waiting for arrives all the same, and the task stays canceled.
import { afterAll, describe, expect, test } from 'bun:test'
import { stripVTControlCharacters } from 'node:util'
import { relatedTraces, taskTree } from '../../src/cli/print/waterfall.ts'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { rulesWithoutEffect } from '../../src/scenarios/load.ts'
import { ScenarioFile } from '../../src/scenarios/schema.ts'
import { agentSession, type ModelTurn, type StrictTask, story, taskBody } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import { strictTask } from '../support/strict/agents.ts'
import { turn } from '../support/task-clients.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

const fault = { type: 'late-response', after: '10s' }
const search = { name: 'google_search', arguments: { query: 'x' }, id: 'call_1' }
const slowTool: Json = {
  name: 'slow tool',
  match: { operation: 'agents.tools', tool: 'google_search' },
  reply: { result: 'found', timing: { duration: '1m' } },
}
const slowModel = (reply: Json): Json => ({
  name: 'slow model',
  match: { operation: 'chat.completions' },
  reply: { ...reply, timing: { first_token: '1m' } },
})
const ERROR = '{"error":"the task was canceled before there was a result"}'

/** A session whose clock stands still with a task that has a call under way. */
async function underWay(rule: Json, turns: readonly ModelTurn[], fixtures: readonly Json[]) {
  const one = agentSession(app)
  await one.begin(turns, fixtures)
  await one.ok('PUT', '/_understudy/scenario', {
    name: 'late',
    clock: 'virtual',
    rules: [{ name: 'late', fault, ...rule }],
  })
  await one.agent({ settings: { tools: [{ type: 'google_search' }] } })
  const clock = async (change: Json) => {
    const path = `/_understudy/sessions/${one.name}/clock`
    return (await one.ok('POST', path, change)) as { waiting: number }
  }
  await clock({ freeze: true })
  const { id } = await one.ok('POST', '/v2/agents/helper/task', { ...taskBody('Go.'), configuration: {} })
  const path = `/v2/agents/helper/tasks/${id}`
  // Its limit of time, the call, and what bounds that.
  const wanted = fixtures.includes(slowTool) ? 3 : 2
  while ((await clock({ freeze: true })).waiting < wanted) await turn()
  const read = async () => strictTask.parse(await one.ok('GET', path))
  return {
    ...one,
    id: String(id),
    clock,
    read,
    cancel: async () => strictTask.parse(await one.ok('POST', `${path}/cancel`)),
    /** Reads it until it has so many messages. */
    async withMessages(count: number): Promise<StrictTask> {
      for (;;) {
        const task = await read()
        if ((task.messages?.length ?? 0) >= count) return task
        await turn()
      }
    },
    verdict: async () => (await one.ok('GET', '/_understudy/verify?ended=well')) as unknown as Verification,
    trace: async ({ metadata }: StrictTask) =>
      (await one.ok('GET', `/_understudy/traces/${(metadata as Json).trace_id}`)) as unknown as TraceRecord,
  }
}

describe('late tool result', () => {
  const MATCHES: Json[] = [
    {},
    { tool: 'google_*' },
    { agent: 'helper', iteration: 1 },
    { task: '*', tool: 'google_search' },
  ]
  test.each(MATCHES)('%j: arrives after the task was canceled, which stays canceled', async (match) => {
    const one = await underWay({ match }, [[search], 'Done.'], [slowTool])
    const canceled = await one.cancel()
    expect([canceled.status.state, story(canceled).at(-1)]).toEqual(['canceled', 'agent: google_search({"query":"x"})'])
    expect((await one.verdict()).rules).toMatchObject([{ at: 'cancel', matched: 1, triggered: 1, applied: 1 }])
    await one.clock({ advance: '30s' })
    expect((await one.read()).messages).toHaveLength(2)
    await one.clock({ advance: '1m' })
    const late = await one.withMessages(3)
    expect([late.status.state, story(late).at(-1)]).toEqual(['canceled', 'tool: "found"'])
    const trace = await one.trace(late)
    const { steps = [] } = trace.task ?? {}
    expect(steps.map(({ kind, outcome, late }) => [kind, outcome, late])).toEqual([
      ['model', 'succeeded', undefined],
      ['tool', 'succeeded', true],
    ])
    expect(steps.at(-1)).toMatchObject({ duration_ms: 60_000, fixture: 'slow tool', faults: ['late'] })
    expect(trace.faults).toEqual(['late'])
    const related = await relatedTraces(trace, (id) => one.ok('GET', `/_understudy/traces/${id}`) as never)
    const lines = trace.task ? taskTree(trace.task, related, 120).map(stripVTControlCharacters) : []
    expect(lines.at(-1)).toContain('tool google_search succeeded in 60.0 s, late, fixture slow tool, faults: late')
    expect((await one.verdict()).tasks).toEqual({
      states: { canceled: 1 },
      ...{ running: 0, iterations: 1, tool_calls: 1, sub_tasks: 0 },
    })
  })

  test('arrives no earlier than configured', async () => {
    const rule = { fault: { ...fault, after: '2h' } }
    const one = await underWay(rule, [[search], 'Done.'], [slowTool])
    await one.cancel()
    await one.clock({ advance: '119m' })
    expect((await one.read()).messages).toHaveLength(2)
    await one.clock({ advance: '2m' })
    expect(story(await one.withMessages(3)).at(-1)).toBe('tool: "found"')
  })

  test('is an error when nothing arrives for as long as the task might have run', async () => {
    const forEver = { ...slowTool, name: 'for ever', reply: { result: 'found', timing: { duration: '1h' } } }
    const one = await underWay({}, [[search], 'Done.'], [forEver, slowTool])
    await one.cancel()
    await one.clock({ advance: '1h' })
    expect(story(await one.withMessages(3)).at(-1)).toStartWith('tool: {"error":"the tool google_search gave no result')
  })

  test('is dropped when the user has continued meanwhile', async () => {
    const one = await underWay({}, [[search], 'Done.', 'Again.'], [slowTool])
    await one.cancel()
    const task = await one.ask('On.', { task_id: one.id })
    expect(story(task)).toEqual([
      'user: Go.',
      'agent: google_search({"query":"x"})',
      'tool: {"error":"the turn ended before there was a result"}',
      'user: On.',
      'agent: Done.',
    ])
    await one.clock({ advance: '1h' })
    await one.clock({ advance: '1h' })
    expect((await one.read()).messages).toHaveLength(5)
  })

  test('is dropped when the agent or the session is gone', async () => {
    const one = await underWay({}, [[search], 'Done.'], [slowTool])
    await one.cancel()
    await one.call('DELETE', '/v2/agents/helper')
    await one.clock({ advance: '1h' })
    const other = await underWay({}, [[search], 'Done.'], [slowTool])
    await other.cancel()
    await other.call('DELETE', `/_understudy/sessions/${other.name}`)
  })

  test('is not delayed for a call that the rule does not match', async () => {
    const one = await underWay({ match: { tool: 'current_date' } }, [[search], 'Done.'], [slowTool])
    const canceled = await one.cancel()
    expect(story(canceled).at(-1)).toBe(`tool: ${ERROR}`)
    expect((await one.verdict()).rules).toMatchObject([{ matched: 0, applied: 0 }])
  })
})

describe('late model response', () => {
  test('arrives after the task was canceled, and is charged', async () => {
    const one = await underWay({}, ['Never.'], [slowModel({ content: 'Late.' })])
    const canceled = await one.cancel()
    expect(story(canceled)).toEqual(['user: Go.'])
    await one.clock({ advance: '2m' })
    const late = await one.withMessages(2)
    expect([late.status.state, story(late).at(-1)]).toEqual(['canceled', 'agent: Late.'])
    const { task, cost } = await one.trace(late)
    expect(task?.steps).toMatchObject([{ kind: 'model', outcome: 'succeeded', late: true, faults: ['late'] }])
    const { metrics } = (await one.ok('GET', '/v2/agents/helper')) as { metrics: { total_cost: number } }
    expect(cost).toBeGreaterThan(0)
    expect(metrics.total_cost).toBeCloseTo(cost ?? 0, 10)
  })

  test('calls no more tools', async () => {
    const one = await underWay({}, ['Never.'], [slowModel({ tool_calls: [search] })])
    await one.cancel()
    await one.clock({ advance: '2m' })
    expect(story(await one.withMessages(3)).slice(1)).toEqual(['agent: google_search({"query":"x"})', `tool: ${ERROR}`])
    expect((await one.read()).status.state).toBe('canceled')
  })
})

const NEVER: [Json, string][] = [
  [{ match: { text: 'x' }, fault }, 'calls of canceled tasks have no text'],
  [
    { match: { operation: 'chat.completions' }, fault },
    `at 'cancel', 'operation' must be omitted or "agents.cancellations"`,
  ],
]
test.each(NEVER)('late-response rule: reports why it can never be triggered: %j', (rule, words) => {
  const scenario = ScenarioFile.parse({ name: 's', rules: [{ name: 'r', ...rule }] })
  expect(rulesWithoutEffect({ ...scenario, location: 'here' }, ['chat.completions'])).toEqual([
    expect.stringContaining(words),
  ])
})
