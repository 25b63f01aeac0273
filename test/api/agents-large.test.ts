// Large agents and large tasks: long texts are rendered and counted apart from other calls, and written once.
import { afterAll, expect, test } from 'bun:test'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { endWorkers } from '../../src/workers/pool.ts'
import { agentSession, story, taskBody } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import { strictError } from '../support/strict/workspace.ts'

const app = createTestApp()
afterAll(async () => {
  await app.close()
  endWorkers()
})
const long = 'The quick brown fox jumps over the lazy dog. '.repeat(6_000)

test.each(['text', 'jinja', 'mustache'])('long task: lets other calls through while %s renders it', async (engine) => {
  const one = agentSession(app)
  await one.begin(['Done.'])
  await one.agent({ model: 'openai/gpt-4.1', instructions: 'Help {{name}}.' })
  const done: string[] = []
  const text = `${long} I am {{name}}.`
  const asked = one.ask(text, { engine, variables: { name: 'Ada' } }).finally(() => done.push('task'))
  const short = one.call('GET', '/v2/agents/helper').then(() => done.push('short'))
  const [task] = await Promise.all([asked, short])
  expect(done).toEqual(['short', 'task'])
  expect(story(task)).toEqual([`user: ${text}`, 'agent: Done.'])
  const turn = (await one.ok('GET', `/_understudy/traces/${task.metadata?.trace_id}`)) as unknown as StoredTrace
  const inner = (await one.ok('GET', `/_understudy/traces/${turn.task?.steps[0]?.trace}`)) as unknown as StoredTrace
  const [system, user] = (inner.request as { messages: { content: string }[] }).messages
  expect([system?.content.slice(-9), user?.content.slice(-11)]).toEqual(['Help Ada.', ' I am Ada.'.padStart(11)])
})

test('long template: is rejected by name when it is invalid', async () => {
  const one = agentSession(app)
  await one.begin(['Done.'])
  await one.agent({ model: 'openai/gpt-4.1' })
  const parts = ['fine', `${long}{% if %}`].map((text) => ({ kind: 'text', text }))
  const body = taskBody({ role: 'user', parts }, { engine: 'jinja' })
  const answer = await one.call('POST', '/v2/agents/helper/task', body)
  expect([answer.status, strictError.parse(answer.body).message]).toEqual([
    400,
    expect.stringContaining('message.parts[1].text'),
  ])
})

test("agent step: does not rewrite the agent's definition", async () => {
  const one = agentSession(app)
  await one.begin([...Array(5).fill([{ name: 'current_date' }]), 'Done.'])
  await one.agent({ instructions: 'Be kind. '.repeat(10_000), settings: { tools: [{ type: 'current_date' }] } })
  const { records } = app.understudy.sessions.get(one.name)
  const { update } = records
  let [large, times] = [0, 0]
  records.update = (id, change) => {
    times++
    if (JSON.stringify(change).length > 10_000) large++
    update(id, change)
  }
  const { id } = await one.ask('Go.', { configuration: { blocking: true }, variables: { text: long } })
  expect(times).toBeGreaterThan(10)
  // Its agent is charged once, when the turn has ended.
  expect(large).toBe(1)
  // What it is now is what the next turn works with.
  await one.ok('PATCH', '/v2/agents/helper', { instructions: 'Be short.' })
  const task = await one.ask('And now?', { task_id: id })
  const turn = (await one.ok('GET', `/_understudy/traces/${task.metadata?.trace_id}`)) as unknown as StoredTrace
  const inner = (await one.ok('GET', `/_understudy/traces/${turn.task?.steps[0]?.trace}`)) as unknown as StoredTrace
  expect(JSON.stringify((inner.request as { messages: unknown[] }).messages[0])).toContain('Be short.')
})
