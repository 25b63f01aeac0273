// Calls of tools through the faults of the scenario that is played.
import { AGENT_SUBJECTS } from '../contract/agent-subjects.ts'
import { valueReply } from '../contract/reply.ts'
import { withFaults } from '../gateway/attempt.ts'
import { withoutLatency } from '../lib/clock.ts'
import { taskFacts } from './fault-facts.ts'
import type { AgentFunction } from './manifest.ts'
import type { ToolCall, ToolContext, ToolKind, ToolResult } from './tools/define.ts'
import { toolNames } from './tools/record.ts'
import type { Turn } from './turn.ts'

/** The kind of a tool, whose calls meet the scenario's faults; `applied` becomes the rules whose faults have acted. */
export function throughToolFaults(turn: Turn, { kind }: AgentFunction, applied: string[]): Pick<ToolKind, 'run'> {
  const { session, task, deps } = turn
  const playing = deps.gateway.runs.ofCall(session, task.from.scenario)
  const { run } = kind
  if (!playing || !run) return kind
  return {
    async run(call: ToolCall, context: ToolContext): Promise<ToolResult> {
      const { clock } = session
      const tool = toolNames(call)
      const { iteration } = context
      const about = { operation: AGENT_SUBJECTS.tool, request: call.arguments, model: '', stream: false }
      const facts = taskFacts(turn, { ...about, at: 'tool', tool, iteration, key: `${iteration}:${call.id}` })
      const answer = async () => valueReply(await run(call, context))
      const { body } = await withFaults(playing.faults(facts), answer, {
        about: { ...about, tool, clock: withoutLatency(clock), signal: context.signal },
        onActed: (rule) => applied.push(rule),
      })
      return (body as { value: ToolResult }).value
    },
  }
}
