// Runs one tool call: validates its arguments first, and applies its timeout. Fixtures may answer it.

import { SlowSchema, schemaProblems } from '../../answers/schemas.ts'
import type { ToolAnswers } from '../../backends/fixture/tool-answers.ts'
import { TOOL_TIMEOUT } from '../../contract/workspace/agent.ts'
import { startDeadline, unlessAborted } from '../../lib/deadline.ts'
import { SchemaError } from '../../lib/json-schema/index.ts'
import type { ToolCall, ToolContext, ToolDefinition, ToolFixtures, ToolKind, ToolResult } from './define.ts'
import { toolNames } from './stored.ts'

/** Maximum number of argument problems in the message to the model. */
const MAX_PROBLEMS = 5

/** A tool that can be run. */
interface RunnableTool {
  kind: Pick<ToolKind, 'run'>
  definition: ToolDefinition
}

class ToolTimeout extends Error {}

/**
 * The result of a call. Invalid arguments and a timeout are errors for the model.
 * @throws the signal's reason if that aborts, and what the tool throws
 */
export async function runTool(
  { kind, definition }: RunnableTool,
  call: ToolCall,
  context: ToolContext,
): Promise<ToolResult> {
  const { clock } = context.session
  const problem = await clock.work(mismatch(definition, call.arguments, context))
  if (problem !== undefined) return { error: problem }
  const { timeout = TOOL_TIMEOUT } = call.entry
  const reason = () => new ToolTimeout(`the tool ${call.name} gave no result within its timeout of ${timeout} s`)
  const deadline = startDeadline(clock, timeout * 1000, { outer: context.signal, reason })
  const { signal } = deadline
  try {
    const run = kind.run?.(call, { ...context, signal }) ?? Promise.reject(new Error(`${call.name} cannot be run here`))
    return await unlessAborted(signal, run)
  } catch (error) {
    if (signal.reason instanceof ToolTimeout) return { error: signal.reason.message }
    throw error
  } finally {
    deadline.stop()
  }
}

/** Why arguments do not match those of a function, as a message for the model; undefined if they match. */
async function mismatch(
  { name, parameters }: ToolDefinition,
  args: Record<string, unknown>,
  { signal, session }: Pick<ToolContext, 'signal' | 'session'>,
): Promise<string | undefined> {
  try {
    const problems = await schemaProblems(parameters, JSON.stringify(args), { signal, jobLimits: session.jobLimits })
    if (problems.length === 0) return undefined
    const problemText = problems.slice(0, MAX_PROBLEMS).join('; ')
    return `the arguments of ${name} do not fit its schema: ${problemText}`
  } catch (error) {
    // An invalid schema is not the model's fault.
    if (error instanceof SchemaError || error instanceof SlowSchema) return undefined
    throw error
  }
}

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
