// unknown-tool: the model calls a tool that it was not offered.
import { z } from 'zod'
import { changeToolCalls } from './answer-tools.ts'
import { defineFault } from './define.ts'

export const unknownTool = defineFault({
  type: 'unknown-tool',
  summary: 'The model calls a tool that it was not offered, in the place of each that it calls.',
  points: ['provider', 'gateway'],
  inAnswer: true,
  options: { name: z.string().min(1).default('made_up_tool').describe('What it calls.') },
  example: {},
  apply: ({ name }, next, context) => changeToolCalls(next, context, (called) => ({ ...called, name })),
})
