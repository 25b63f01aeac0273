// An agent run in one call, and tasks as responses, as strict clients read them.

import { afterAll, expect, test } from 'bun:test'
import { z } from 'zod'
import { createTestApp } from '../support/app.ts'
import { strictTask } from '../support/strict/agents.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const { call, ok } = workspaceOf(app)

const message = { role: 'user', parts: [{ kind: 'text', text: 'Which day is it?' }] }
const agent = {
  key: 'clock',
  role: 'Clock',
  description: 'Tells the date.',
  instructions: 'Tell it.',
  path: 'Default',
  model: 'openai/gpt-4o',
  settings: {},
}
const strictResponse = z.looseObject({
  _id: z.string(),
  task_id: z.string(),
  created_at: z.string(),
  model: z.string(),
  output: z.array(
    z.looseObject({ messageId: z.string(), role: z.literal('agent'), parts: z.array(z.looseObject({})) }),
  ),
  usage: z.looseObject({}).nullish(),
  finish_reason: z.string().optional(),
  pending_tool_calls: z.array(z.looseObject({})).optional(),
  status: z.enum(['in_progress', 'completed', 'failed']),
})

test('agent run: creates or updates the agent and returns the task', async () => {
  strictTask.parse(await ok('POST', '/v2/agents/run', { ...agent, message }))
  const waiting = { ...agent, message, configuration: { blocking: true } }
  const task = strictTask.parse(await ok('POST', '/v2/agents/run', waiting))
  expect(task).toMatchObject({ status: { state: 'completed' } })
  expect(await ok('GET', '/v2/agents/clock')).toMatchObject({ version: '1.0.0' })
  await ok('POST', '/v2/agents/run', { ...waiting, role: 'Calendar' })
  expect(await ok('GET', '/v2/agents/clock')).toMatchObject({ version: '1.0.1', role: 'Calendar' })
  for (const field of ['key', 'model', 'role', 'instructions', 'message', 'path', 'settings']) {
    const { [field]: _, ...rest } = waiting as Json
    const { status, body } = await call('POST', '/v2/agents/run', rest)
    expect([status, (body.error as Json).param]).toEqual([400, field])
  }
})

test('agent run: stores no agent if its task cannot be submitted', async () => {
  const result = { kind: 'tool_result', tool_call_id: 'call_1', result: '1' }
  for (const [more, param] of [
    [{ message: { role: 'tool', parts: [result] } }, 'message.role'],
    [{ message, type: 'a2a', a2a: { agent_url: 'https://agents.example/far' } }, 'key'],
  ] as const) {
    const { status, body } = await call('POST', '/v2/agents/run', { ...agent, key: 'never', ...more })
    expect([status, (body.error as Json).param]).toEqual([400, param])
    expect((await call('GET', '/v2/agents/never')).status).toBe(404)
  }
})

test("agent response: contains the agent's text, and one in the background is read later", async () => {
  const at = '/v2/agents/clock/responses'
  const made = strictResponse.parse(await ok('POST', at, { message, background: false, stream: false }))
  expect(made).toMatchObject({ status: 'completed', model: 'openai/gpt-4o', finish_reason: 'stop' })
  expect(made.output).toHaveLength(1)
  expect(strictResponse.parse(await ok('GET', `${at}/${made.task_id}`))).toEqual(made)
  const later = strictResponse.parse(await ok('POST', at, { message, background: true, conversation: { id: 'talk' } }))
  expect(later).toMatchObject({ status: 'in_progress', output: [] })
  const task = await ok('GET', `/v2/agents/clock/tasks/${later.task_id}`)
  expect(task.contextId).toBe('talk')
})

test('agent run: rejects streaming, an unknown agent, an unknown task and a task of another agent', async () => {
  const refused = async (method: string, path: string, body?: Json) => {
    const answer = await call(method, path, body)
    return [answer.status, (answer.body.error as Json).param]
  }
  await ok('POST', '/v2/agents', { ...agent, key: 'other' })
  const made = await ok('POST', '/v2/agents/clock/responses', { message })
  expect(await refused('POST', '/v2/agents/clock/responses', { message, stream: true })).toEqual([400, 'stream'])
  expect(await refused('POST', '/v2/agents/nobody/responses', { message })).toEqual([404, 'key'])
  for (const path of [`other/responses/${made.task_id}`, 'clock/responses/nothing'])
    expect(await refused('GET', `/v2/agents/${path}`)).toEqual([404, 'task_id'])
})
