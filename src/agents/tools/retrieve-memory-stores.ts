// The tool that lists the agent's memory stores.
import { memoryStores } from '../../resources/memory-stores.ts'
import { builtInTool } from './define.ts'

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
