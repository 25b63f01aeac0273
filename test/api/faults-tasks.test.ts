// Faults of an agent's task: one that never ends, and decisions about its tools that never arrive.
import { afterAll, describe, expect, test } from 'bun:test'
import { rulesWithoutEffect } from '../../src/scenarios/load.ts'
import { ScenarioFile } from '../../src/scenarios/schema.ts'
import { agentSession, type ModelTurn, results, story, taskBody } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import { strictTask } from '../support/strict/agents.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

const date = { name: 'current_date' }

/** A session with rules and an agent whose model says these turns. */
async function rehearsal(rules: readonly Json[], turns: readonly ModelTurn[], settings: Json = {}) {
  const session = agentSession(app)
  await session.begin(turns)
  const named = rules.map((rule, index) => ({ name: `rule ${index + 1}`, ...rule }))
  await session.ok('PUT', '/_understudy/scenario', { name: 'bad-day', clock: 'virtual', rules: named })
  await session.agent({ settings: { tools: [{ type: 'current_date' }], ...settings } })
  const rule = async () => ((await session.ok('GET', '/_understudy/scenario')).rules as Json[])[0]
  const read = async (id: string) => strictTask.parse(await session.ok('GET', `/v2/agents/helper/tasks/${id}`))
  return {
    ...session,
    rule,
    read,
    /** Submits a task and does not wait for it. */
    begin: async () => {
      const submitted = await session.ok('POST', '/v2/agents/helper/task', { ...taskBody('Go.'), configuration: {} })
      return strictTask.parse(submitted).id
    },
    /** Reads a task until the first rule has acted. */
    async stuck(id: string) {
      while ((await rule())?.applied !== 1) await new Promise((resolve) => setImmediate(resolve))
      return read(id)
    },
    cancel: (id: string) => session.ok('POST', `/v2/agents/helper/tasks/${id}/cancel`),
  }
}

describe('stuck-task', () => {
  const fault = { type: 'stuck-task' }
  const ITERATIONS: [Json, number][] = [
    [{}, 0],
    [{ iteration: 2 }, 1],
    [{ agent: 'help*', iteration: '2+' }, 1],
  ]
  test.each(ITERATIONS)('%j: keeps the task working until it is canceled, past its time limit', async (match, made) => {
    const session = await rehearsal([{ match, fault }], [[date], 'Done.'], { max_execution_time: 20 })
    const id = await session.begin()
    expect((await session.stuck(id)).status.state).toBe('working')
    await session.ok('POST', `/_understudy/sessions/${session.name}/clock`, { advance: '1h' })
    expect((await session.read(id)).status.state).toBe('working')
    expect((await session.call('POST', '/v2/agents/helper/task', taskBody('More.', { task_id: id }))).status).toBe(409)
    expect(await session.rule()).toMatchObject({ at: 'task', matched: 1, triggered: 1, applied: 1 })
    const canceled = strictTask.parse(await session.cancel(id))
    expect(canceled.status.state).toBe('canceled')
    const trace = await session.ok('GET', `/_understudy/traces/${(canceled.metadata as Json).trace_id}`)
    expect(trace.faults).toEqual(['rule 1'])
    const { steps, iterations } = trace.task as { steps: Json[]; iterations: number }
    expect(iterations).toBe(made)
    expect(steps.at(-1)).toMatchObject({ kind: 'wait', faults: ['rule 1'], iteration: made + 1 })
  })

  test('lets the task continue normally when the fault is over', async () => {
    const session = await rehearsal([{ when: { calls: 1 }, fault }], ['Done.'])
    const id = await session.begin()
    await session.stuck(id)
    await session.cancel(id)
    const task = await session.ask('Again.', { task_id: id })
    expect(task.status.state).toBe('completed')
    expect(story(task).at(-1)).toBe('agent: Done.')
  })

  test('affects only the tasks that match', async () => {
    const session = await rehearsal([{ match: { agent: 'writer' }, fault }], ['Done.'])
    expect((await session.ask('Go.')).status.state).toBe('completed')
    expect(await session.rule()).toMatchObject({ matched: 0, applied: 0 })
  })
})

describe('approval-never', () => {
  const fault = { type: 'approval-never' }
  const settings = { tool_approval_required: 'all' }
  test.each(['approve', 'reject'])('accepts %s while the task keeps waiting', async (decision) => {
    const session = await rehearsal([{ when: { calls: 1 }, fault }], [[date], 'Done.'], settings)
    const { id, status } = await session.ask('Go.')
    expect(status.state).toBe('input-required')
    const decide = () => session.call('POST', `/_understudy/tasks/${id}/${decision}`, {})
    const accepted = await decide()
    expect(accepted.status).toBe(200)
    expect(strictTask.parse(accepted.body).status.state).toBe('input-required')
    expect((await session.read(id)).status.state).toBe('input-required')
    expect(await session.rule()).toMatchObject({ at: 'approval', matched: 1, applied: 1 })
    // The next one arrives.
    expect((await decide()).status).toBe(200)
    expect((await session.settled(id)).status.state).toBe('completed')
    expect((await decide()).status).toBe(409)
    expect(await session.rule()).toMatchObject({ matched: 2, applied: 1 })
  })

  test('does not take a tool result of the client for a decision', async () => {
    const first = await rehearsal([{ fault }], [[{ ...date, id: 'call_1' }], 'Done.'], settings)
    const { id } = await first.ask('Go.')
    const task = await first.ask(results(['call_1', 'today']), { task_id: id })
    expect(task.status.state).toBe('completed')
    expect(await first.rule()).toMatchObject({ matched: 0 })
  })

  test('still rejects a decision about a call that does not wait', async () => {
    const session = await rehearsal([{ fault }], [[date], 'Done.'], settings)
    const { id } = await session.ask('Go.')
    const { status } = await session.call('POST', `/_understudy/tasks/${id}/approve`, { tool_call_id: 'nope' })
    expect(status).toBe(409)
    expect(await session.rule()).toMatchObject({ matched: 0 })
  })
})

const NEVER: [Json, string][] = [
  [{ match: { tool: 'x' }, fault: { type: 'stuck-task' } }, "'tool' only applies at"],
  [{ match: { model: 'openai/x' }, fault: { type: 'stuck-task' } }, 'task iterations have no model'],
  [{ match: { text: 'hi' }, fault: { type: 'approval-never' } }, 'tool approvals have no text'],
]
test.each(NEVER)('task rule: reports why it can never be triggered: %j', (rule, words) => {
  const scenario = ScenarioFile.parse({ name: 's', rules: [{ name: 'r', ...rule }] })
  const lines = rulesWithoutEffect({ ...scenario, location: 'here' }, ['chat.completions'])
  expect(lines).toEqual([expect.stringContaining(words)])
})
