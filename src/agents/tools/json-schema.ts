// The tool kind `json_schema` for structured output: the model's arguments are the result.
import type { ToolKind } from './define.ts'
import { storedTool } from './record.ts'
import { ANY_ARGUMENTS, functionName } from './schema.ts'

/** Structured-output tools: the arguments that the model sends are the result. */
export const jsonSchemaTool: ToolKind = {
  types: ['json_schema'],
  definitions(entry) {
    const { key = entry.type, description = '', json_schema } = storedTool(entry)
    return [
      {
        name: json_schema?.name ?? functionName(key),
        description: json_schema?.description ?? description,
        parameters: json_schema?.schema ?? ANY_ARGUMENTS,
      },
    ]
  },
  run: async (call, context) => (await context.fixtures.answer(call, context)) ?? { result: call.arguments },
}
