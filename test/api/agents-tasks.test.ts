// Tasks of agents over HTTP: both ways to wait, continuation, tools, approval, limits, cancel, invalid input.
import { afterAll, describe, expect, test } from 'bun:test'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { type AgentSession, agentSession, results, type StrictTask, story, taskBody } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import { strictTask } from '../support/strict/agents.ts'
import { strictError } from '../support/strict/workspace.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const session = (settings: Json = {}) => agentSession(app, settings)
const lookUp = {
  key: 'look_up',
  function: {
    name: 'look_up',
    parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  },
}
/** A session whose agent has a function of the client and the date. */
async function withTools(turns: Parameters<AgentSession['begin']>[0], fields: Json = {}, settings: Json = {}) {
  const one = session(settings)
  await one.begin(turns)
  await one.ok('POST', '/v2/tools', lookUp)
  await one.agent({ settings: { tools: [{ type: 'function', key: 'look_up' }, { type: 'current_date' }] }, ...fields })
  return one
}
const date = { name: 'current_date' }
const order = { name: 'look_up', arguments: { order: '17' } }
const callIds = ({ status }: StrictTask) =>
  (status.message?.parts ?? []).flatMap((part) => (part.kind === 'tool_call' ? [part.tool_call_id] : []))
const traceOf = async ({ ok }: AgentSession, task: StrictTask) =>
  (await ok('GET', `/_understudy/traces/${task.metadata?.trace_id}`)) as unknown as StoredTrace

describe('agent task', () => {
  test('returns its messages when the call waits for it', async () => {
    const one = session()
    await one.begin(['Hello, Ada.'])
    await one.agent()
    const task = await one.ask('Hi, I am Ada.')
    expect(story(task)).toEqual(['user: Hi, I am Ada.', 'agent: Hello, Ada.'])
    expect(task.status).toMatchObject({ state: 'completed', message: { parts: [{ text: 'Hello, Ada.' }] } })
    const trace = await traceOf(one, task)
    expect(trace).toMatchObject({ operation: 'agent.task', internal: false, outcome: 'succeeded', name: 'helper' })
    expect(trace.task).toMatchObject({
      id: task.id,
      state: 'completed',
      steps: [{ kind: 'model', name: 'openai/gpt-4o' }],
    })
    const inner = (await one.ok('GET', `/_understudy/traces/${trace.task?.steps[0]?.trace}`)) as unknown as StoredTrace
    expect(inner).toMatchObject({ parent: trace.id, internal: true, operation: 'chat.completions' })
    expect((await one.ok('GET', '/v2/agents/helper')).metrics).toEqual({ total_cost: trace.cost })
  })

  test('is submitted with a trace at once and continues when the call does not wait', async () => {
    const one = session()
    await one.begin(['Done.'])
    await one.agent()
    const { body } = await one.call('POST', '/v2/agents/helper/task', taskBody('Go.', { configuration: {} }))
    const task = strictTask.parse(body)
    expect(task).toMatchObject({ kind: 'task', status: { state: 'submitted' } })
    expect(task).not.toHaveProperty('messages')
    expect((await traceOf(one, task)).id).toBe(String(task.metadata?.trace_id))
    await one.ok('POST', '/v2/feedback', { property: 'rating', value: ['good'], trace_id: task.metadata?.trace_id })
    const polled = await one.settled(task.id)
    expect(story(polled)).toEqual(['user: Go.', 'agent: Done.'])
    expect((await one.ok('GET', '/v2/agents/helper/tasks')).data).toMatchObject([{ id: task.id }])
  })

  test('continues with its id, context and history, and is unknown to another agent', async () => {
    const one = session()
    await one.begin(['One.', 'Two.'])
    await one.agent()
    const first = await one.ask('First?')
    const second = await one.ask('Second?', { task_id: first.id })
    expect(story(second)).toEqual(['user: First?', 'agent: One.', 'user: Second?', 'agent: Two.'])
    expect(second).toMatchObject({ id: first.id, contextId: first.contextId })
    expect(second.metadata?.trace_id).not.toBe(first.metadata?.trace_id)
    await one.agent({ key: 'other' })
    for (const [agent, id] of [
      ['other', first.id],
      ['helper', 'no-task'],
    ]) {
      const { status, body } = await one.call('POST', `/v2/agents/${agent}/task`, taskBody('?', { task_id: id }))
      expect([status, strictError.parse(body).message]).toEqual([404, expect.stringContaining(String(id))])
    }
  })

  test('returns 409 when it is continued while active', async () => {
    const one = session()
    await one.begin([{ content: 'Slow.', timing: { first_token: '1m' } }])
    await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
    await one.agent()
    const { id } = await one.ok('POST', '/v2/agents/helper/task', taskBody('Go.', { configuration: {} }))
    const { status, body } = await one.call('POST', '/v2/agents/helper/task', taskBody('And?', { task_id: id }))
    expect([status, strictError.parse(body).message]).toEqual([409, expect.stringContaining(String(id))])
    const ended = strictTask.parse(await one.ok('POST', `/v2/agents/helper/tasks/${id}/cancel`))
    expect(ended.status.state).toBe('canceled')
    expect((await one.call('POST', `/v2/agents/helper/tasks/${id}/cancel`)).status).toBe(409)
    await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { resume: true })
    expect(story(await one.ask('And now?', { task_id: id }))).toEqual(['user: Go.', 'user: And now?', 'agent: Slow.'])
  })
})

