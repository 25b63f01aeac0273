// The tool kind `http`, which never calls a server.
import type { ToolKind } from './define.ts'
import { storedTool } from './record.ts'
import { argumentsSchema, functionName } from './schema.ts'
import { standInBySchema } from './stand-in.ts'

/** HTTP tools of the workspace. No request leaves the program: a fixture or a generated value is the result. */
export const httpTool: ToolKind = {
  types: ['http'],
  definitions(entry) {
    const { key = entry.type, description = '', http } = storedTool(entry)
    const visible = Object.entries(http?.arguments ?? {}).filter(([, { send_to_model }]) => send_to_model)
    const optional = visible.filter(([, one]) => one.default_value !== undefined).map(([name]) => name)
    const properties = Object.fromEntries(
      visible.map(([name, one]) => [
        name,
        {
          type: one.type,
          description: one.description,
          ...(one.default_value !== undefined && { default: one.default_value }),
        },
      ]),
    )
    return [{ name: functionName(key), description, parameters: argumentsSchema(properties, optional) }]
  },
  run(call, context) {
    const { http } = storedTool(call.entry)
    const { method, url } = http?.blueprint ?? {}
    const make = () => ({ status: 200, request: { method, url }, arguments: call.arguments })
    return standInBySchema(call, context, { schema: http?.output_schema, make })
  },
}
