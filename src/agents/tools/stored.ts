// The kinds of tools that the workspace stores. None of them calls a server or executes code.
import type { ToolParts } from '../../contract/workspace/tool.ts'
import { ANY_ARGUMENTS, argumentsSchema, functionName, type ToolCall, type ToolEntry, type ToolKind } from './define.ts'
import { standIn } from './remote.ts'

/** The fields of a stored tool; empty if there is none. */
interface StoredTool extends ToolParts {
  key?: string
  description?: string
}

/** The workspace tool to which an agent's entry refers. */
const storedTool = ({ record }: ToolEntry): StoredTool => (record ?? {}) as StoredTool

/** The names of a call's tool: the function's name, the tool's key, its type. */
export function toolNames({ name, entry }: Pick<ToolCall, 'name' | 'entry'>): string[] {
  const { key } = storedTool(entry)
  return [name, ...(key === undefined ? [] : [key]), entry.type]
}

/** The function of a stored tool: as the tool declares it, or else with the tool's key and description. */
function definitionOf(
  entry: ToolEntry,
  own: { name?: string; description?: string | undefined; parameters?: Record<string, unknown> | undefined } = {},
) {
  const { key = entry.type, description = '' } = storedTool(entry)
  return {
    name: own.name ?? functionName(key),
    description: own.description ?? description,
    parameters: own.parameters ?? ANY_ARGUMENTS,
  }
}

/** Functions of the client. The task stops until the client sends the results. */
export const functionTool: ToolKind = {
  types: ['function'],
  definitions: (entry) => [definitionOf(entry, storedTool(entry).function)],
}

/** Structured-output tools: the arguments that the model sends are the result. */
export const jsonSchemaTool: ToolKind = {
  types: ['json_schema'],
  definitions(entry) {
    const { name, description, schema: parameters } = storedTool(entry).json_schema ?? {}
    return [definitionOf(entry, { name, description, parameters })]
  },
  run: async (call, context) => (await context.fixtures.answer(call, context)) ?? { result: call.arguments },
}

/** HTTP tools of the workspace. No request leaves the program: a fixture or a generated value is the result. */
export const httpTool: ToolKind = {
  types: ['http'],
  definitions(entry) {
    const declared = Object.entries(storedTool(entry).http?.arguments ?? {})
    const visible = declared.filter(([, { send_to_model }]) => send_to_model)
    const optional = visible.filter(([, one]) => one.default_value !== undefined).map(([name]) => name)
    const properties = Object.fromEntries(
      visible.map(([name, { type, description, default_value: value }]) => [
        name,
        { type, description, ...(value !== undefined && { default: value }) },
      ]),
    )
    return [definitionOf(entry, { parameters: argumentsSchema(properties, optional) })]
  },
  run(call, context) {
    const { http } = storedTool(call.entry)
    const { method, url } = http?.blueprint ?? {}
    const make = () => ({ status: 200, request: { method, url }, arguments: call.arguments })
    return standIn(call, context, { schema: http?.output_schema, make })
  },
}

/** Code tools of the workspace. The code is never executed: a fixture or a generated value is the result. */
export const codeTool: ToolKind = {
  types: ['code'],
  definitions: (entry) => [definitionOf(entry, { parameters: storedTool(entry).code_tool?.parameters })],
  run(call, context) {
    const { code_tool } = storedTool(call.entry)
    const make = () => ({ language: code_tool?.language, arguments: call.arguments, output: '' })
    return standIn(call, context, { schema: code_tool?.output_schema, make })
  },
}

/** The selected tool of a server; undefined if the workspace tool does not list it. */
const serverTool = (entry: ToolEntry) =>
  storedTool(entry).mcp?.tools.find(({ id, name }) => id === entry.tool_id || name === entry.tool_id)

/** Tools of MCP servers. No server is called: a fixture or a generated value is the result. */
export const mcpTool: ToolKind = {
  types: ['mcp'],
  definitions(entry) {
    const { name = entry.tool_id ?? entry.type, description, schema: parameters } = serverTool(entry) ?? {}
    return [definitionOf(entry, { name: functionName(name), description, parameters })]
  },
  run(call, context) {
    const make = () => ({ content: [{ type: 'text', text: `${call.name} gave nothing.` }], arguments: call.arguments })
    return standIn(call, context, { schema: serverTool(call.entry)?.output_schema, make })
  },
}
