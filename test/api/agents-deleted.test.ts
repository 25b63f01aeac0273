// An agent is changed or deleted while its tasks work: waiting clients are informed, and a task continues with the agent's current state.
import { afterAll, describe, expect, test } from 'bun:test'
import { agentSession, taskBody } from '../support/agents.ts'
import { createTestApp, eventsOf } from '../support/app.ts'
import { strictError } from '../support/strict/workspace.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)

/** A session whose agent is at work on a task of each of these calls, on a clock that stands still. */
async function atWork(calls: (one: ReturnType<typeof agentSession>) => Promise<unknown>[]) {
  const one = agentSession(app)
  await one.begin([{ content: 'Late.', timing: { first_token: '1m' } }, 'Next.'])
  await one.agent()
  await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
  const waiting = calls(one)
  const tasks = async () => (await one.ok('GET', '/v2/agents/helper/tasks')).data as Json[]
  while ((await tasks()).filter(({ status }) => (status as Json).state === 'working').length < waiting.length)
    await new Promise(setImmediate)
  return { one, waiting }
}
const rpc = { jsonrpc: '2.0', id: 1, method: 'message/send' }
const hello = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }

describe('deleted agent', () => {
  test('ends calls that wait for its tasks at once', async () => {
    const { one, waiting } = await atWork(({ call, headers }) => [
      call('POST', '/v2/agents/helper/task', taskBody('Wait.')),
      app.post('/v2/agents/helper/stream-task', taskBody('Follow.'), headers),
      call('POST', '/a2a/helper', { ...rpc, params: { message: hello } }),
    ])
    expect((await one.call('DELETE', '/v2/agents/helper')).status).toBe(204)
    const [blocking, stream, a2a] = (await Promise.all(waiting)) as [
      { status: number; body: Json },
      { text: string },
      { body: Json },
    ]
    expect([blocking.status, strictError.parse(blocking.body).message]).toEqual([404, expect.stringContaining('Task')])
    expect((eventsOf(stream.text) as Json[]).at(-1)).toMatchObject({
      type: 'agents.error',
      data: { code: 'task_not_found' },
    })
    expect(a2a.body.error).toMatchObject({ code: -32001 })
  })

  test('ends streams that follow one of its waiting tasks', async () => {
    const one = agentSession(app)
    await one.begin([[{ name: 'look_up' }]])
    await one.ok('POST', '/v2/tools', { key: 'look_up', function: { name: 'look_up' } })
    await one.agent({ settings: { tools: [{ type: 'function', key: 'look_up' }] } })
    const { id } = await one.ask('Go.')
    const following = app.understudy.app.fetch(
      new Request('http://localhost/a2a/helper', {
        method: 'POST',
        headers: { ...one.headers, authorization: 'Bearer any', 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params: { id } }),
      }),
    )
    const reader = (await following).body?.getReader()
    const first = await reader?.read()
    expect(new TextDecoder().decode(first?.value)).toContain('input-required')
    await one.ok('DELETE', '/v2/agents/helper')
    const last = await reader?.read()
    expect(new TextDecoder().decode(last?.value)).toContain('-32001')
    expect((await reader?.read())?.done).toBe(true)
  })

  test('leaves an error for the model in a parent task', async () => {
    const one = agentSession(app)
    const hand = { name: 'call_sub_agent', arguments: { agent: 'member', message: 'Find it.' } }
    const asks = (key: string, user: string, reply: Json) => ({
      name: key,
      match: { operation: 'chat.completions', body: { name: key }, user, tool_result: false },
      reply,
    })
    await one.begin(
      ['All done.'],
      [
        asks('lead', 'Go.', { tool_calls: [hand] }),
        asks('member', 'Find it.', { content: 'Late.', timing: { first_token: '1m' } }),
      ],
    )
    await one.agent({ key: 'member' })
    const tools = [{ type: 'retrieve_agents' }, { type: 'call_sub_agent' }]
    await one.agent({ key: 'lead', team_of_agents: [{ key: 'member' }], settings: { tools } })
    await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
    const waiting = one.ask('Go.', {}, 'lead')
    while (((await one.ok('GET', '/v2/agents/member/tasks')).data as Json[]).length === 0)
      await new Promise(setImmediate)
    await one.ok('DELETE', '/v2/agents/member')
    const task = await waiting
    expect(task.status.state).toBe('completed')
    expect(JSON.stringify(task.messages)).toContain('Task not found')
  })
})

describe('tool of an agent', () => {
  const setUp = async () => {
    const one = agentSession(app)
    await one.begin(['Hello.'])
    const { _id } = await one.ok('POST', '/v2/tools', {
      key: 'find',
      description: 'Finds.',
      function: { name: 'find' },
    })
    await one.agent({ settings: { tools: [{ type: 'function', key: 'find' }] } })
    const offered = async () => {
      await one.ask('Go.')
      const { data } = await one.ok('GET', `/_understudy/traces?all=true&session=${one.name}`)
      const last = (data as Json[]).find(({ operation }) => operation === 'chat.completions')
      const { request } = (await one.ok('GET', `/_understudy/traces/${last?.id}`)) as { request: Json }
      return (request.tools as { function: Json }[] | undefined)?.map(({ function: { name } }) => name)
    }
    return { one, at: `/v2/tools/${_id}`, offered }
  }

  test('is still offered after its key was changed', async () => {
    const { one, at, offered } = await setUp()
    await one.ok('PATCH', at, { key: 'search' })
    expect(await offered()).toEqual(['find'])
    await one.ok('POST', '/v2/tools', { key: 'find', function: { name: 'other' } })
    expect(await offered()).toEqual(['find'])
  })

  test('is not offered after it was deleted, until there is one with its key', async () => {
    const { one, at, offered } = await setUp()
    await one.ok('DELETE', at)
    expect(await offered()).toBeUndefined()
    await one.ok('POST', '/v2/tools', { key: 'find', function: { name: 'other' } })
    expect(await offered()).toEqual(['other'])
  })
})

test('renamed agent: continues its tasks under the new name', async () => {
  const { one, waiting } = await atWork(({ call }) => [call('POST', '/v2/agents/helper/task', taskBody('Go.'))])
  await one.ok('PATCH', '/v2/agents/helper', { key: 'renamed' })
  await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { resume: true })
  const [first] = (await Promise.all(waiting)) as [{ body: Json }]
  expect(first.body.status).toMatchObject({ state: 'completed' })
  const next = await one.ask('More.', { task_id: first.body.id }, 'renamed')
  expect(next.metadata).toMatchObject({ agent_key: 'renamed' })
})

test('tasks in the background: get the same ids every run, however far earlier tasks have progressed', async () => {
  const play = async (turns: number) => {
    const own = createTestApp()
    const one = agentSession(own, { seed: 7 }, 'same')
    await one.begin([[{ name: 'current_date' }], 'Done.'])
    await one.agent({ settings: { tools: [{ type: 'current_date' }] } })
    const made: unknown[] = []
    for (let count = 0; count < 5; count++) {
      const { id, contextId, metadata } = await one.ok('POST', '/v2/agents/helper/task', {
        ...taskBody('Go.'),
        configuration: {},
      })
      made.push([id, contextId, (metadata as Json).trace_id])
      for (let turn = 0; turn < turns * count; turn++) await new Promise(setImmediate)
    }
    own.close()
    return made
  }
  expect(await play(9)).toEqual(await play(0))
})
