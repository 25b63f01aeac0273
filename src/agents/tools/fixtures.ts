// Tool fixtures as the kinds of tools ask for them.
import type { ToolAnswers } from '../../backends/fixture/tool-answers.ts'
import type { ToolFixtures } from './define.ts'
import { storedTool } from './record.ts'

/** The fixtures behind the tools of agents. */
export const toolFixturesOf = (answers: ToolAnswers): ToolFixtures => ({
  answer({ name, entry, arguments: given }, { session, agent, iteration, signal }) {
    const { key } = storedTool(entry)
    return answers.answer({
      session: session.name,
      names: [name, ...(key === undefined ? [] : [key]), entry.type],
      agent: agent.key,
      iteration,
      arguments: given,
      clock: session.clock,
      signal,
      uses: session.uses,
    })
  },
})
