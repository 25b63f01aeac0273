// tool-wrong-arguments: what the model asks a tool for does not fit the tool's schema.
import { z } from 'zod'
import { asObject, type JsonObject } from '../lib/values.ts'
import { changeToolCalls, offeredFunctions } from './answer-tools.ts'
import { defineFault } from './define.ts'

/** Tests that a client validates tool arguments: those of the model do not match the schema of the tool. */
export const toolWrongArguments = defineFault({
  type: 'tool-wrong-arguments',
  summary: 'The arguments of a tool call do not match the schema of the tool.',
  points: ['provider', 'gateway'],
  inAnswer: true,
  options: {
    as: z
      .enum(['type', 'missing', 'json'])
      .default('type')
      .describe(
        'Values of other types, no arguments at all, or half of their JSON, which every schema without properties gets.',
      ),
  },
  example: {},
  apply: ({ as }, next, context) =>
    changeToolCalls(next, context, (called) => {
      const offered = offeredFunctions(context).find(({ name }) => name === called.name)
      const properties = Object.entries(asObject(offered?.parameters.properties) ?? {})
      if (as === 'json' || properties.length === 0) return { ...called, arguments: '{"' }
      const wrong = as === 'missing' ? [] : properties.map(([name, schema]) => [name, wrongFor(asObject(schema))])
      return { ...called, arguments: JSON.stringify(Object.fromEntries(wrong)) }
    }),
})

/** A value of a type that a schema does not name. */
const wrongFor = (schema: JsonObject | undefined): unknown => (schema?.type === 'object' ? 'wrong' : { wrong: true })
