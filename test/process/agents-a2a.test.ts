// Agents over A2A with the official client in both versions of the protocol: every method, with reproducible ids.
import { afterAll, describe, expect, test } from 'bun:test'
import { Role, TaskState } from '@a2a-js/sdk'
import { a2aServer, asTask, call, code, everything, kindsOf, rpc, says, textOf, v1 } from '../support/a2a.ts'
import type { ModelTurn } from '../support/agents.ts'
import type { Json } from '../support/workspace.ts'

const { origin, served, met, close } = a2aServer()
afterAll(close)
const approval = { settings: { tool_approval_required: 'all', tools: [{ type: 'current_date' }] } }
const asking: ModelTurn = [{ name: 'current_date', id: 'call_date' }]

for (const version of ['1.0', '0.3'] as const)
  describe(`A2A client program, version ${version}`, () => {
    test('sends a message and waits for the response', async () => {
      const { client } = await met(version, ['Hello there.'])
      const task = asTask(await client.sendMessage(says('Hello.')))
      expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
      expect(textOf(task.status?.message)).toBe('Hello there.')
      expect(task.history.map((message) => [message.role, textOf(message)])).toEqual([
        [Role.ROLE_USER, 'Hello.'],
        [Role.ROLE_AGENT, 'Hello there.'],
      ])
      expect(task.artifacts.map(textOf)).toEqual(['Hello there.'])
      const read = await client.getTask({ tenant: '', id: task.id })
      expect(read).toEqual(task)
      const short = await client.getTask({ tenant: '', id: task.id, historyLength: 1 })
      expect(short.history.map(textOf)).toEqual(['Hello there.'])
    })

    test('follows a task from its message to its end', async () => {
      const { client } = await met(version, [[{ name: 'current_date' }], 'Done.'], {
        settings: { tools: [{ type: 'current_date' }] },
      })
      const events = await everything(client.sendMessageStream(says('Go.')))
      const kinds = kindsOf(events)
      expect([kinds[0], kinds.at(-2), kinds.at(-1)]).toEqual(['task', 'artifactUpdate', 'statusUpdate'])
      const last = events.at(-1)?.payload
      const status = last?.$case === 'statusUpdate' ? last.value.status : undefined
      expect([status?.state, textOf(status?.message)]).toEqual([TaskState.TASK_STATE_COMPLETED, 'Done.'])
    })

    test('continues a waiting task, follows it, and cannot continue an ended one', async () => {
      const { client, one } = await met(version, [asking, 'It is Monday.'], approval)
      const waiting = asTask(await client.sendMessage(says('Which day?')))
      expect(waiting.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
      expect(waiting.status?.message?.parts[0]?.content).toMatchObject({
        $case: 'data',
        value: { kind: 'tool_call', tool_name: 'current_date', tool_call_id: 'call_date' },
      })
      const following = client.resubscribeTask({ tenant: '', id: waiting.id })
      const first = await following.next()
      expect(kindsOf(first.done ? [] : [first.value])).toEqual(['task'])
      await one.ok('POST', `/_understudy/tasks/${waiting.id}/approve`, {})
      const rest = await everything(following)
      expect(kindsOf(rest).slice(-2)).toEqual(['artifactUpdate', 'statusUpdate'])
      const again = client.sendMessage(says('More?', { taskId: waiting.id }))
      expect(await code(again)).toBe(-32004)
      expect(await code(client.resubscribeTask({ tenant: '', id: waiting.id }).next())).toBe(-32004)
    })

    test('sends the result of a tool and continues', async () => {
      const { client } = await met(version, [asking, 'It is Monday.'], approval)
      const waiting = asTask(await client.sendMessage(says('Which day?')))
      const value = { kind: 'tool_result', tool_call_id: 'call_date', result: { day: 'Monday' } }
      const parts = [{ content: { $case: 'data' as const, value }, metadata: undefined, filename: '', mediaType: '' }]
      const { id: taskId, contextId } = waiting
      const done = asTask(await client.sendMessage(says('', { taskId, contextId, parts })))
      expect([done.id, done.status?.state, textOf(done.status?.message)]).toEqual([
        taskId,
        TaskState.TASK_STATE_COMPLETED,
        'It is Monday.',
      ])
    })

    test('cancels a waiting task once', async () => {
      const { client } = await met(version, [asking], approval)
      const { id } = asTask(await client.sendMessage(says('Which day?')))
      const canceled = await client.cancelTask({ tenant: '', id, metadata: undefined })
      expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
      expect(await code(client.cancelTask({ tenant: '', id, metadata: undefined }))).toBe(-32002)
    })

    test('gets a response at once when it does not want to wait', async () => {
      const { client, one } = await met(version, ['Later.'])
      const task = asTask(await client.sendMessage(says('Go.', {}, { returnImmediately: true })))
      const ended = await one.settled(task.id)
      expect(ended.status.state).toBe('completed')
    })

    test('gets an error for an unknown task', async () => {
      const { client } = await met(version, ['Yes.'])
      const id = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
      expect(await code(client.getTask({ tenant: '', id }))).toBe(-32001)
      expect(await code(client.cancelTask({ tenant: '', id, metadata: undefined }))).toBe(-32001)
      expect(await code(client.resubscribeTask({ tenant: '', id }).next())).toBe(-32001)
      expect(await code(client.sendMessage(says('Go.', { taskId: id })))).toBe(-32001)
      expect(await code(everything(client.sendMessageStream(says('Go.', { taskId: id }))))).toBe(-32001)
    })
  })

test('A2A task list: filters by page, state, context and time', async () => {
  const { client } = await met('1.0', ['Answer to {{prompt.user}}.'])
  const made = [
    asTask(await client.sendMessage(says('1', { contextId: 'mine' }))),
    asTask(await client.sendMessage(says('2'))),
    asTask(await client.sendMessage(says('3', { contextId: 'mine' }))),
  ]
  const ask = (more: Json = {}) =>
    client.listTasks({
      tenant: '',
      contextId: '',
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageToken: '',
      statusTimestampAfter: undefined,
      ...more,
    })
  const ids = made.map(({ id }) => id)
  const all = await ask()
  expect([all.tasks.map(({ id }) => id).sort(), all.totalSize, all.nextPageToken]).toEqual([[...ids].sort(), 3, ''])
  const first = await ask({ pageSize: 2 })
  const second = await ask({ pageSize: 2, pageToken: first.nextPageToken })
  expect([...first.tasks, ...second.tasks]).toEqual(all.tasks)
  const mine = await ask({ contextId: 'mine', includeArtifacts: true })
  expect(mine.tasks.map(({ artifacts: [answer] }) => textOf(answer)).sort()).toEqual(['Answer to 1.', 'Answer to 3.'])
  expect((await ask({ status: TaskState.TASK_STATE_WORKING })).tasks).toEqual([])
  expect((await ask({ statusTimestampAfter: '2999-01-01T00:00:00Z' })).tasks).toEqual([])
  for (const wrong of [{ pageSize: 0 }, { pageSize: 101 }, { pageToken: 'none' }, { statusTimestampAfter: 'soon' }])
    expect(await code(ask(wrong))).toBe(-32602)
})

test('A2A card: has the requested version and the address of the session', async () => {
  const { url, one } = await served(['Yes.'])
  const cardAt = async (address: string, headers: Record<string, string>) =>
    (await (await fetch(`${address}/.well-known/agent-card.json`, { headers })).json()) as Json
  const interfaces = ['1.0', '0.3'].map((protocolVersion) => ({ url, protocolBinding: 'JSONRPC', protocolVersion }))
  const card = await cardAt(url, v1)
  expect(card).toMatchObject({
    name: 'helper',
    description: 'Helps.',
    supportedInterfaces: interfaces,
    capabilities: { streaming: true, pushNotifications: false },
  })
  expect(card.protocolVersion).toBeUndefined()
  expect(await cardAt(url, {})).toMatchObject({
    protocolVersion: '0.3',
    url,
    preferredTransport: 'JSONRPC',
    supportedInterfaces: interfaces,
  })
  const bare = `${origin}/a2a/helper`
  expect(await cardAt(bare, { ...one.headers, ...v1 })).toEqual(card)
  expect(await cardAt(bare, { authorization: `Bearer session:${one.name}`, ...v1 })).toEqual(card)
})

test('A2A: gives the same ids and times to the same calls', async () => {
  const run = async () => {
    const { url, one } = await served(['Yes.'], {}, 'same')
    const message = { messageId: 'first', role: 'ROLE_USER', parts: [{ text: 'Hi' }] }
    const { body } = await call(url, rpc('SendMessage', { message }), v1)
    await one.ok('DELETE', '/_understudy/sessions/same')
    return body
  }
  expect(await run()).toEqual(await run())
})

test('A2A: loads its library with the first call', async () => {
  const script = `
    const { createTestApp } = await import('./test/support/app.ts')
    const app = createTestApp()
    const loaded = () => Object.keys(require.cache).some((path) => path.includes('@a2a-js'))
    await app.post('/v2/router/chat/completions', { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }] })
    await app.fetch('/v2/agents')
    const before = loaded()
    await app.post('/v2/agents', { key: 'a', role: 'r', description: 'd', instructions: 'i', path: 'Default', model: 'openai/gpt-4o', settings: {} })
    await app.fetch('/a2a/a/.well-known/agent-card.json')
    console.log(before, loaded())
    await app.close()`
  const child = Bun.spawn([process.execPath, '-e', script], { cwd: `${import.meta.dir}/../..`, stdout: 'pipe' })
  expect((await new Response(child.stdout).text()).trim()).toBe('false true')
})
