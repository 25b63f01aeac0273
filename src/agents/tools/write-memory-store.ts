// The tool that stores a document about the task's entity. The document's id is derived from the task and the call, so
// that a call that is repeated after a crash writes nothing twice.

import { canonicalJson } from '../../lib/canonical.ts'
import { ulidOf } from '../../lib/ids.ts'
import type { Transaction } from '../../resources/define.ts'
import { memories, memoryDocuments, memoryStores } from '../../resources/memory-stores.ts'
import { createRecord } from '../../resources/verbs.ts'
import { workOf } from '../../resources/work.ts'
import { builtInTool, type ToolCall, type ToolContext } from './define.ts'
import { memoryPlace, storeArgument } from './memory.ts'
import { textSchema } from './schema.ts'

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

/** It starts like the task's own id, which contains the time of creation. */
function documentId(call: ToolCall, { session, task, iteration }: ToolContext): string {
  const purpose = canonicalJson([session.name, task.id, iteration, call.id, call.arguments])
  return `${task.id.slice(0, 10)}${ulidOf(session.seed, 0, purpose, 0).slice(10)}`
}

const withId = (work: Transaction, id: string): Transaction => ({
  ...work,
  newId: (form, kind) => ({ ...work.newId(form, kind), id }),
})
