// The tool of the workspace that an entry of an agent refers to.
import type { ToolParts } from '../../contract/workspace/tool.ts'
import type { ToolCall, ToolEntry } from './define.ts'

/** What is read of it; empty when it is gone. */
export interface StoredTool extends ToolParts {
  key?: string
  description?: string
}

/** The tool of an entry, as it is stored. */
export const storedTool = ({ record }: ToolEntry): StoredTool => (record ?? {}) as StoredTool

/** What the tool of a call goes by: the function's name, the tool's key, its type. */
export function toolNames({ name, entry }: Pick<ToolCall, 'name' | 'entry'>): string[] {
  const { key } = storedTool(entry)
  return [name, ...(key === undefined ? [] : [key]), entry.type]
}