describe('variables of a task', () => {
  const engines: [engine: string, text: string, expected: string][] = [
    ['text', 'I am {{name}}, {{unknown}}.', 'I am Ada, {{unknown}}.'],
    ['jinja', 'I am {{ name | upper }}.', 'I am ADA.'],
    ['mustache', '{{#name}}I am {{name}}.{{/name}}', 'I am Ada.'],
  ]
  test.each(engines)('are rendered in instructions and messages by the engine %s', async (engine, text, expected) => {
    const one = session()
    await one.begin(['Hello.'])
    await one.agent({ instructions: text, variables: { name: 'Eve' } })
    const task = await one.ask(text, { engine, variables: { name: 'Ada' } })
    const { task: shown } = await traceOf(one, task)
    const inner = (await one.ok('GET', `/_understudy/traces/${shown?.steps[0]?.trace}`)) as unknown as StoredTrace
    const [system, user] = (inner.request as { messages: { content: string }[] }).messages
    expect(system?.content).toEndWith(expected)
    expect(user?.content).toBe(expected)
    // Clients see what they have written.
    expect(story(task)[0]).toBe(`user: ${text}`)
  })

  test.each(['jinja', 'mustache'])('reject a template that %s cannot read, without creating a task', async (engine) => {
    const one = session()
    await one.begin(['Hello.'])
    await one.agent()
    const broken = engine === 'jinja' ? '{% if %}' : '{{#a}}'
    const { status, body } = await one.call('POST', '/v2/agents/helper/task', taskBody(broken, { engine }))
    expect([status, strictError.parse(body).message]).toEqual([400, expect.stringContaining('message.parts[0].text')])
    expect((await one.ok('GET', '/v2/agents/helper/tasks')).data).toEqual([])
  })
})

describe('tool call of a task', () => {
  test('runs a built-in tool and the model reads its result', async () => {
    const one = await withTools([[date], 'It is New Year.'])
    const task = await one.ask('What day is it?')
    expect(story(task)).toEqual([
      'user: What day is it?',
      'agent: current_date({})',
      expect.stringContaining('2025-01-01'),
      'agent: It is New Year.',
    ])
    const { task: shown } = await traceOf(one, task)
    expect(shown?.steps.map(({ kind, name, outcome }) => [kind, name, outcome])).toEqual([
      ['model', 'openai/gpt-4o', 'succeeded'],
      ['tool', 'current_date', 'succeeded'],
      ['model', 'openai/gpt-4o', 'succeeded'],
    ])
  })

  test("waits for the client's result beside tools that do not wait", async () => {
    const one = await withTools([[order, date], 'It is on its way.'])
    const task = await one.ask('Where is it?')
    expect(task.status.state).toBe('input-required')
    expect(task.metadata).toMatchObject({ finish_reason: 'tool_calls' })
    const [id = ''] = callIds(task)
    expect(task.status.message?.parts).toEqual([
      { kind: 'tool_call', tool_name: 'look_up', tool_call_id: id, arguments: { order: '17' } },
    ])
    const done = await one.ask(results([id, { state: 'sent' }]), { task_id: task.id })
    expect(story(done).slice(-2)).toEqual(['tool: {"state":"sent"}', 'agent: It is on its way.'])
    expect(done.status.state).toBe('completed')
    expect((await traceOf(one, done)).task?.steps.map(({ kind }) => kind)).toEqual(['tool', 'model'])
  })

  test('tells the model that there is no result when the user continues without one', async () => {
    const one = await withTools([[order], 'All right.'])
    const task = await one.ask('Where is it?')
    const done = await one.ask('Never mind.', { task_id: task.id })
    expect(story(done).slice(2)).toEqual([
      'tool: {"error":"the turn ended before there was a result"}',
      'user: Never mind.',
      'agent: All right.',
    ])
  })

  test('tells the model about an unknown tool and invalid arguments', async () => {
    const one = session()
    await one.begin([[{ name: 'fly' }], [{ name: 'current_date', arguments: '[1' as unknown as Json }], 'I cannot.'])
    await one.agent({ settings: { tools: [{ type: 'current_date' }] } })
    const task = await one.ask('Fly!')
    expect(story(task)).toEqual([
      'user: Fly!',
      expect.stringContaining('agent: fly'),
      expect.stringContaining('there is no tool \\"fly\\"; there are current_date'),
      expect.stringContaining('agent: current_date'),
      expect.stringContaining('must be a JSON object'),
      'agent: I cannot.',
    ])
  })

  test('stays distinct from another call when the model reuses an id', async () => {
    const one = await withTools([[{ ...order, id: 'call_1' }], [{ ...order, id: 'call_1' }], 'Done.'])
    const first = await one.ask('Two orders.')
    const second = await one.ask(results([callIds(first)[0] ?? '', 'a']), { task_id: first.id })
    expect(callIds(second)).toEqual(['call_1_2'])
    const done = await one.ask(results(['call_1_2', 'b']), { task_id: first.id })
    expect(done.status.state).toBe('completed')
  })
})

