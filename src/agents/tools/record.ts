// The workspace tool to which an agent's entry refers.
import type { ToolParts } from '../../contract/workspace/tool.ts'
import type { ToolCall, ToolEntry } from './define.ts'

/** Its fields; empty if it was deleted. */
interface StoredTool extends ToolParts {
  key?: string
  description?: string
}

/** The tool of an entry, as it is stored. */
export const storedTool = ({ record }: ToolEntry): StoredTool => (record ?? {}) as StoredTool

/** The names of a call's tool: the function's name, the tool's key, its type. */
export function toolNames({ name, entry }: Pick<ToolCall, 'name' | 'entry'>): string[] {
  const { key } = storedTool(entry)
  return [name, ...(key === undefined ? [] : [key]), entry.type]
}
