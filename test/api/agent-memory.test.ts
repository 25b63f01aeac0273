// What agents remember: only what they write, for the entity of the task, as long as the store keeps it, and once.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ToolResult } from '../../src/agents/tools/define.ts'
import { entryOf, toolsIn } from '../support/agent-tools.ts'
import { createTestApp } from '../support/app.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

const app = createTestApp()
afterAll(app.close)
const { call, ok } = workspaceOf(app)
const { session, offered, run } = toolsIn(app)

const STORE = { description: 'What customers like.', embedding_config: { model: 'openai/text-embedding-3-small' } }
beforeAll(async () => {
  await ok('POST', '/v2/memory-stores', { key: 'customers', ...STORE })
  await ok('POST', '/v2/memory-stores', { key: 'moods', ...STORE, ttl: 60 })
})
const agent = { memory_stores: ['customers', 'moods'] }
const about = (entity_id: string) => ({ agent, memory: { entity_id } })
const resultOf = (answer: ToolResult) => (answer as { result: Json }).result
const write = (entity: string, text: string, more: { store?: string; id?: string; task?: string } = {}) => {
  const { store = 'customers', ...otherwise } = more
  return run(entryOf('write_memory_store'), { memory_store: store, text }, { ...about(entity), ...otherwise })
}
const query = async (entity: string, words: string, store = 'customers') => {
  const given = { memory_store: store, query: words }
  return resultOf(await run(entryOf('query_memory_store'), given, about(entity))).documents as Json[]
}
const textsOf = (documents: Json[]) => documents.map(({ text }) => text)

test('memory tools: list the stores and are offered by name', async () => {
  expect(resultOf(await run(entryOf('retrieve_memory_stores'), {}, { agent }))).toEqual({
    memory_stores: [
      { memory_store: 'customers', description: STORE.description },
      { memory_store: 'moods', description: STORE.description },
    ],
  })
  for (const type of ['query_memory_store', 'write_memory_store', 'delete_memory_document']) {
    const [definition] = offered(entryOf(type), agent)
    expect(definition).toMatchObject({
      name: type,
      parameters: { properties: { memory_store: { enum: agent.memory_stores } } },
    })
  }
})

test('memory tools: find written memories of the same entity, nearest first, and API clients see them', async () => {
  expect(await query('ann', 'anything')).toEqual([])
  await write('ann', ' Ann likes short answers. ', { id: '1' })
  await write('ann', 'Ann has a blue lamp.', { id: '2' })
  await write('bob', 'Bob has a red lamp.')
  expect(textsOf(await query('ann', 'What lamp has she?'))).toEqual([
    'Ann has a blue lamp.',
    'Ann likes short answers.',
  ])
  expect(textsOf(await query('bob', 'lamp'))).toEqual(['Bob has a red lamp.'])
  const memory = await ok('GET', '/v2/memory-stores/customers/memories/ann')
  expect(memory.documents_count).toBe(2)
  const { data } = await ok('GET', '/v2/memory-stores/customers/memories/ann/documents')
  expect(textsOf(data as Json[])).toEqual(['Ann has a blue lamp.', 'Ann likes short answers.'])
})

test('memory tools: write once when a call is repeated, and again for a different call', async () => {
  const first = resultOf(await write('once', 'One.'))
  await session.clock.sleep(5_000)
  expect(resultOf(await write('once', 'One.'))).toEqual(first)
  expect(await query('once', 'one')).toHaveLength(1)
  const others = [
    await write('once', 'One.', { id: 'call_2' }),
    await write('once', 'One.', { task: '01JGFJJZ00BBBBBBBBBBBBBBBB' }),
    await write('once', 'Two.'),
  ].map((answer) => resultOf(answer).document_id)
  expect(new Set([first.document_id, ...others]).size).toBe(4)
  for (const id of others) expect(id).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/)
})

test("memory tools: do not find memories that have expired on the session's clock", async () => {
  await write('eve', 'Eve is glad.', { store: 'moods' })
  await session.clock.sleep(30_000)
  await write('eve', 'Eve is sad.', { store: 'moods', id: '2' })
  expect(await query('eve', 'mood', 'moods')).toHaveLength(2)
  await session.clock.sleep(30_000)
  expect(textsOf(await query('eve', 'mood', 'moods'))).toEqual(['Eve is sad.'])
})

test('memory API: hides expired documents and counts only the remaining ones', async () => {
  await write('leo', 'Leo is glad.', { store: 'moods' })
  const path = '/v2/memory-stores/moods/memories/leo'
  const read = async () => {
    const { data } = await ok('GET', `${path}/documents`)
    const { data: memories } = await ok('GET', '/v2/memory-stores/moods/memories')
    const listed = (memories as Json[]).find(({ entity_id }) => entity_id === 'leo')?.documents_count
    return [textsOf(data as Json[]), listed, (await ok('GET', path)).documents_count]
  }
  await session.clock.sleep(30_000)
  await write('leo', 'Leo is sad.', { store: 'moods', id: '2' })
  expect(await read()).toEqual([['Leo is sad.', 'Leo is glad.'], 2, 2])
  const [, expired] = (await ok('GET', `${path}/documents`)).data as Json[]
  await session.clock.sleep(30_000)
  for (const method of ['GET', 'PATCH', 'DELETE'])
    expect((await call(method, `${path}/documents/${expired?._id}`, method === 'PATCH' ? {} : undefined)).status).toBe(
      404,
    )
  expect(await read()).toEqual([['Leo is sad.'], 1, 1])
})

test('memory tools: delete a document', async () => {
  const { document_id } = resultOf(await write('gone', 'Forget me.'))
  const forget = (entity: string) =>
    run(entryOf('delete_memory_document'), { memory_store: 'customers', document_id }, about(entity))
  const none = { error: `there is no document "${document_id}" in this memory` }
  expect(await forget('ann')).toMatchObject(none)
  expect(resultOf(await forget('gone'))).toEqual({ document_id, deleted: true })
  expect(await forget('gone')).toMatchObject(none)
  expect(await query('gone', 'me')).toEqual([])
  expect((await ok('GET', '/v2/memory-stores/customers/memories/gone')).documents_count).toBe(0)
})

test('memory tools: return an error to the model for an invalid entity or an unknown store', async () => {
  const entry = entryOf('query_memory_store')
  const given = { memory_store: 'customers', query: 'x' }
  expect(await run(entry, given, { agent })).toMatchObject({ error: expect.stringContaining('memory.entity_id') })
  expect(await run(entry, { ...given, memory_store: 'other' }, about('ann'))).toMatchObject({
    error: expect.stringContaining('"customers"'),
  })
  expect(await run(entry, given, { memory: { entity_id: 'ann' } })).toMatchObject({
    error: 'this agent has no memory store "customers"',
  })
  const gone = { agent: { memory_stores: ['gone'] }, memory: { entity_id: 'ann' } }
  expect(await run(entry, { ...given, memory_store: 'gone' }, gone)).toMatchObject({
    error: 'there is no memory store "gone" any more',
  })
  expect(await write('ann', '   ')).toMatchObject({ error: 'there is nothing in the text to be remembered' })
  expect((await call('GET', '/v2/memory-stores/moods/memories/ann')).status).toBe(404)
})
