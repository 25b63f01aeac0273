// Observers of a session see tasks of agents as they see calls: begun, step by step, and saved in their last form.
import { afterAll, expect, test } from 'bun:test'
import type { Observation } from '../../src/contract/core/observation.ts'
import { agentSession, taskBody } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

/** What is observed of a session while something is done. */
async function observed(name: string, work: () => Promise<unknown>): Promise<Observation[]> {
  const seen: Observation[] = []
  const stop = app.understudy.observers.add((one) => one.session === name && seen.push(one))
  await work()
  stop()
  return seen
}
const lineOf = (one: Observation): string => {
  switch (one.type) {
    case 'call-begun':
      return `begun ${one.operation}`
    case 'task-changed':
      return `${one.task.state}: ${one.task.steps.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`
    case 'trace-saved':
      return `saved ${one.trace.operation}`
    default:
      return one.type
  }
}

test('live events: report a task from its beginning through its steps to its trace', async () => {
  const one = agentSession(app)
  await one.begin([[{ name: 'current_date' }], 'Done.'])
  await one.agent({ settings: { tools: [{ type: 'current_date' }] } })
  const seen = await observed(one.name, () => one.ask('Go.'))
  const chat = ['begun chat.completions', 'attempt-ended', 'saved chat.completions']
  expect(seen.map(lineOf)).toEqual([
    ...['begun agent.task', 'submitted: ', 'working: '],
    ...[...chat, 'working: model openai/gpt-4o', 'working: tool current_date'],
    ...[...chat, 'working: model openai/gpt-4o', 'completed: ', 'saved agent.task'],
  ])
  const [begun] = seen
  const saved = seen.at(-1)
  if (begun?.type !== 'call-begun' || saved?.type !== 'trace-saved') throw new Error('not begun or not saved')
  expect(saved.trace).toMatchObject({ id: begun.trace, task: { state: 'completed' } })
  const {
    request: _,
    rendered: __,
    response: ___,
    request_headers: ____,
    ...stored
  } = await one.ok('GET', `/_understudy/traces/${begun.trace}`)
  expect(saved.trace as unknown).toEqual(stored)
})

test('verify: sees a task that began while it waited', async () => {
  const one = agentSession(app)
  await one.begin([[{ name: 'current_date' }]])
  const tools = [{ type: 'current_date' }]
  await one.agent({ settings: { tool_approval_required: 'all', tools } })
  const report = one.ok('POST', '/_understudy/verify?wait=60s', { expect: [{ operation: 'agent.task', calls: 1 }] })
  while (!app.understudy.observers.active) await new Promise(setImmediate)
  await one.ask('Go.')
  expect((await report).expectations).toMatchObject([{ met: true }])
})

test('simultaneous continuations of a task: only the accepted one has a trace', async () => {
  const one = agentSession(app)
  await one.begin(['One.', 'Two.'])
  await one.agent()
  const { id } = await one.ask('First?')
  const more = () => one.call('POST', '/v2/agents/helper/task', taskBody('Second?', { task_id: id }))
  const seen = await observed(one.name, async () => {
    const answers = await Promise.all([more(), more(), more()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  })
  expect(seen.map(lineOf).filter((line) => line.endsWith('agent.task'))).toEqual([
    'begun agent.task',
    'saved agent.task',
  ])
  const { data } = await one.ok('GET', '/_understudy/traces')
  expect((data as Json[]).filter(({ operation }) => operation === 'agent.task')).toHaveLength(2)
  // Nobody waits for the calls that were refused.
  expect(await one.ok('GET', '/_understudy/verify')).toMatchObject({ pending: 0 })
})