describe('tool approval', () => {
  const fields = (tool_approval_required: string, requires_approval: boolean) => ({
    settings: { tool_approval_required, tools: [{ type: 'current_date', requires_approval }] },
  })
  const table: [required: string, tool: boolean, waits: boolean][] = [
    ['all', false, true],
    ['respect_tool', true, true],
    ['respect_tool', false, false],
    ['none', true, false],
  ]
  test.each(table)('setting %s and tool flag %p: waits %p', async (required, tool, waits) => {
    const one = session()
    await one.begin([[date], 'Done.'])
    await one.agent(fields(required, tool))
    const task = await one.ask('Date?')
    expect(task.status.state).toBe(waits ? 'input-required' : 'completed')
    if (waits) expect(task.metadata).toMatchObject({ finish_reason: 'approval' })
  })

  const waiting = async () => {
    const one = session()
    await one.begin([[date], 'Done.'])
    await one.agent(fields('all', false))
    const task = await one.ask('Date?')
    const settled = () => one.settled(task.id)
    return { one, task, settled }
  }
  test('runs the call when it is approved', async () => {
    const { one, task, settled } = await waiting()
    expect(task.metadata?.pending_actions).toMatchObject([{ action_type: 'current_date', state: { review: null } }])
    await one.ok('POST', `/_understudy/tasks/${task.id}/approve`, {})
    const done = await settled()
    expect(story(done).slice(2)).toEqual([expect.stringContaining('2025-01-01'), 'agent: Done.'])
    expect((await one.call('POST', `/_understudy/tasks/${task.id}/approve`, {})).status).toBe(409)
  })

  test('tells the model when it is rejected', async () => {
    const { one, task, settled } = await waiting()
    await one.ok('POST', `/_understudy/tasks/${task.id}/reject`, { reason: 'Not today.' })
    expect(story(await settled()).slice(2)).toEqual([
      'tool: {"error":"the call was rejected: Not today."}',
      'agent: Done.',
    ])
  })

  test('is also decided by a tool result', async () => {
    const { one, task } = await waiting()
    const done = await one.ask(results([callIds(task)[0] ?? '', 'Monday']), { task_id: task.id })
    expect(story(done).slice(2)).toEqual(['tool: "Monday"', 'agent: Done.'])
  })

  test('is granted at once in a session that is set to do so', async () => {
    const one = session({ approvals: 'auto' })
    await one.begin([[date], 'Done.'])
    await one.agent(fields('all', true))
    expect((await one.ask('Date?')).status.state).toBe('completed')
  })
})

