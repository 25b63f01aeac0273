// runaway: the model never finishes, and calls a tool in every response.
import { z } from 'zod'
import { satisfying } from '../answers/schemas.ts'
import { fingerprint } from '../lib/ids.ts'
import { objectsIn } from '../lib/values.ts'
import { changeMessage, offeredFunctions } from './answer-tools.ts'
import { defineFault } from './define.ts'

/** Tests the iteration and cost limits of agents: every response is a valid tool call. */
export const runaway = defineFault({
  type: 'runaway',
  summary: 'The model calls a tool with valid arguments in every response and never finishes.',
  inAnswer: true,
  options: { tool: z.string().optional().describe('Name of the offered tool to call. Default: the first one.') },
  apply: ({ tool }, next, context) =>
    changeMessage(next, context, async (message) => {
      if (objectsIn(message.tool_calls).length > 0) {
        context.skipped('the response already calls a tool')
        return undefined
      }
      const offered = offeredFunctions(context)
      const called = tool === undefined ? offered[0] : offered.find(({ name }) => name === tool)
      if (!called) {
        context.skipped(tool === undefined ? 'no tool was offered' : `no tool named ${tool} was offered`)
        return undefined
      }
      const { name, parameters } = called
      const sample = await context.clock.work(satisfying(parameters, 'tools', context))
      const id = `call_${fingerprint(`${context.random('call')}:${name}`)}`
      const call = { id, type: 'function', function: { name, arguments: JSON.stringify(sample ?? {}) } }
      return { ...message, content: null, tool_calls: [{ index: 0, ...call }] }
    }),
})
