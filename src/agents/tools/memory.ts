// Shared by the memory tools: the stores of an agent, and the memory of a task's entity.
import type { Fields } from '../../contract/workspace/record.ts'
import { memories, memoryDocuments, memoryStores, rememberedSince } from '../../resources/memory-stores.ts'
import type { ToolContext } from './define.ts'
import { oneOfTexts } from './schema.ts'

/** The argument that names a store. */
export const storeArgument = (stores: readonly string[]) => oneOfTexts('Which memory store.', stores)

/** A store of an agent, and the entity of the memory. */
interface MemoryPlace {
  store: Fields & { _id: string; key: string }
  entity: string
}

/** The store by name and the entity of the task, or why there is none. */
export function memoryPlace(name: string, { session, caller, agent, memory }: ToolContext): MemoryPlace | string {
  if (!agent.memory_stores.includes(name)) return `this agent has no memory store ${JSON.stringify(name)}`
  const store = session.records.named(memoryStores.kind, caller.workspace, name)
  if (!store) return `there is no memory store ${JSON.stringify(name)} any more`
  if (!memory) return 'nobody is to be remembered: the call that began the task gave no memory.entity_id'
  return { store: store as MemoryPlace['store'], entity: memory.entity_id }
}

/** The documents of a memory that have not expired, newest first. */
export function documentsIn({ store, entity }: MemoryPlace, { session, caller }: ToolContext): Fields[] {
  const { workspace } = caller
  const memory = session.records.byKey(memories.kind, workspace, store._id, entity)
  if (!memory) return []
  const { data } = session.records.page({ kind: memoryDocuments.kind, workspace, parent: String(memory._id) })
  const since = rememberedSince(store, session.clock.now()) ?? Number.NEGATIVE_INFINITY
  return data.filter(({ created }) => Date.parse(String(created)) > since)
}
