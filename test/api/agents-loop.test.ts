// The loop of an agent: the journal of any mix of turns equals that of a small model of it, teams work for each other, and everything is
// reproducible.
import { afterAll, describe, expect } from 'bun:test'
import fc from 'fast-check'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { type AgentSession, agentSession, type ModelTurn, results, type StrictTask, story } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import { property, runs, test } from '../support/property.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

/** What the model does in one iteration: calls of tools, an answer, or an error. */
type Move = 'text' | 'error' | ('date' | 'client' | 'nothing')[]
/** How the client goes on when a turn is over. */
type Reaction = 'results' | 'user'
const NAMES = { date: 'current_date', client: 'look_up', nothing: 'no_such_tool' } as const
const turnOf = (move: Move): ModelTurn =>
  move === 'text'
    ? 'Done.'
    : move === 'error'
      ? { error: { status: 400, message: 'No.' } }
      : move.map((kind) => ({ name: NAMES[kind] }))

const MAX_COUNT = 3
/** The reference: which steps a task takes, and the states in which its turns end. */
function reference(moves: readonly Move[], reactions: readonly Reaction[]): { journal: string[]; states: string[] } {
  const journal: string[] = []
  const states: string[] = []
  let [at, used, open] = [0, 0, 0]
  for (const reaction of ['user', ...reactions] as Reaction[]) {
    const answers = reaction === 'results' && open > 0
    for (; open > 0; open--) journal.push(answers ? 'tool look_up succeeded' : 'tool look_up failed')
    if (!answers) used = 0
    for (let state = ''; state === ''; ) {
      if (used === MAX_COUNT) state = 'input-required'
      else {
        const move = moves[Math.min(at++, moves.length - 1)] ?? 'text'
        used++
        journal.push(`model openai/gpt-4o ${move === 'error' ? 'failed' : 'succeeded'}`)
        if (move === 'error') state = 'failed'
        else if (move === 'text') state = 'completed'
        else {
          for (const kind of move)
            if (kind !== 'client') journal.push(`tool ${NAMES[kind]} ${kind === 'date' ? 'succeeded' : 'failed'}`)
          open = move.filter((kind) => kind === 'client').length
          for (let wait = 0; wait < open; wait++) journal.push('wait look_up waiting')
          if (open > 0) state = 'input-required'
        }
      }
      if (state) states.push(state)
    }
  }
  return { journal, states }
}

const openIds = ({ status }: StrictTask) =>
  (status.message?.parts ?? []).flatMap((part) => (part.kind === 'tool_call' ? [part.tool_call_id] : []))

