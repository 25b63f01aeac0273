// The tool that delegates to an agent of the team, in a sub-task.
import { builtInTool } from './define.ts'
import { oneOfTexts, textSchema } from './schema.ts'

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
