// A tool kind of agents. One file per kind; the loop runs it without knowing which one it is.
import type { CallSequences } from '../../contract/core/sequence.ts'
import type { AgentBody } from '../../contract/workspace/agent.ts'
import type { Caller, Fields } from '../../contract/workspace/record.ts'
import type { KnowledgeDirectory } from '../../gateway/types.ts'
import type { Session } from '../../sessions/sessions.ts'

/** A function as offered to a model. */
export interface ToolDefinition {
  name: string
  description: string
  /** JSON Schema of the arguments. */
  parameters: Record<string, unknown>
}

/** An entry of an agent's `settings.tools` with its resolved reference, as of the start of the turn. */
export interface ToolEntry {
  /** The type of the tool: `current_date`, `function`, `openai:web_search`. */
  type: string
  /** Id of the entry, as in the agent's response. */
  id: string
  /** The selected tool of an MCP server, by id or name. */
  tool_id?: string
  requires_approval: boolean
  /** Timeout of a call in seconds, default two minutes. */
  timeout?: number | undefined
  /** The stored tool of the workspace; null for built-in tools. */
  record: Fields | null
}

/** An agent as of the start of a task's turn: the part that a tool may read. */
export interface AgentManifest extends Pick<AgentBody, 'key' | 'role' | 'description' | 'instructions'> {
  _id: string
  /** Keys or ids. */
  memory_stores: readonly string[]
  knowledge_bases: AgentBody['knowledge_bases']
  team_of_agents: readonly { key: string; role?: string | undefined }[]
  tools: readonly ToolEntry[]
}

/** One tool call. */
export interface ToolCall {
  /** Name of the function, as offered to the model. */
  name: string
  /** `tool_call_id`. */
  id: string
  /** They match the schema of the definition. */
  arguments: Record<string, unknown>
  entry: ToolEntry
}

/** The result of a tool call: a result or an error for the model, or the sub-task that must continue first. */
export type ToolResult =
  | { result: unknown; fixture?: string }
  | { error: string; fixture?: string }
  | { pending: { task: string } }

/** Replies for tools that would leave this machine. */
export interface ToolFixtures {
  /** The reply of the first matching fixture, after its delay; undefined if none matches. */
  answer(call: ToolCall, context: ToolContext): Promise<ToolResult | undefined>
}

/** What a tool may know about the calling task, and the services that it may use. */
export interface ToolContext {
  session: Session
  caller: Caller
  task: { id: string }
  agent: AgentManifest
  /** Its positions in sequences of fixtures. */
  sequences: CallSequences
  /** The entity of the task's memory, if it names one. */
  memory: { entity_id: string } | undefined
  /** 1, 2, ... in the turn. */
  iteration: number
  /** Aborts when the result is no longer needed. */
  signal: AbortSignal
  fixtures: ToolFixtures
  /** Searches the knowledge bases of the workspace. */
  knowledge: KnowledgeDirectory
  /** Delegates a message to another agent in a sub-task. The same call never creates a second one. */
  delegate(agent: string, message: string, call: ToolCall): Promise<ToolResult>
}

/** One tool kind. */
export interface ToolKind {
  /** The values of `type` in `settings.tools` that select it; `*` matches any characters. */
  readonly types: readonly string[]
  /** The functions that are offered to a model for an entry. */
  definitions(entry: ToolEntry, agent: AgentManifest): readonly ToolDefinition[]
  /** Runs one call, idempotently. A kind without it belongs to the client, who sends the result. */
  run?(call: ToolCall, context: ToolContext): Promise<ToolResult>
}

interface BuiltInTool extends Required<Pick<ToolKind, 'run'>> {
  /** The `type` of its entries, which is the name of its function too. */
  type: string
  description: string
  /** The schemas of its arguments; default: none. */
  arguments?(agent: AgentManifest): Record<string, ToolDefinition['parameters']>
  /** The arguments that a call may leave out. */
  optional?: readonly string[]
}

/** A tool kind with one function. */
export const builtInTool = ({ type, description, arguments: schemas, optional, run }: BuiltInTool): ToolKind => ({
  types: [type],
  definitions: (_, agent) => [
    { name: type, description, parameters: argumentsSchema(schemas?.(agent) ?? {}, optional) },
  ],
  run,
})

type JsonSchema = Record<string, unknown>

/**
 * The schema of arguments. All are required except the named ones.
 * @example
 * argumentsSchema({ query: textSchema('The question.'), note: textSchema('A note.') }, ['note']).required // => ['query']
 */
export function argumentsSchema(properties: Record<string, JsonSchema>, optional: readonly string[] = []): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, required, additionalProperties: false }
}

/**
 * The schema of a text.
 * @example
 * textSchema('The question.') // => { type: 'string', description: 'The question.' }
 */
export const textSchema = (description: string): JsonSchema => ({ type: 'string', description })

/** The schema of one of several texts, or of any text if there are none. */
export const oneOfTexts = (description: string, values: readonly string[]): JsonSchema => ({
  ...textSchema(description),
  ...(values.length > 0 && { enum: [...new Set(values)] }),
})

/** The schema of any arguments. */
export const ANY_ARGUMENTS: JsonSchema = { type: 'object', properties: {}, required: [] }

/** Maximum length of a function name at providers. */
export const MAX_NAME_LENGTH = 64
/**
 * A valid function name: letters, digits, `_` and `-`, at most 64.
 * @example
 * functionName('get weather') // => 'get_weather'
 * functionName('') // => '_'
 */
export const functionName = (name: string): string =>
  name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, MAX_NAME_LENGTH) || '_'
