// The verdict on tasks of agents: their number, their final states, and whether their client has read them. No client that has is
// reported.
import { afterAll, describe, expect } from 'bun:test'
import fc from 'fast-check'
import { reportLines } from '../../src/cli/print/report.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { agentSession, results, taskBody } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import { plainLines } from '../support/cli.ts'
import { property, runs, test } from '../support/property.ts'
import {
  COMPLIANT,
  ENDINGS,
  quiet,
  stateOf,
  submitted,
  taskSession,
  turn,
  VIOLATING,
  verdict,
} from '../support/task-clients.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

const gaveUp = ({ findings }: Verification) =>
  findings.map(({ kind, severity, message, count }) => ({ kind, severity, message, count }))

describe.each(Object.keys(COMPLIANT))('task client that %s', (manner) => {
  property('is not reported, however its tasks end', async () => {
    const one = await taskSession(app)
    await Promise.all(ENDINGS.map((ending) => COMPLIANT[manner]?.(one, ending)))
    expect((await quiet(one)).findings).toEqual([])
    for (const end of ['well', 'badly', 'stopped']) expect((await verdict(one, `?ended=${end}`)).findings).toEqual([])
  })
})

describe.each(Object.keys(VIOLATING))('violating task client that %s', (manner) => {
  test.each(ENDINGS)('is reported for a task that is %s', async (ending) => {
    const one = await taskSession(app)
    await VIOLATING[manner]?.(one, ending)
    const found = await quiet(one)
    const [finding] = found.findings
    const kind = { kind: 'gave-up', operation: 'agent.task', count: 1 }
    expect(found.findings).toMatchObject([{ ...kind, severity: 'error', figures: { tasks: 1 } }])
    expect(finding?.message).toStartWith(`the final status (${stateOf(ending)}) of a task was never fetched; `)
    expect(found.ok).toBe(false)
    const trace = await one.ok('GET', '/_understudy/traces?limit=200')
    const own = (trace.data as Json[]).find(({ id }) => id === finding?.traces[0])
    expect(own).toMatchObject({ operation: 'agent.task' })
    // Who was stopped may have been about to read it; who complained may have failed before.
    expect((await verdict(one, '?ended=stopped')).findings).toEqual([])
    expect((await verdict(one, '?ended=badly')).findings).toMatchObject([{ ...kind, severity: 'warning' }])
    expect((await verdict(one, '?ended=well')).ok).toBe(false)
  })
})

property(
  'property: any mix of task clients is reported for exactly the tasks given up',
  async () => {
    const client = fc.record({
      ending: fc.constantFrom(...ENDINGS),
      manner: fc.constantFrom(...Object.keys(COMPLIANT), ...Object.keys(VIOLATING)),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(client, { minLength: 1, maxLength: 8 }), async (clients) => {
        const one = await taskSession(app)
        await Promise.all(clients.map(({ ending, manner }) => ({ ...COMPLIANT, ...VIOLATING })[manner]?.(one, ending)))
        const expected: Record<string, number> = {}
        for (const { ending, manner } of clients) {
          // A list shows the tasks of others too.
          const listed = clients.some((other) => other.manner === 'reads the list' && other.ending === ending)
          if (manner in VIOLATING && !listed) expected[stateOf(ending)] = (expected[stateOf(ending)] ?? 0) + 1
        }
        const { findings } = await quiet(one)
        const sure = findings.map(({ message, count }) => [/\((.*)\)/.exec(message)?.[1] ?? '', count] as const)
        for (const [state, count] of sure) expect(count).toBeLessThanOrEqual(countOf(clients, state))
        for (const [state, count] of Object.entries(expected))
          expect(Object.fromEntries(sure)[state] ?? 0).toBeGreaterThanOrEqual(count)
        await one.call('DELETE', `/_understudy/sessions/${one.name}`)
      }),
      { numRuns: runs(12) },
    )
  },
  60_000,
)

const countOf = (clients: readonly { ending: string; manner: string }[], state: string) =>
  clients.filter(({ ending, manner }) => manner in VIOLATING && stateOf(ending) === state).length

