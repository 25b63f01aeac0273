// Fixtures for tool kinds.
import type { ToolAnswers } from '../../backends/fixture/tool-answers.ts'
import type { ToolFixtures } from './define.ts'
import { toolNames } from './stored.ts'

/** The fixtures of agent tools. */
export const toolFixturesOf = (answers: ToolAnswers): ToolFixtures => ({
  answer: (call, { session, sequences, task, agent, iteration, signal }) =>
    answers.answer({
      session: session.name,
      names: toolNames(call),
      agent: agent.key,
      iteration,
      arguments: call.arguments,
      clock: session.clock,
      signal,
      sequences,
      conversation: () => `task ${task.id}`,
    }),
})
