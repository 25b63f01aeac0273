// A task as a stream: its events in order, each in the form that clients read, up to the end mark.
import { afterAll, expect, test } from 'bun:test'
import { agentSession, results, story, taskBody } from '../support/agents.ts'
import { createTestApp, eventsOf } from '../support/app.ts'
import { strictStreamEvent } from '../support/strict/agent-stream.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

/** The events of a task that is streamed. */
async function streamed(
  settings: Json,
  turns: Parameters<ReturnType<typeof agentSession>['begin']>[0],
  more: Json = {},
) {
  const one = agentSession(app)
  await one.begin(turns)
  await one.ok('POST', '/v2/tools', { key: 'look_up', function: { name: 'look_up' } })
  await one.agent({ settings })
  return { one, ...(await follow(one, taskBody('Go.', more))) }
}

/** The events of one call. */
async function follow(one: ReturnType<typeof agentSession>, body: Json) {
  const answer = await app.post('/v2/agents/helper/stream-task', body, one.headers)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/event-stream'),
  ])
  const events = eventsOf(answer.text)
  expect(events.pop()).toBe('[DONE]')
  return {
    events: events.map((event) => strictStreamEvent.parse(event)),
    trace: answer.headers.get('x-understudy-trace'),
  }
}

test('agent stream: reports every step of the turn to its end', async () => {
  const { events, trace } = await streamed({ tools: [{ type: 'current_date' }] }, [[{ name: 'current_date' }], 'Done.'])
  expect(events.map(({ type }) => type)).toEqual([
    'agents.execution_started',
    'event.agents.started',
    'event.agents.thought',
    'event.workflow_events.tool_execution_started',
    'event.workflow_events.tool_execution_finished',
    'event.agents.message-created',
    'event.agents.thought',
    'event.agents.inactive',
  ])
  expect(events[0]?.data).toMatchObject({ agent_task_id: expect.any(String), trace_id: trace })
  expect(events[1]?.data).toMatchObject({
    modelId: 'openai/gpt-4o',
    inputMessage: { role: 'user', parts: [{ text: 'Go.' }] },
  })
  expect(events[2]?.data).toMatchObject({ iteration: 1, choice: { finish_reason: 'tool_calls' } })
  expect(events.at(-1)?.data).toMatchObject({ last_message: 'Done.', finish_reason: 'stop' })
})

test('agent stream: reports the error that failed the turn', async () => {
  const { events } = await streamed({}, [{ error: { status: 503, message: 'Out of capacity.' } }])
  expect(events.at(-1)).toMatchObject({
    type: 'event.agents.errored',
    data: { error: expect.stringContaining('Out of capacity.'), code: 503 },
  })
})

test('agent stream: reports what the turn waits for and continues', async () => {
  const tools = [{ type: 'function', key: 'look_up' }]
  const { one, events } = await streamed({ tools }, [[{ name: 'look_up', arguments: { order: '17' } }], 'Sent.'])
  const last = events.at(-1)?.data as Json
  expect(last).toMatchObject({
    finish_reason: 'function_call',
    reason: 'tool_calls',
    pending_tool_calls: [{ function: { name: 'look_up', arguments: '{"order":"17"}' } }],
  })
  const [call] = last.pending_tool_calls as { id: string }[]
  const { events: more } = await follow(one, {
    message: results([call?.id ?? '', 'sent']),
    task_id: String(last.workflowRunId),
  })
  expect(more[1]?.data).toMatchObject({ inputMessage: { role: 'tool' }, is_continuation: true })
  expect(more.at(-1)?.data).toMatchObject({ last_message: 'Sent.', finish_reason: 'stop' })
})

test("agent stream: ends at the client's timeout on the session's clock while the task continues", async () => {
  const slow = { content: 'Late.', timing: { first_token: '1m' } }
  const { one, events } = await streamed({}, [slow], { stream_timeout_seconds: 20 })
  expect(events.map(({ type }) => type).slice(-1)).toEqual(['agents.timeout'])
  expect(events.at(-1)?.data.message).toContain('20 s')
  await app.understudy.sessions.get(one.name).clock.sleep(60_000)
  const task = await one.settled(String(events[0]?.data.agent_task_id))
  expect(story(task)).toEqual(['user: Go.', 'agent: Late.'])
  for (const seconds of [0, 3601, 1.5]) {
    const body = taskBody('Go.', { stream_timeout_seconds: seconds })
    expect((await one.call('POST', '/v2/agents/helper/stream-task', body)).status).toBe(400)
  }
})

test('agent stream: ends with its session, as does a waiting call', async () => {
  const one = agentSession(app)
  await one.begin([{ content: 'Late.', timing: { first_token: '1m' } }])
  await one.agent()
  await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
  const waiting = one.call('POST', '/v2/agents/helper/task', taskBody('Wait.'))
  const stream = app.post('/v2/agents/helper/stream-task', taskBody('Go.'), one.headers)
  while (((await one.ok('GET', '/v2/agents/helper/tasks')).data as Json[]).length < 2) await new Promise(setImmediate)
  await one.ok('POST', '/_understudy/reset')
  const events = eventsOf((await stream).text) as { type: string }[]
  expect(events.at(-1)).toMatchObject({
    type: 'agents.error',
    data: { error: expect.any(String), code: expect.any(String) },
  })
  expect(await waiting).toMatchObject({ status: 409 })
})

test('agent stream: reports a call that needs approval', async () => {
  const settings = { tool_approval_required: 'all', tools: [{ type: 'current_date' }] }
  const { events } = await streamed(settings, [[{ name: 'current_date' }]])
  expect(events.slice(-2).map(({ type }) => type)).toEqual([
    'event.agents.action_review_requested',
    'event.agents.inactive',
  ])
})
