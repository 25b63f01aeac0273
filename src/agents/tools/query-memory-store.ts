// The tool that searches the memory of the task's entity.
import { cosine, embed } from '../../lib/embedding.ts'
import { builtInTool } from './define.ts'
import { documentsIn, memoryPlace, storeArgument } from './memory.ts'
import { textSchema } from './schema.ts'

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