property(
  'property: any mix of calls, errors and continuations takes the same steps as the reference and ends in the same states',
  async () => {
    const move = fc.oneof(
      { weight: 2, arbitrary: fc.constant<Move>('text') },
      { weight: 1, arbitrary: fc.constant<Move>('error') },
      { weight: 3, arbitrary: fc.array(fc.constantFrom('date', 'client', 'nothing'), { minLength: 1, maxLength: 3 }) },
    )
    const reaction = fc.constantFrom<Reaction>('results', 'user')
    const moves = fc.array(move as fc.Arbitrary<Move>, { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(moves, fc.array(reaction, { maxLength: 3 }), async (script, reactions) => {
        const one = agentSession(app)
        await one.begin(script.map(turnOf))
        await one.ok('POST', '/v2/tools', { key: 'look_up', function: { name: 'look_up' } })
        const tools = [{ type: 'current_date' }, { type: 'function', key: 'look_up' }]
        await one.agent({ settings: { tools, max_iterations: MAX_COUNT } })
        const tasks = [await one.ask('Go.')]
        for (const how of reactions) {
          const last = tasks.at(-1) as StrictTask
          const open = openIds(last)
          const message =
            how === 'results' && open.length > 0 ? results(...open.map((id): [string, string] => [id, 'ok'])) : 'On.'
          tasks.push(await one.ask(message, { task_id: last.id }))
        }
        const traces = await Promise.all(tasks.map((task) => traceOf(one, task)))
        const expected = reference(script, reactions)
        expect({
          states: tasks.map(({ status }) => status.state as string),
          journal: traces
            .flatMap(({ task }) => task?.steps ?? [])
            .map(({ kind, name, outcome }) => `${kind} ${name} ${outcome}`),
        }).toEqual(expected)
        await one.call('DELETE', `/_understudy/sessions/${one.name}`)
      }),
      { numRuns: runs(40) },
    )
  },
  60_000,
)

const traceOf = async ({ ok }: AgentSession, { metadata }: StrictTask) =>
  (await ok('GET', `/_understudy/traces/${metadata?.trace_id}`)) as unknown as StoredTrace
const hand = (message: string, agent = 'member') => ({ name: 'call_sub_agent', arguments: { agent, message } })
const asks = (key: string, user: string, reply: Json): Json => ({
  name: `${key}: ${user}`,
  match: { operation: 'chat.completions', body: { name: key }, user, tool_result: false },
  reply,
})
const teamTools = [{ type: 'retrieve_agents' }, { type: 'call_sub_agent' }]

describe('team of agents', () => {
  const team = async (member: Json, fixtures: Json[]) => {
    const one = agentSession(app)
    await one.begin(['All done.'], fixtures)
    await one.ok('POST', '/v2/tools', { key: 'look_up', function: { name: 'look_up' } })
    await one.agent({ key: 'member', ...member })
    await one.agent({ key: 'lead', team_of_agents: [{ key: 'member' }], settings: { tools: teamTools } })
    return one
  }
  const delegates = asks('lead', 'Go.', { tool_calls: [hand('Find it.')] })

  test('works in tasks of its own, shown as a tree in the trace', async () => {
    const one = await team({}, [delegates, asks('member', 'Find it.', { content: 'Found.' })])
    const task = await one.ask('Go.', {}, 'lead')
    expect(story(task).at(-1)).toBe('agent: All done.')
    const trace = await traceOf(one, task)
    const step = trace.task?.steps[1]
    expect(step).toMatchObject({ kind: 'task', name: 'member', outcome: 'succeeded' })
    const child = (await one.ok('GET', `/v2/agents/member/tasks/${step?.task}`)) as unknown as StrictTask
    expect(child).toMatchObject({ contextId: task.contextId, metadata: { parent_task_id: task.id } })
    const inner = (await one.ok('GET', `/_understudy/traces/${step?.trace}`)) as unknown as StoredTrace
    expect(inner).toMatchObject({ parent: trace.id, internal: true, task: { parent: task.id, state: 'completed' } })
    expect(story(task)[2]).toContain('"answer":"Found."')
  })

  test('waits with a member whose client must act, and continues with it', async () => {
    const member = { settings: { tools: [{ type: 'function', key: 'look_up' }] } }
    const one = await team(member, [delegates, asks('member', 'Find it.', { tool_calls: [{ name: 'look_up' }] })])
    const task = await one.ask('Go.', {}, 'lead')
    expect([task.status.state, task.metadata?.finish_reason]).toEqual(['input-required', 'sub_task'])
    const [childId] = [task.metadata?.waits_for].flat()
    const child = (await one.ok('GET', `/v2/agents/member/tasks/${childId}`)) as unknown as StrictTask
    await one.ask(results([openIds(child)[0] ?? '', 'here']), { task_id: child.id }, 'member')
    const done = await one.settled(task.id, 'lead')
    expect([done.status.state, story(done).at(-1)]).toEqual(['completed', 'agent: All done.'])
  })

  test('is canceled while it waits when its parent task is canceled', async () => {
    const member = { settings: { tools: [{ type: 'function', key: 'look_up' }] } }
    const one = await team(member, [delegates, asks('member', 'Find it.', { tool_calls: [{ name: 'look_up' }] })])
    const { id, metadata } = await one.ask('Go.', {}, 'lead')
    await one.ok('POST', `/v2/agents/lead/tasks/${id}/cancel`)
    const [child] = [metadata?.waits_for].flat()
    const { status } = (await one.ok('GET', `/v2/agents/member/tasks/${child}`)) as unknown as StrictTask
    expect(status.state).toBe('canceled')
  })

  test('stops with a message when it calls itself in a circle', async () => {
    const one = agentSession(app)
    await one.begin([[hand('Again.', 'lead')]])
    await one.agent({ key: 'lead', settings: { tools: teamTools, max_iterations: 4 } })
    await one.ok('PATCH', '/v2/agents/lead', { team_of_agents: [{ key: 'lead' }] })
    const tasks = async () => (await one.ok('GET', '/v2/agents/lead/tasks?limit=200')).data as Json[]
    const task = await one.ask('Go.', {}, 'lead')
    expect(task.metadata).toMatchObject({ finish_reason: 'max_iterations' })
    expect((await tasks()).length).toBe(21)
    expect(JSON.stringify(await tasks())).not.toContain('"working"')
    // Whoever speaks again may have as many again.
    await one.ask('Again.', { task_id: task.id }, 'lead')
    expect((await tasks()).length).toBe(41)
  }, 60_000)

  test('stops with a message after the maximum number of model calls', async () => {
    const one = agentSession(app)
    await one.begin([[hand('Again.', 'lead')]])
    await one.agent({ key: 'lead', settings: { tools: teamTools } })
    await one.ok('PATCH', '/v2/agents/lead', { team_of_agents: [{ key: 'lead' }] })
    const { id, metadata } = await one.ask('Go.', {}, 'lead')
    expect(metadata).toMatchObject({ finish_reason: 'max_iterations' })
    const { data } = (await one.ok('GET', '/v2/agents/lead/tasks?limit=200')) as unknown as { data: StrictTask[] }
    const team = data.filter((task) => task.id !== id)
    expect(team.reduce((sum, task) => sum + Number(task.metadata?.iterations), 0)).toBe(200)
    const ended = team.filter((task) => task.metadata?.finish_reason === 'max_team_calls')
    expect(ended.length).toBeGreaterThan(0)
    for (const { status } of ended)
      expect(status).toMatchObject({
        state: 'input-required',
        message: {
          parts: [{ text: 'Stopped since the team has made 200 model calls for one task, as many as it may.' }],
        },
      })
    const [trace] = data.filter((task) => task.id === id).map((task) => traceOf(one, task))
    const errors = ((await trace)?.task?.steps ?? []).flatMap(({ error }) => (error === null ? [] : [error]))
    expect(errors.at(-1)).toBe('the team has made 200 model calls for one task, as many as it may')
  }, 60_000)

  test('is canceled while it works when its parent task is canceled', async () => {
    const one = await team({}, [
      delegates,
      asks('member', 'Find it.', { content: 'Late.', timing: { first_token: '1m' } }),
    ])
    await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
    const body = { message: { role: 'user', parts: [{ kind: 'text', text: 'Go.' }] } }
    const { id } = await one.ok('POST', '/v2/agents/lead/task', body)
    let children: Json[] = []
    while (children.length === 0) {
      await new Promise((resolve) => setImmediate(resolve))
      children = (await one.ok('GET', '/v2/agents/member/tasks')).data as Json[]
    }
    await one.ok('POST', `/v2/agents/lead/tasks/${id}/cancel`)
    expect((await one.settled(String(children[0]?.id), 'member')).status.state).toBe('canceled')
  })
})

test('reproducibility: same seed and calls give the same ids, messages and traces, even with parallel tasks', async () => {
  const play = async () => {
    const other = createTestApp()
    const one = agentSession(other, { seed: 7 }, 'same')
    await one.begin(
      ['All done.'],
      [
        asks('lead', 'Go.', { tool_calls: [hand('Find it.'), hand('Find more.')], timing: { first_token: '2s' } }),
        asks('member', 'Find it.', { tool_calls: [{ name: 'current_date' }], timing: { first_token: '3s' } }),
        asks('member', 'Find more.', { content: 'More.', timing: { first_token: '1s' } }),
      ],
    )
    await one.agent({ key: 'member', settings: { tools: [{ type: 'current_date' }] } })
    await one.agent({ key: 'lead', team_of_agents: [{ key: 'member' }], settings: { tools: teamTools } })
    const tasks = await Promise.all(['Go.', 'Go.', 'Else.'].map((text) => one.ask(text, {}, 'lead')))
    const snapshot = await one.ok('GET', '/_understudy/snapshot')
    other.close()
    // When calls came by the machine's clock is no part of it.
    const text = JSON.stringify(snapshot).replaceAll(/"(arrived|left)":\d+/g, '')
    return { tasks, text }
  }
  const [first, second] = [await play(), await play()]
  expect(second.tasks).toEqual(first.tasks)
  expect(second.text === first.text).toBe(true)
  expect(new Set(first.tasks.map(({ id }) => id)).size).toBe(3)
})
