// The tool of the workspace that an entry of an agent refers to.
import type { ToolParts } from '../../contract/tool.ts'
import type { ToolEntry } from './define.ts'

/** What is read of it; empty when it is gone. */
export interface StoredTool extends ToolParts {
  key?: string
  description?: string
}

/** The tool of an entry, as it is stored. */
export const storedTool = ({ record }: ToolEntry): StoredTool => (record ?? {}) as StoredTool
