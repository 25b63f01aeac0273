// Streams and scenarios of agents over A2A: clients that cancel or leave in the middle, and faults in the calls.
import { afterAll, describe, expect, test } from 'bun:test'
import { TaskState } from '@a2a-js/sdk'
import { a2aServer, asTask, call, code, everything, kindsOf, rpc, says, textOf, v1 } from '../support/a2a.ts'
import type { Json } from '../support/workspace.ts'

const { origin, met, served, close } = a2aServer()
afterAll(close)
const late = { content: 'Late.', timing: { first_token: '1m' } }

for (const version of ['1.0', '0.3'] as const)
  describe(`A2A client, version ${version}`, () => {
    test('cancels a task that it follows', async () => {
      const { client, one } = await met(version, [late])
      await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
      const stream = client.sendMessageStream(says('Go.'))
      const first = await stream.next()
      const task = first.done ? undefined : first.value.payload
      const id = task?.$case === 'task' ? task.value.id : ''
      const canceled = await client.cancelTask({ tenant: '', id, metadata: undefined })
      expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
      const last = (await everything(stream)).at(-1)?.payload
      expect(last?.$case === 'statusUpdate' && last.value.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    })

    test('leaves in the middle: the task continues and can be followed again', async () => {
      const { client, one } = await met(version, [late])
      await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
      const leaving = new AbortController()
      const stream = client.sendMessageStream(says('Go.'), { signal: leaving.signal })
      const first = await stream.next()
      const task = first.done ? undefined : first.value.payload
      const id = task?.$case === 'task' ? task.value.id : ''
      leaving.abort()
      await stream.next().catch(() => {})
      const again = client.resubscribeTask({ tenant: '', id })
      expect(kindsOf([(await again.next()).value as never])).toEqual(['task'])
      await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { resume: true })
      const last = (await everything(again)).at(-1)?.payload
      expect(last?.$case === 'statusUpdate' && textOf(last.value.status?.message)).toBe('Late.')
    })
  })

describe('A2A calls under a scenario', () => {
  const rules = async (one: { ok: (...given: [string, string, Json]) => Promise<Json> }, rule: Json) =>
    one.ok('PUT', '/_understudy/scenario', { name: 'bad-day', clock: 'virtual', rules: [{ name: 'bad', ...rule }] })

  test('trigger the same faults as workspace calls', async () => {
    const { one, url } = await served(['Yes.'])
    const fault = { type: 'http-error', status: 503 }
    await rules(one, { at: 'workspace', match: { operation: 'callAgent' }, when: { calls: 1 }, fault })
    const ask = () => call(url, rpc('ListTasks'), v1)
    const first = await ask()
    expect([first.status, first.body.message]).toEqual([503, expect.any(String)])
    expect((await ask()).body.result).toMatchObject({ totalSize: 0 })
    const card = await fetch(`${url}/.well-known/agent-card.json`)
    expect([card.status, card.headers.get('x-understudy-scenario')]).toEqual([200, 'bad-day'])
  })

  test('pass streams through event by event', async () => {
    const { one, client } = await met('1.0', [late])
    await rules(one, { match: { model: 'nobody/nothing' }, fault: { type: 'http-error', status: 500 } })
    await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
    const stream = client.sendMessageStream(says('Go.'))
    expect(kindsOf([(await stream.next()).value as never])).toEqual(['task'])
    const own = await fetch(`${origin}/v2/agents/helper/stream-task`, {
      method: 'POST',
      headers: { ...one.headers, authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify({ message: { role: 'user', parts: [{ kind: 'text', text: 'Go.' }] } }),
    })
    const reader = (own.body as ReadableStream<Uint8Array>).getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('agents.execution_started')
    await reader.cancel()
    await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { resume: true })
    expect(kindsOf(await everything(stream)).at(-1)).toBe('statusUpdate')
  })
})

test('A2A: ends a waiting call with its session', async () => {
  const { client, one } = await met('1.0', [late])
  await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
  const waiting = code(client.sendMessage(says('Go.')))
  while (((await one.ok('GET', '/v2/agents/helper/tasks')).data as Json[]).length === 0) await new Promise(setImmediate)
  await one.ok('POST', '/_understudy/reset')
  expect(await waiting).not.toBe('no error')
})

test('A2A task list: pages correctly while tasks change', async () => {
  const { client, one } = await met('1.0', ['One.', 'Two.', 'Three.', 'Again.'])
  const ids: string[] = []
  for (const text of ['1', '2', '3']) ids.push(asTask(await client.sendMessage(says(text))).id)
  const page = (pageToken: string) =>
    client.listTasks({
      ...{ tenant: '', contextId: '', status: TaskState.TASK_STATE_UNSPECIFIED, pageSize: 1, pageToken },
      statusTimestampAfter: undefined,
    })
  const first = await page('')
  const [shown = ''] = first.tasks.map(({ id }) => id)
  await one.ask('More.', { task_id: shown })
  const second = await page(first.nextPageToken)
  const third = await page(second.nextPageToken)
  expect([...first.tasks, ...second.tasks, ...third.tasks].map(({ id }) => id).sort()).toEqual(ids.sort())
})
