// The tool kind `mcp`, which never calls a server.
import type { ToolEntry, ToolKind } from './define.ts'
import { storedTool } from './record.ts'
import { ANY_ARGUMENTS, functionName } from './schema.ts'
import { standInBySchema } from './stand-in.ts'

/** The selected tool of the server; undefined if the workspace tool does not list it. */
const serverTool = (entry: ToolEntry) =>
  storedTool(entry).mcp?.tools.find(({ id, name }) => id === entry.tool_id || name === entry.tool_id)

/** Tools of MCP servers. No server is called: a fixture or a generated value is the result. */
export const mcpTool: ToolKind = {
  types: ['mcp'],
  definitions(entry) {
    const found = serverTool(entry)
    const description = found?.description ?? storedTool(entry).description ?? ''
    const name = functionName(found?.name ?? entry.tool_id ?? entry.type)
    return [{ name, description, parameters: found?.schema ?? ANY_ARGUMENTS }]
  },
  run(call, context) {
    const make = () => ({ content: [{ type: 'text', text: `${call.name} gave nothing.` }], arguments: call.arguments })
    return standInBySchema(call, context, { schema: serverTool(call.entry)?.output_schema, make })
  },
}
