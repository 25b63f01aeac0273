// The tool that lists the agent's knowledge bases.
import { knowledgeBases } from '../../resources/knowledge/knowledge.ts'
import { builtInTool } from './define.ts'

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