describe('task that never ends', () => {
  const begin = async () => {
    const one = await taskSession(app)
    const rules = [{ name: 'stuck', fault: { type: 'stuck-task' } }]
    await one.ok('PUT', '/_understudy/scenario', {
      name: 'stuck',
      clock: 'virtual',
      rules,
      expect: [{ at: 'gateway', rule: 'stuck' }],
    })
    const id = await submitted(one, 'completed')
    const path = `/v2/agents/completed/tasks/${id}`
    // The fault has acted, though the task has no end.
    const met = async () => (await verdict(one)).expectations[0]?.met
    while (!(await met())) await turn()
    return { one, path }
  }

  test('is given up by a client that polls and exits with 0, and not before its exit', async () => {
    const { one, path } = await begin()
    for (const _ of [1, 2, 3]) await one.ok('GET', path)
    const before = await verdict(one)
    expect(before.findings).toEqual([])
    expect(before.notices).toContain('1 task is still running: gave-up is not reported for it yet')
    expect(before.tasks.states).toEqual({ working: 1 })
    const after = await verdict(one, '?ended=well')
    expect(gaveUp(after)).toEqual([
      {
        kind: 'gave-up',
        severity: 'error',
        message:
          'a task is still running, and the client neither waited for it nor canceled it; polled 3 times while running',
        count: 1,
      },
    ])
    expect(after.expectations).toMatchObject([{ met: true }])
    expect((await verdict(one, '?ended=stopped')).findings).toEqual([])
    await one.ok('POST', `${path}/cancel`)
    const canceled = await verdict(one, '?ended=well')
    expect({ findings: canceled.findings, ok: canceled.ok, tasks: canceled.tasks.states }).toEqual({
      findings: [],
      ok: true,
      tasks: { canceled: 1 },
    })
  })

  test('is not given up when it was removed', async () => {
    const { one } = await begin()
    await one.call('DELETE', '/v2/agents/completed')
    const { findings, tasks } = await verdict(one, '?ended=well')
    expect({ findings, states: tasks.states }).toEqual({ findings: [], states: { gone: 1 } })
  })
})

test('task approval: counts as read for a client that saw it pending, even if another approves later', async () => {
  const one = await taskSession(app)
  const { id } = await one.ask('Go.', {}, 'approving')
  await one.ok('POST', `/_understudy/tasks/${id}/approve`, {})
  expect((await quiet(one)).findings).toEqual([])
  const unread = await submitted(one, 'approving')
  await quiet(one)
  await one.ok('POST', `/_understudy/tasks/${unread}/approve`, {})
  expect((await quiet(one)).findings).toMatchObject([{ kind: 'gave-up', count: 1 }])
  await one.settled(unread, 'approving')
  expect((await verdict(one, '?ended=well')).findings).toEqual([])
})

