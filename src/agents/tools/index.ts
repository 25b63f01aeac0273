// The registry of the kinds of tools that agents have: one line each.
import { currentDate } from './current-date.ts'
import type { ToolKind } from './define.ts'
import { functionTool } from './function.ts'

export const toolKinds: readonly ToolKind[] = [currentDate, functionTool]
