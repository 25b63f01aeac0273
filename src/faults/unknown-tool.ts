// unknown-tool: the model calls a tool that was not offered.
import { z } from 'zod'
import { changeToolCalls } from './answer-tools.ts'
import { defineFault } from './define.ts'

/** Tests how a client handles a call of a tool that it never offered. */
export const unknownTool = defineFault({
  type: 'unknown-tool',
  summary: 'Each tool call of the model names a tool that was not offered.',
  inAnswer: true,
  options: { name: z.string().min(1).default('made_up_tool').describe('Name of the unknown tool.') },
  apply: ({ name }, next, context) => changeToolCalls(next, context, { change: (call) => [{ ...call, name }] }),
})