describe('turn of a task', () => {
  const forever = (more: Json) =>
    withTools(Array(40).fill([date]), { settings: { tools: [{ type: 'current_date' }], ...more } })
  test('ends after max_iterations and can be continued', async () => {
    const one = await forever({ max_iterations: 3 })
    const task = await one.ask('Go.')
    expect(task.status).toMatchObject({
      state: 'input-required',
      message: { parts: [{ text: expect.stringContaining('3 iterations') }] },
    })
    expect(task.metadata).toMatchObject({ finish_reason: 'max_iterations', iterations: 3 })
    expect((await one.ask('On.', { task_id: task.id })).metadata).toMatchObject({ iterations: 3 })
  })

  test('ends after max_cost', async () => {
    const one = await forever({ max_cost: 0.0000001 })
    expect((await one.ask('Go.')).metadata).toMatchObject({ finish_reason: 'max_cost', iterations: 1 })
  })

  test('ends as soon as max_cost is reached', async () => {
    const first = await forever({ max_iterations: 1 })
    await first.ask('Go.')
    const [agent] = (await first.ok('GET', '/v2/agents')).data as { metrics: { total_cost: number } }[]
    const cost = Number(agent?.metrics.total_cost)
    const iterationsOf = async (max_cost: number) =>
      (await (await forever({ max_cost })).ask('Go.')).metadata?.iterations
    expect([await iterationsOf(cost), await iterationsOf(cost * 1.001)]).toEqual([1, 2])
  })

  test("ends after max_execution_time on the session's clock, whatever is in progress", async () => {
    const one = session()
    await one.begin([[date], { content: 'Late.', timing: { first_token: '1h' } }])
    await one.agent({ settings: { max_execution_time: 90, tools: [{ type: 'current_date' }] } })
    const task = await one.ask('Go.')
    expect(task.metadata).toMatchObject({ finish_reason: 'max_time', iterations: 1 })
    const trace = await traceOf(one, task)
    expect(trace.duration_ms).toBe(90_000)
  })

  test("fails with the gateway's message when the model has no response left", async () => {
    const one = session()
    await one.begin([{ error: { status: 503, message: 'Out of capacity.' } }])
    await one.agent({ fallback_models: ['anthropic/claude-sonnet-4-5'] })
    const task = await one.ask('Go.')
    expect(task.status).toMatchObject({
      state: 'failed',
      message: { parts: [{ kind: 'error', error: expect.stringContaining('Out of capacity.') }] },
    })
    const trace = await traceOf(one, task)
    expect(trace.error?.message).toContain('Out of capacity.')
    const inner = (await one.ok('GET', `/_understudy/traces/${trace.task?.steps[0]?.trace}`)) as unknown as StoredTrace
    expect(inner.attempts.map(({ target }) => target)).toEqual(['openai/gpt-4o', 'anthropic/claude-sonnet-4-5'])
  })

  test('fails when a guardrail of every iteration blocks', async () => {
    const one = session()
    await one.begin(['Hello.'])
    const guardrails = [{ id: 'svc_pii_detection', execute_on: 'input', sample_rate: 100 }]
    await one.agent({ settings: { guardrails } })
    const task = await one.ask('Mail me: ada@example.com')
    expect(task.status.state).toBe('failed')
    expect(JSON.stringify(task.status.message)).toContain('svc_pii_detection')
  })
})

describe('invalid input for a task', () => {
  const bad: [what: string, body: Json, status: number, says: string][] = [
    ['a result of a call that was never made', taskBody(results(['nope', 1])), 400, 'was never made'],
    [
      'a result in a message of the user',
      taskBody({ role: 'user', parts: results(['x', 1]).parts }),
      400,
      "use role 'tool'",
    ],
    [
      'text in a message of a tool',
      taskBody({ role: 'tool', parts: [{ kind: 'text', text: 'x' }] }),
      400,
      'tool_result',
    ],
    [
      'a part of an unknown kind',
      taskBody({ role: 'user', parts: [{ kind: 'picture' }] }),
      400,
      'message.parts[0].kind',
    ],
    ['no parts', taskBody({ role: 'user', parts: [] }), 400, 'message.parts'],
    ["a history beyond the model's context", taskBody('word '.repeat(140_000)), 400, '128000'],
  ]
  test.each(bad)('%s is rejected, and the task is unchanged', async (_, body, status, says) => {
    const one = await withTools([[order], 'Done.'])
    const task = await one.ask('Where is it?')
    const before = await one.ok('GET', `/v2/agents/helper/tasks/${task.id}`)
    const answer = await one.call('POST', '/v2/agents/helper/task', { ...body, task_id: task.id })
    expect([answer.status, strictError.parse(answer.body).message]).toEqual([status, expect.stringContaining(says)])
    expect(await one.ok('GET', `/v2/agents/helper/tasks/${task.id}`)).toEqual(before)
  })

  test('is rejected when a result is sent twice or the task has ended', async () => {
    const one = await withTools([[order], 'Done.'])
    const task = await one.ask('Where is it?')
    const [id = ''] = callIds(task)
    const twice = await one.call(
      'POST',
      '/v2/agents/helper/task',
      taskBody(results([id, 1], [id, 2]), { task_id: task.id }),
    )
    expect([twice.status, strictError.parse(twice.body).message]).toEqual([400, expect.stringContaining('above')])
    await one.ask(results([id, 1]), { task_id: task.id })
    const late = await one.call('POST', '/v2/agents/helper/task', taskBody(results([id, 1]), { task_id: task.id }))
    expect([late.status, strictError.parse(late.body).message]).toEqual([400, expect.stringContaining('already')])
  })

  test('returns 404 for an unknown agent and 400 for an external one', async () => {
    const one = session()
    await one.begin(['Hello.'])
    expect((await one.call('POST', '/v2/agents/nobody/task', taskBody('Hi.'))).status).toBe(404)
    await one.agent({ key: 'far', type: 'a2a', a2a: { agent_url: 'https://agents.example/far' } })
    const { status, body } = await one.call('POST', '/v2/agents/far/task', taskBody('Hi.'))
    expect([status, strictError.parse(body).message]).toEqual([400, expect.stringContaining('a2a')])
  })
})
