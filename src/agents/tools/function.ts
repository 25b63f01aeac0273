// Functions of the client: the task waits for the result that it sends.
import type { Fields } from '../../contract/record.ts'
import type { ToolKind } from './define.ts'

const ANY_ARGUMENTS = { type: 'object', properties: {}, required: [] }

export const functionTool: ToolKind = {
  types: ['function'],
  definitions({ record }) {
    const { name, description, parameters } = (record?.function ?? {}) as Fields
    return [
      {
        name: String(name ?? record?.key ?? ''),
        description: String(description ?? record?.description ?? ''),
        parameters: (parameters ?? ANY_ARGUMENTS) as Record<string, unknown>,
      },
    ]
  },
}
