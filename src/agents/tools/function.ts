// The tool kind `function`: the task waits for the result of the client.
import type { ToolKind } from './define.ts'
import { storedTool } from './record.ts'
import { ANY_ARGUMENTS, functionName } from './schema.ts'

/** Functions of the client. The task stops until the client sends the results. */
export const functionTool: ToolKind = {
  types: ['function'],
  definitions(entry) {
    const { key = entry.type, description = '', function: called } = storedTool(entry)
    return [
      {
        name: called?.name ?? functionName(key),
        description: called?.description ?? description,
        parameters: called?.parameters ?? ANY_ARGUMENTS,
      },
    ]
  },
}
