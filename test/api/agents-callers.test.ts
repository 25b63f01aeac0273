// On whose behalf tasks work, and where they are: identities, threads, memories and metadata; sessions, workspaces and snapshots.
import { afterAll, describe, expect, test } from 'bun:test'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { type AgentSession, agentSession, type StrictTask, story, taskBody } from '../support/agents.ts'
import { createTestApp } from '../support/app.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const app = createTestApp({
  tokens: { 'key-1': { workspace: 'acme' }, 'key-2': { workspace: 'other' } },
})
afterAll(app.close)
const tracesOf = async ({ ok }: AgentSession, { metadata }: StrictTask) => {
  const turn = (await ok('GET', `/_understudy/traces/${metadata?.trace_id}`)) as unknown as StoredTrace
  const inner = (await ok('GET', `/_understudy/traces/${turn.task?.steps[0]?.trace}`)) as unknown as StoredTrace
  return [turn, inner]
}
async function helper(turns: Parameters<AgentSession['begin']>[0], fields: Json = {}, fixtures: readonly Json[] = []) {
  const one = agentSession(app)
  await one.begin(turns, fixtures)
  await one.agent(fields)
  return one
}

describe('caller of an agent', () => {
  const identity = { id: 'u-17', display_name: 'Ada', email: 'ada@example.com' }
  test.each(['identity', 'contact'])(
    'is added to the workspace as a contact and named in the traces when sent as %s',
    async (field) => {
      const one = await helper(['Hello.', 'Again.'])
      const task = await one.ask('Hi.', { [field]: identity })
      for (const trace of await tracesOf(one, task)) expect(trace.identity).toMatchObject({ id: 'u-17' })
      expect((await one.ok('GET', '/v2/contacts')).data).toMatchObject([
        { external_id: 'u-17', display_name: 'Ada', email: 'ada@example.com' },
      ])
      // It holds for the turns after it.
      for (const trace of await tracesOf(one, await one.ask('And?', { task_id: task.id })))
        expect(trace.identity).toMatchObject({ id: 'u-17' })
    },
  )

  test('groups the traces of its turns by thread, and a later thread replaces it', async () => {
    const one = await helper(['Hello.', 'Again.'])
    const task = await one.ask('Hi.', { thread: { id: 'thread-1', tags: ['a'] } })
    await one.ask('And?', { task_id: task.id, thread: { id: 'thread-2' } })
    for (const thread of ['thread-1', 'thread-2']) {
      const { data } = await one.ok('GET', `/_understudy/traces?thread=${thread}`)
      expect((data as Json[]).map(({ operation }) => operation).sort()).toEqual(['agent.task', 'chat.completions'])
    }
  })

  test('puts its metadata in the trace of the turn, and in model calls as far as chat accepts it', async () => {
    const one = await helper(['Hello.'])
    const metadata = { order: '17', deep: { a: 1 }, long: 'x'.repeat(600) }
    const [turn, inner] = await tracesOf(one, await one.ask('Hi.', { metadata }))
    expect([turn?.metadata, inner?.metadata]).toEqual([metadata, { order: '17' }] as never)
  })

  test('selects by memory entity whose memories the tools read and write', async () => {
    const write = (text: string) => [{ name: 'write_memory_store', arguments: { memory_store: 'notes', text } }]
    const one = agentSession(app)
    await one.begin([write('Likes tea.'), 'Noted.', write('Nobody.'), 'Not noted.'])
    const store = { key: 'notes', description: 'Notes.', embedding_config: { model: 'openai/text-embedding-3-small' } }
    await one.ok('POST', '/v2/memory-stores', store)
    await one.agent({ memory_stores: ['notes'], settings: { tools: [{ type: 'write_memory_store' }] } })
    await one.ask('I like tea.', { memory: { entity_id: 'ada' } })
    expect((await one.ok('GET', '/v2/memory-stores/notes/memories/ada/documents')).data).toMatchObject([
      { text: 'Likes tea.' },
    ])
    expect(story(await one.ask('Who am I?'))[2]).toContain('memory.entity_id')
  })
})

describe('task isolation', () => {
  const NOWHERE: [what: string, method: string, path: (id: string) => string, body: Json | undefined][] = [
    ['read', 'GET', (id) => `/v2/agents/helper/tasks/${id}`, undefined],
    ['canceled', 'POST', (id) => `/v2/agents/helper/tasks/${id}/cancel`, undefined],
    ['continued', 'POST', () => '/v2/agents/helper/task', taskBody('More.')],
    ['approved', 'POST', (id) => `/_understudy/tasks/${id}/approve`, {}],
  ]
  test.each(NOWHERE)('a task cannot be %s from another session or workspace', async (_, method, path, body) => {
    const one = await helper(['Hello.'])
    const { id } = await one.ask('Hi.')
    const stranger = await helper(['Hello.'])
    const acme = workspaceOf(app, { ...one.headers, authorization: 'Bearer key-1' })
    const agent = { key: 'helper', role: 'r', description: 'd', instructions: 'i', path: 'Default', settings: {} }
    await acme.ok('POST', '/v2/agents', { ...agent, model: 'openai/gpt-4o' })
    const before = await one.ok('GET', `/v2/agents/helper/tasks/${id}`)
    for (const { call, ok } of [stranger, acme]) {
      const given = body && 'message' in body ? { ...body, task_id: id } : body
      expect((await call(method, path(id), given)).status).toBe(404)
      expect((await ok('GET', '/v2/agents/helper/tasks')).data).toEqual([])
    }
    expect(await one.ok('GET', `/v2/agents/helper/tasks/${id}`)).toEqual(before)
  })
})

describe('session with tasks', () => {
  test('is restored from its snapshot, and running tasks continue', async () => {
    const late = { content: 'Late.', timing: { first_token: '1m' } }
    const one = await helper(['Done.'], {}, [
      { name: 'late', match: { operation: 'chat.completions', user: 'Second.' }, reply: late },
    ])
    const done = await one.ask('First.')
    await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
    const { id } = await one.ok('POST', '/v2/agents/helper/task', { ...taskBody('Second.'), configuration: {} })
    const snapshot = await one.ok('GET', '/_understudy/snapshot')
    await one.ok('POST', `/v2/agents/helper/tasks/${id}/cancel`)
    await one.ok('POST', '/_understudy/snapshot', snapshot)
    expect((await one.ok('GET', `/v2/agents/helper/tasks/${id}`)).status).toMatchObject({ state: 'working' })
    expect(story((await one.ok('GET', `/v2/agents/helper/tasks/${done.id}`)) as unknown as StrictTask)).toEqual(
      story(done),
    )
    await app.understudy.sessions.get(one.name).clock.sleep(120_000)
    const settled = await one.settled(String(id))
    expect([settled.status.state, story(settled).at(-1)]).toEqual(['completed', 'agent: Late.'])
  })

  test('has no tasks after a reset, and running ones end', async () => {
    const one = await helper([{ content: 'Late.', timing: { first_token: '1m' } }])
    await one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { freeze: true })
    const { id } = await one.ok('POST', '/v2/agents/helper/task', { ...taskBody('Go.'), configuration: {} })
    await one.ok('POST', '/_understudy/reset')
    await one.agent({ key: 'helper' }).catch(() => {})
    expect((await one.call('GET', `/v2/agents/helper/tasks/${id}`)).status).toBe(404)
    expect((await one.ok('GET', '/v2/agents/helper/tasks')).data).toEqual([])
  })
})
