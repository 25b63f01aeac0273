// The tool that lists the agents of the team.
import { agents } from '../../resources/agents.ts'
import { builtInTool } from './define.ts'

/** Lists the agents of the team. */
export const retrieveAgents = builtInTool({
  type: 'retrieve_agents',
  description: 'Lists the agents of the team, with what each is for.',
  async run(_, { session, caller, agent }) {
    const team = agent.team_of_agents.map(({ key, role }) => {
      const found = session.records.named(agents.kind, caller.workspace, key)
      return { agent: key, role: role ?? found?.role ?? '', description: found?.description ?? '' }
    })
    return { result: { agents: team } }
  },
})
