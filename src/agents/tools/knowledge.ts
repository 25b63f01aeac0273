// The tools for the knowledge bases of an agent.
import { ApiError } from '../../contract/core/error.ts'
import { knowledgeBases } from '../../resources/knowledge/knowledge.ts'
import { builtInTool, oneOfTexts, textSchema } from './define.ts'

/** Lists the agent's knowledge bases. */
export const retrieveKnowledgeBases = builtInTool({
  type: 'retrieve_knowledge_bases',
  description: 'Lists the knowledge bases that can be asked, with what each is about.',
  async run(_, { session, caller, agent }) {
    const listed = agent.knowledge_bases.map(({ knowledge_id }) => {
      const base = session.records.named(knowledgeBases.kind, caller.workspace, knowledge_id)
      const { display_name, description = '' } = base ?? {}
      return { knowledge_base: knowledge_id, ...(display_name !== undefined && { name: display_name }), description }
    })
    return { result: { knowledge_bases: listed } }
  },
})

/** Searches a knowledge base of the agent and returns the best chunks. */
export const queryKnowledgeBase = builtInTool({
  type: 'query_knowledge_base',
  description: 'Finds the passages of a knowledge base that fit a question.',
  arguments: ({ knowledge_bases }) => ({
    knowledge_base: oneOfTexts(
      'Which one.',
      knowledge_bases.map(({ knowledge_id }) => knowledge_id),
    ),
    query: { ...textSchema('Query.'), minLength: 1 },
    top_k: { type: 'integer', minimum: 1, maximum: 100, description: 'Most passages.' },
  }),
  optional: ['top_k'],
  async run({ arguments: args }, { session, caller, agent, knowledge, signal }) {
    const { knowledge_base: name, query, top_k } = args as { knowledge_base: string; query: string; top_k?: number }
    const base = agent.knowledge_bases.find(({ knowledge_id }) => knowledge_id === name)
    if (!base) return { error: `this agent has no knowledge base ${JSON.stringify(name)}` }
    try {
      const searchQuery = { ...base, ...(top_k !== undefined && { top_k }), query, param: 'knowledge_base' }
      const { chunks } = await knowledge.search({ session, caller: () => caller, signal }, searchQuery)
      return { result: { matches: chunks.map(({ id, score, text: passage }) => ({ id, score, text: passage })) } }
    } catch (error) {
      if (error instanceof ApiError) return { error: error.message }
      throw error
    }
  },
})
