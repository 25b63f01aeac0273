// Memory stores: documents about entities. Only explicit calls write them.
import { z } from 'zod'
import {
  Memory,
  MemoryBody,
  MemoryDocument,
  MemoryDocumentBody,
  MemoryDocumentPatch,
  MemoryPatch,
  MemoryStore,
  MemoryStoreBody,
  MemoryStorePatch,
} from '../contract/workspace/memory.ts'
import type { Fields } from '../contract/workspace/record.ts'
import { defineResource, PAGED, type Transaction } from './define.ts'
import { projectOfRecord } from './projects.ts'
import { deleteRecord, type PathParams } from './verbs.ts'

const answers = { createdStatus: 201, deletedStatus: 204, ...PAGED } as const

/** Memory stores. */
export const memoryStores = defineResource({
  ...answers,
  kind: 'memory_store',
  noun: 'memory store',
  tag: 'Memory',
  path: '/v2/memory-stores',
  param: 'memory_store_key',
  named: true,
  examples: {
    create: {
      customers: {
        key: 'customers',
        description: 'What customers have told us.',
        embedding_config: { model: 'openai/text-embedding-3-small' },
        path: 'Default',
      },
    },
    update: { described: { description: 'What customers like.' } },
  },
  create: MemoryStoreBody,
  update: MemoryStorePatch,
  record: MemoryStore,
  key: 'key',
  fill: (input, work, { before }) => ({ ...input, project_id: projectOfRecord(work, input, before) }),
  show: ({ path: _, project_id: __, workspace_id: ___, ...store }) => store,
})

/** The entities of a memory store. */
export const memories = defineResource({
  ...answers,
  kind: 'memory',
  noun: 'memory',
  plural: 'memories',
  tag: 'Memory',
  path: '/v2/memory-stores/:memory_store_key/memories',
  param: 'entity_id',
  parent: memoryStores,
  named: true,
  examples: { create: { one: { entity_id: 'customer-17' } }, update: { noted: { metadata: { tier: 'gold' } } } },
  create: MemoryBody,
  update: MemoryPatch,
  record: Memory,
  key: 'entity_id',
  filter: {
    query: { q: z.string().optional().describe('Text contained in `entity_id`. Case-insensitive.') },
    includes: ({ entity_id }, { q }) => String(entity_id).toLowerCase().includes(String(q).toLowerCase()),
  },
  tidy: forgetExpired,
  fill: (input, _, { parents, before }) => ({
    ...input,
    store_id: parents[0],
    documents_count: before?.documents_count ?? 0,
  }),
})

/** The documents of an entity. */
export const memoryDocuments = defineResource({
  ...answers,
  kind: 'memory_document',
  noun: 'memory document',
  tag: 'Memory',
  path: '/v2/memory-stores/:memory_store_key/memories/:entity_id/documents',
  param: 'document_id',
  parent: memories,
  examples: { create: { one: { text: 'Likes short answers.' } }, update: { other: { text: 'Likes long answers.' } } },
  create: MemoryDocumentBody,
  update: MemoryDocumentPatch,
  record: MemoryDocument,
  tidy: forgetExpired,
  fill: (input, _, { parents: [store, memory] }) => ({ ...input, store_id: store, memory_id: memory }),
  changed(work, { verb, parents: [, memory = ''], records: { length } }) {
    const found = work.records.get(memories.kind, work.caller.workspace, memory)?.body
    const by = { create: length, update: 0, delete: -length }[verb]
    if (!found || by === 0) return
    const body = { ...found, documents_count: Number(found.documents_count) + by }
    work.records.update(memory, { key: String(found.entity_id), body })
  },
})

/** The creation time of the oldest remembered document at this instant, by the store's `ttl`; undefined without one. */
export const rememberedSince = ({ ttl }: Fields, now: number): number | undefined =>
  typeof ttl === 'number' ? now - ttl * 1000 : undefined

/** Removes expired documents from the memory in a path, or else from the whole store. */
function forgetExpired(work: Transaction, params: PathParams): void {
  const { records, caller, now } = work
  const { workspace } = caller
  const store = records.named(memoryStores.kind, workspace, params[memoryStores.param] ?? '')
  const since = store && rememberedSince(store, Date.parse(now))
  if (since === undefined) return
  const parent = String(store?._id)
  const entity = params[memories.param]
  for (const memory of records.page({ kind: memories.kind, workspace, parent }).data) {
    if (entity !== undefined && entity !== memory.entity_id && entity !== memory._id) continue
    const path = { [memoryStores.param]: parent, [memories.param]: String(memory._id) }
    for (const { _id, created } of records.page({ kind: memoryDocuments.kind, workspace, parent: String(memory._id) })
      .data)
      if (Date.parse(String(created)) <= since)
        deleteRecord(memoryDocuments, work, { ...path, [memoryDocuments.param]: String(_id) })
  }
}
