// The manifest of an agent for a turn: its references are resolved once, and stored with the task.

import type { TaskStep } from '../../contract/core/trace.ts'
import type { AgentBody, AgentTool } from '../../contract/workspace/agent.ts'
import type { Caller, Fields } from '../../contract/workspace/record.ts'
import type { TaskRecord } from '../../contract/workspace/task-record.ts'
import type { Records } from '../../db/record-store.ts'
import { tools } from '../../resources/tools.ts'
import {
  type AgentManifest,
  MAX_NAME_LENGTH,
  type ToolDefinition,
  type ToolEntry,
  type ToolKind,
  type ToolResult,
} from '../tools/define.ts'
import { toolKindOf } from '../tools/index.ts'

/** A check of sampled iterations. */
export type AgentCheck = Pick<AgentBody['settings']['evaluators'][number], 'id' | 'execute_on' | 'sample_rate'>
type TurnSettings = Pick<
  AgentBody['settings'],
  'max_iterations' | 'max_execution_time' | 'max_cost' | 'tool_approval_required' | 'evaluators' | 'guardrails'
>

/** A fallback model. Settings that it lacks are those of the first model. */
interface FallbackModel {
  model: string
  parameters?: Record<string, unknown> | undefined
  retry?: Record<string, unknown> | undefined
  timeout?: { call_timeout: number } | undefined
}

/** All that a turn needs of its agent. */
export interface TurnManifest extends AgentManifest {
  model: string
  parameters: Record<string, unknown>
  retry: Record<string, unknown> | undefined
  /** In order. */
  fallbacks: readonly FallbackModel[]
  settings: TurnSettings
  /** The system message, with variables filled in. */
  system: string
}
/** A task with the manifest of its agent. */
export interface AgentTaskRecord extends TaskRecord {
  manifest: TurnManifest
  /** Results of tool calls that wait for earlier ones, by call id. */
  early?: Record<string, EarlyOutcome> | undefined
}

/** The result of a tool call, and its journal entry. */
export interface EarlyOutcome {
  result: ToolResult
  step: TaskStep
}

/** Parameters of a call, not of one of its models. */
const OF_THE_CALL = ['name', 'guardrails', 'fallbacks', 'cache', 'load_balancer', 'timeout']

function fallbackOf(choice: AgentBody['model']): FallbackModel {
  if (typeof choice === 'string') return { model: choice }
  const { id: model, parameters: ownParameters = {}, retry } = choice
  const parameters = Object.fromEntries(Object.entries(ownParameters).filter(([name]) => !OF_THE_CALL.includes(name)))
  const { timeout } = ownParameters
  return {
    model,
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...(retry && { retry }),
    ...(timeout && { timeout }),
  }
}

/** The manifest of a stored agent; `system` is its system message. */
export function manifestOf(
  stored: Fields,
  { records, caller }: { records: Records; caller: Caller },
  system: string,
): TurnManifest {
  const agent = stored as unknown as AgentBody & { _id: string; tool_entries: readonly AgentTool[] }
  const { _id, key, role, description, instructions, memory_stores, knowledge_bases, team_of_agents } = agent
  const { tools: entries, ...settings } = agent.settings
  const chosen: Exclude<AgentBody['model'], string> =
    typeof agent.model === 'string' ? { id: agent.model } : agent.model
  const { fallbacks, ...parameters } = chosen.parameters ?? {}
  return {
    ...{ _id, key, role, description, instructions, memory_stores, knowledge_bases, team_of_agents, settings, system },
    model: chosen.id,
    parameters,
    retry: chosen.retry,
    fallbacks: [
      ...(agent.fallback_models ?? []).map(fallbackOf),
      ...(fallbacks ?? []).map(({ model: fallback }) => ({ model: fallback })),
    ],
    tools: entries.flatMap(({ type, key, id: toolId, tool_id, requires_approval = false, timeout }, index) => {
      const id = agent.tool_entries[index]?.id ?? ''
      const named = key ?? toolId
      // A tool may have another key by now; one with its key may be new.
      const record =
        named === undefined
          ? null
          : (records.get(tools.kind, caller.workspace, id)?.body ?? records.named(tools.kind, caller.workspace, named))
      // A tool that was deleted is not offered.
      if (record === undefined) return []
      return [{ type, id, requires_approval, timeout, ...(tool_id !== undefined && { tool_id }), record }]
    }),
  }
}

/** The system message of an agent before its variables are filled in. */
export function systemTextOf(agent: Fields): string {
  const { key, display_name, role, description, instructions, system_prompt } = agent as unknown as AgentBody
  const usual = `You are ${display_name ?? key}, ${role}. ${description}`
  return `${system_prompt ?? usual}\n\n${instructions}`
}

/** A function that is offered to the model, and its tool. */
export interface AgentFunction {
  kind: ToolKind
  entry: ToolEntry
  definition: ToolDefinition
}

/** All functions of an agent by unique name: of two with the same name, the second becomes `<name>_2`. */
export function offeredTools(agent: AgentManifest): Map<string, AgentFunction> {
  const offered = new Map<string, AgentFunction>()
  const entries = agent.tools.filter(
    (entry, index) =>
      agent.tools.findIndex((other) => other.id === entry.id && other.tool_id === entry.tool_id) === index,
  )
  for (const entry of entries) {
    const kind = toolKindOf(entry.type)
    for (const definition of kind?.definitions(entry, agent) ?? []) {
      const name = freeName(definition.name, offered)
      if (kind) offered.set(name, { kind, entry, definition: { ...definition, name } })
    }
  }
  return offered
}

function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  for (let count = 1; ; count++) {
    const suffix = count === 1 ? '' : `_${count}`
    const free = `${name.slice(0, MAX_NAME_LENGTH - suffix.length)}${suffix}`
    if (!taken.has(free)) return free
  }
}

/** The facts about the task behind a call, for faults. */
export const agentFacts = ({ agent_key: agent, _id: task }: AgentTaskRecord, iteration: number) => ({
  agent,
  task,
  iteration,
})
