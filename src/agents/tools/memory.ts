// The tools for the memory stores of an agent. They read and write the memory of the task's entity.
import type { Fields } from '../../contract/workspace/record.ts'
import { canonicalJson } from '../../lib/canonical.ts'
import { cosine, embed } from '../../lib/embedding.ts'
import { ulidOf } from '../../lib/ids.ts'
import type { Transaction } from '../../resources/define.ts'
import { memories, memoryDocuments, memoryStores, rememberedSince } from '../../resources/memory-stores.ts'
import { createRecord, deleteRecord, workOf } from '../../resources/verbs.ts'
import { builtInTool, oneOfTexts, type ToolCall, type ToolContext, textSchema } from './define.ts'

/** The argument that names a store. */
const storeArgument = (stores: readonly string[]) => oneOfTexts('Which memory store.', stores)

/** A store of an agent, and the entity of the memory. */
interface MemoryPlace {
  store: Fields & { _id: string }
  entity: string
}

/** The store by name and the entity of the task, or why there is none. */
function memoryPlace(name: string, { session, caller, agent, memory }: ToolContext): MemoryPlace | string {
  if (!agent.memory_stores.includes(name)) return `this agent has no memory store ${JSON.stringify(name)}`
  const store = session.records.named(memoryStores.kind, caller.workspace, name)
  if (!store) return `there is no memory store ${JSON.stringify(name)} any more`
  if (!memory) return 'nobody is to be remembered: the call that began the task gave no memory.entity_id'
  return { store: store as MemoryPlace['store'], entity: memory.entity_id }
}

/** The documents of a memory that have not expired, newest first. */
function documentsIn({ store, entity }: MemoryPlace, { session, caller }: ToolContext): Fields[] {
  const { workspace } = caller
  const memory = session.records.byKey(memories.kind, workspace, store._id, entity)
  if (!memory) return []
  const { data } = session.records.page({ kind: memoryDocuments.kind, workspace, parent: String(memory._id) })
  const since = rememberedSince(store, session.clock.now()) ?? Number.NEGATIVE_INFINITY
  return data.filter(({ created }) => Date.parse(String(created)) > since)
}

/** Lists the agent's memory stores. */
export const retrieveMemoryStores = builtInTool({
  type: 'retrieve_memory_stores',
  description: 'Lists the memory stores, with what each is for.',
  async run(_, { session, caller, agent }) {
    const stores = agent.memory_stores.map((name) => {
      const store = session.records.named(memoryStores.kind, caller.workspace, name)
      return { memory_store: name, description: store?.description ?? '' }
    })
    return { result: { memory_stores: stores } }
  },
})

const DIMENSIONS = 256
const TOP_K = 5

/** Searches the memories of the task's entity and returns the nearest documents. */
export const queryMemoryStore = builtInTool({
  type: 'query_memory_store',
  description: 'Finds what is remembered, nearest to a question first.',
  arguments: ({ memory_stores }) => ({
    memory_store: storeArgument(memory_stores),
    query: { ...textSchema('Query.'), minLength: 1 },
    top_k: { type: 'integer', minimum: 1, maximum: 100, description: `Most documents, ${TOP_K} when left out.` },
  }),
  optional: ['top_k'],
  async run({ arguments: args }, context) {
    const { memory_store, query, top_k = TOP_K } = args as { memory_store: string; query: string; top_k?: number }
    const place = memoryPlace(memory_store, context)
    if (typeof place === 'string') return { error: place }
    const target = embed(query, DIMENSIONS)
    const documents = documentsIn(place, context)
      .map(({ _id, text: remembered, metadata, created }) => ({
        document_id: _id,
        text: remembered,
        ...(metadata !== undefined && { metadata }),
        created,
        score: Number(cosine(target, embed(String(remembered), DIMENSIONS)).toFixed(4)),
      }))
      .sort((a, b) => b.score - a.score)
      .slice(0, top_k)
    return { result: { documents } }
  },
})

/** Stores a document about the task's entity. A repeated call writes the same document. */
export const writeMemoryStore = builtInTool({
  type: 'write_memory_store',
  description: 'Remembers a text.',
  arguments: ({ memory_stores }) => ({
    memory_store: storeArgument(memory_stores),
    text: { ...textSchema('Instructions about what to remember.'), minLength: 1 },
    metadata: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Texts that go with it, by name.',
    },
  }),
  optional: ['metadata'],
  async run(call, context) {
    const { memory_store, text: remembered, metadata } = call.arguments as Record<string, unknown>
    const place = memoryPlace(String(memory_store), context)
    if (typeof place === 'string') return { error: place }
    const body = { text: String(remembered).trim(), ...(metadata !== undefined && { metadata }) }
    if (body.text === '') return { error: 'there is nothing in the text to be remembered' }
    const { session, caller } = context
    const { store, entity } = place
    const id = documentId(call, context)
    await session.transact(() => {
      const work = workOf(session, caller, canonicalJson([store._id, entity]))
      if (work.records.get(memoryDocuments.kind, caller.workspace, id)) return
      const params = { [memoryStores.param]: store._id, [memories.param]: entity }
      if (!work.records.byKey(memories.kind, caller.workspace, store._id, entity))
        createRecord(memories, work, { entity_id: entity }, { params })
      createRecord(memoryDocuments, withId(work, id), body, { params })
    })
    return { result: { document_id: id, memory_store, entity_id: entity } }
  },
})

/**
 * A function of the task and the call, so that a call that is repeated after a crash writes nothing twice. It starts
 * like the task's own id, which contains the time of creation.
 */
function documentId(call: ToolCall, { session, task, iteration }: ToolContext): string {
  const purpose = canonicalJson([session.name, task.id, iteration, call.id, call.arguments])
  return `${task.id.slice(0, 10)}${ulidOf(session.seed, 0, purpose, 0).slice(10)}`
}

const withId = (work: Transaction, id: string): Transaction => ({
  ...work,
  newId: (form, kind) => ({ ...work.newId(form, kind), id }),
})

/** Deletes one document of a memory store. */
export const deleteMemoryDocument = builtInTool({
  type: 'delete_memory_document',
  description: 'Forgets a document of a memory store.',
  arguments: ({ memory_stores }) => ({
    memory_store: storeArgument(memory_stores),
    document_id: textSchema('Id of the document, as a query gives it.'),
  }),
  async run({ arguments: args }, context) {
    const { memory_store, document_id } = args as { memory_store: string; document_id: string }
    const place = memoryPlace(memory_store, context)
    if (typeof place === 'string') return { error: place }
    const { session, caller } = context
    const found = await session.transact(() => {
      if (!documentsIn(place, context).some(({ _id }) => _id === document_id)) return false
      const params = { [memoryStores.param]: place.store._id, [memories.param]: place.entity }
      deleteRecord(memoryDocuments, workOf(session, caller), { ...params, [memoryDocuments.param]: document_id })
      return true
    })
    if (found) return { result: { document_id, deleted: true } }
    return { error: `there is no document ${JSON.stringify(document_id)} in this memory` }
  },
})
