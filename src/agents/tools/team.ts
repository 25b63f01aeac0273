// The tools for the team of an agent.
import { agents } from '../../resources/agents.ts'
import { builtInTool, oneOfTexts, textSchema } from './define.ts'

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

/** Runs an agent of the team in a sub-task and returns its response. */
export const callSubAgent = builtInTool({
  type: 'call_sub_agent',
  description: 'Hands a task to an agent of the team and returns its response.',
  arguments: ({ team_of_agents }) => ({
    agent: oneOfTexts(
      'Which one.',
      team_of_agents.map(({ key }) => key),
    ),
    message: { ...textSchema('What it should do, with all that it needs to know.'), minLength: 1 },
  }),
  async run(call, { agent, delegate }) {
    const { agent: member, message } = call.arguments as { agent: string; message: string }
    if (!agent.team_of_agents.some(({ key }) => key === member))
      return { error: `there is no agent ${JSON.stringify(member)} in the team of this agent` }
    return delegate(member, message, call)
  },
})
