// Calls of tools through the faults of the scenario that is played.
import type { FaultFacts } from '../contract/fault.ts'
import { toolCalls } from '../contract/tool-fixture.ts'
import { toolReply } from '../faults/define.ts'
import { withFaults } from '../gateway/attempt.ts'
import type { AgentFunction } from './manifest.ts'
import { agentFacts } from './model-step.ts'
import type { ToolCall, ToolContext, ToolKind, ToolResult } from './tools/define.ts'
import { toolNames } from './tools/record.ts'
import type { Turn } from './turn.ts'

const SUBJECT = { name: toolCalls.name, path: '/v2/agents/:key/task' }

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
      const about = { operation: SUBJECT, request: call.arguments, model: '', stream: false }
      const facts: FaultFacts = {
        ...about,
        at: 'tool',
        position: 0,
        attempt: 1,
        headers: new Headers(),
        identity: task.says.identity?.id,
        thread: task.says.thread?.id,
        inner: true,
        text: '',
        agent: agentFacts(turn, context.iteration),
        tool,
        key: `${task._id}:${task.turn.number}:${context.iteration}:${call.id}`,
        now: clock.now(),
      }
      const answer = async () => toolReply(await run(call, context))
      const { body } = await withFaults(playing.faults(facts), answer, {
        about: { ...about, tool, clock, signal: context.signal },
        applied,
      })
      return (body as { value: ToolResult }).value
    },
  }
}