describe('team of a task', () => {
  const hand = { name: 'call_sub_agent', arguments: { agent: 'member', message: 'Find it.' } }
  const team = async () => {
    const one = agentSession(app)
    const says = (name: string, more: Json, reply: Json) => ({
      name: `${name} ${JSON.stringify(more)}`,
      match: { operation: 'chat.completions', body: { name }, ...more },
      reply,
    })
    await one.begin(
      ['Done.'],
      [
        says('lead', { tool_result: true }, { content: 'Done.' }),
        says('lead', {}, { tool_calls: [hand] }),
        says('member', { tool_result: true }, { content: 'Found.' }),
        says('member', {}, { tool_calls: [{ name: 'look_up', id: 'call_1' }] }),
      ],
    )
    await one.ok('POST', '/v2/tools', { key: 'look_up', function: { name: 'look_up' } })
    await one.agent({ key: 'member', settings: { tools: [{ type: 'function', key: 'look_up' }] } })
    const tools = [{ type: 'retrieve_agents' }, { type: 'call_sub_agent' }]
    await one.agent({ key: 'lead', team_of_agents: [{ key: 'member' }], settings: { tools } })
    return one
  }

  test('is counted separately and need not be read', async () => {
    const one = await team()
    const task = await one.ask('Go.', {}, 'lead')
    expect(task.metadata?.finish_reason).toBe('sub_task')
    const [child] = (task.metadata as Json).waits_for as string[]
    const body = taskBody(results(['call_1', 'here']), { task_id: child })
    await one.ok('POST', '/v2/agents/member/task', { ...body, configuration: {} })
    const found = await quiet(one)
    expect(found.findings).toEqual([])
    expect(found.tasks).toEqual({ states: { completed: 1 }, running: 0, iterations: 4, tool_calls: 2, sub_tasks: 1 })
    const line = plainLines(reportLines(found)).find((text) => text.includes('tasks'))
    expect(line).toContain('completed 1; 4 iterations, 2 tool calls, 1 sub-task')
  })

  const EXPECTED: [Json, boolean, string][] = [
    [{ tasks: 1 }, true, '1 task'],
    [{ tasks: 1, state: 'completed', agent: 'lead' }, true, '1 task: agent lead, state completed'],
    [{ tasks: '1+', agent: 'member' }, false, 'at least 1 task: agent member'],
    [{ sub_tasks: '1-2', agent: 'mem*' }, true, '1 to 2 sub-tasks: agent mem*'],
    [{ sub_tasks: 0 }, false, '0 sub-tasks'],
    [{ iterations: '1-3' }, false, '1 to 3 iterations'],
    [{ iterations: 2, agent: 'lead' }, true, '2 iterations: agent lead'],
    [{ tool_calls: 1, tool: 'look_up' }, true, '1 tool call: tool look_up'],
    [{ tool_calls: 0, state: 'failed' }, true, '0 tool calls: state failed'],
  ]
  test('is judged by expectations', async () => {
    const one = await team()
    const task = await one.ask('Go.', {}, 'lead')
    const [child] = (task.metadata as Json).waits_for as string[]
    await one.ask(results(['call_1', 'here']), { task_id: child }, 'member')
    await quiet(one)
    const report = await one.ok('POST', '/_understudy/verify', { expect: EXPECTED.map(([expected]) => expected) })
    const { expectations } = report as unknown as Verification
    expect(expectations.map(({ expected, met }) => [met, expected])).toEqual(
      EXPECTED.map(([, met, text]) => [met, text]),
    )
  })

  const WRONG: [Json, string][] = [
    [{ tasks: 1, iterations: 2 }, "'expect[0].tasks' cannot be combined with 'iterations'"],
    [{ agent: 'x' }, "'expect[0].agent' can only be combined with 'tasks', 'iterations', 'tool_calls', 'sub_tasks'"],
    [{ tool: 'x', attempts: 1 }, "'expect[0].tool' can only be combined with 'tool_calls'"],
    [{ tasks: 1, tool: 'x' }, "'expect[0].tool' cannot be combined with 'tasks'; valid: 'agent', 'state'"],
    [
      { tool_calls: 1, provider: 'openai' },
      "'expect[0].provider' cannot be combined with 'tool_calls'; valid: 'agent', 'state', 'tool'",
    ],
    [{ tasks: 1, state: 'done' }, "'expect[0].state' must be one of"],
  ]
  test.each(WRONG)('rejects the expectation %j', async (expectation, words) => {
    const { status, body } = await agentSession(app).call('POST', '/_understudy/verify', { expect: [expectation] })
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain(words)
  })
})

test('task counts: include a waiting task that was canceled as canceled', async () => {
  const one = await taskSession(app)
  const { id } = await one.ask('Go.', {}, 'asking')
  await one.ok('POST', `/v2/agents/asking/tasks/${id}/cancel`)
  expect((await verdict(one)).tasks).toEqual({
    states: { canceled: 1 },
    running: 0,
    iterations: 1,
    tool_calls: 1,
    sub_tasks: 0,
  })
})

test('verify: waits for a running task', async () => {
  const one = await taskSession(app)
  await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
  await one.ok('PUT', '/_understudy/fixtures', [
    {
      name: 'slow',
      match: { operation: 'chat.completions' },
      reply: { content: 'Late.', timing: { first_token: '1m' } },
    },
  ])
  const streaming = one.app.post('/v2/agents/completed/stream-task', taskBody('Go.'), one.headers)
  const working = async () => (await verdict(one)).tasks.states.working === 1
  while (!(await working())) await turn()
  const waiting = verdict(one, '?wait=60s')
  await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { resume: true })
  await streaming
  const { tasks, ok } = await waiting
  expect({ states: tasks.states, ok }).toEqual({ states: { completed: 1 }, ok: true })
})

test('budget of a task: has the tokens and the cost of the model calls that its agent made', async () => {
  const one = agentSession(app)
  await one.begin([[{ name: 'current_date', arguments: {} }], 'Done.'])
  await one.agent({ settings: { tools: [{ type: 'current_date' }] } })
  await one.ask('Go.')
  const expected = [{ calls: 1 }, { tokens: '1+' }, { tokens: '1+', model: 'gpt-4o', operation: 'chat.completions' }]
  const { expectations } = (await one.ok('POST', '/_understudy/verify', {
    expect: [...expected, { cost: '0.0000001+' }, { cost: 0 }],
  })) as unknown as Verification
  expect(expectations.map(({ met }) => met)).toEqual([true, true, true, true, false])
  expect(expectations[1]?.actual).toBe(expectations[2]?.actual ?? '')
})
