// A kind of tool that agents have. One file a kind; the loop runs it without asking which it is.

import type { CallSequences } from '../../contract/core/sequence.ts'
import type { AgentBody } from '../../contract/workspace/agent.ts'
import type { Caller, Fields } from '../../contract/workspace/record.ts'
import type { KnowledgeDirectory } from '../../gateway/types.ts'
import type { Session } from '../../sessions/sessions.ts'

/** A function as a model is offered it. */
export interface ToolDefinition {
  name: string
  description: string
  /** JSON Schema of the arguments. */
  parameters: Record<string, unknown>
}

/** An entry of an agent's `settings.tools` with what it refers to, as it was when the turn began. */
export interface ToolEntry {
  /** The kind of tool: `current_date`, `function`, `openai:web_search`. */
  type: string
  /** Id of the entry, as the agent's answer shows it. */
  id: string
  /** The one of an MCP server's tools that is meant, by id or name. */
  tool_id?: string
  requires_approval: boolean
  /** Seconds that a call may take; two minutes when left out. */
  timeout?: number | undefined
  /** The tool of the workspace, as it is stored; null for tools that are built in. */
  record: Fields | null
}

/** An agent as it was when the turn of a task began: what a tool may read of it. */
export interface AgentManifest {
  _id: string
  key: string
  role: string
  description: string
  instructions: string
  /** Keys or ids. */
  memory_stores: readonly string[]
  knowledge_bases: AgentBody['knowledge_bases']
  team_of_agents: readonly { key: string; role?: string | undefined }[]
  tools: readonly ToolEntry[]
}

/** One call of a tool. */
export interface ToolCall {
  /** Of the function, as the model was offered it. */
  name: string
  /** `tool_call_id`. */
  id: string
  /** They fit the schema of the definition. */
  arguments: Record<string, unknown>
  entry: ToolEntry
}

/** What a call of a tool came to: what the model is told, or why it failed; or the sub-task that has to go on first. */
export type ToolResult =
  | { result: unknown; fixture?: string }
  | { error: string; fixture?: string }
  | { pending: { task: string } }

/** What stands in for tools that would leave this machine. */
export interface ToolFixtures {
  /** The answer of the first fixture that fits, after its wait; undefined when none does. */
  answer(call: ToolCall, context: ToolContext): Promise<ToolResult | undefined>
}

/** What a tool may know of the task that calls it, and whom it may ask. */
export interface ToolContext {
  session: Session
  caller: Caller
  task: { id: string; contextId: string }
  agent: AgentManifest
  /** How far the call uses sequences of fixtures. */
  sequences: CallSequences
  /** Whose memory is meant, when the task says so. */
  memory: { entity_id: string } | undefined
  /** 1, 2, ... of the turn. */
  iteration: number
  /** Aborted when nobody waits for the result any more. */
  signal: AbortSignal
  fixtures: ToolFixtures
  /** Searches the knowledge bases of the workspace. */
  knowledge: KnowledgeDirectory
  /** Hands a message to another agent as a task of its own; the same call never makes a second one. */
  delegate(agent: string, message: string, call: ToolCall): Promise<ToolResult>
}

/** One kind of tool. */
export interface ToolKind {
  /** The words of `type` in `settings.tools` that mean it; `*` stands for any characters. */
  readonly types: readonly string[]
  /** The functions that a model is offered for an entry. */
  definitions(entry: ToolEntry, agent: AgentManifest): readonly ToolDefinition[]
  /** Runs one call, and says nothing that differs when it runs again; a kind without it belongs to the client, who sends the result. */
  run?(call: ToolCall, context: ToolContext): Promise<ToolResult>
}
