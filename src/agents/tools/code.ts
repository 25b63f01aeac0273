// The tool kind `code`, which never executes code.
import type { ToolKind } from './define.ts'
import { storedTool } from './record.ts'
import { ANY_ARGUMENTS, functionName } from './schema.ts'
import { standInBySchema } from './stand-in.ts'

/** Code tools of the workspace. The code is never executed: a fixture or a generated value is the result. */
export const codeTool: ToolKind = {
  types: ['code'],
  definitions(entry) {
    const { key = entry.type, description = '', code_tool } = storedTool(entry)
    return [{ name: functionName(key), description, parameters: code_tool?.parameters ?? ANY_ARGUMENTS }]
  },
  run(call, context) {
    const { code_tool } = storedTool(call.entry)
    const make = () => ({ language: code_tool?.language, arguments: call.arguments, output: '' })
    return standInBySchema(call, context, { schema: code_tool?.output_schema, make })
  },
}
