// The tool that deletes a document of a memory store.
import { memories, memoryDocuments, memoryStores } from '../../resources/memory-stores.ts'
import { deleteRecord } from '../../resources/verbs.ts'
import { workOf } from '../../resources/work.ts'
import { builtInTool } from './define.ts'
import { documentsIn, memoryPlace, storeArgument } from './memory.ts'
import { textSchema } from './schema.ts'

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
