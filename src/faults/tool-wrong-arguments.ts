// tool-wrong-arguments: the arguments of a tool call do not match its schema.
import { z } from 'zod'
import { asObject, type JsonObject, parsedJson } from '../lib/values.ts'
import { changeToolCalls, type OfferedFunction, offeredFunctions } from './answer-tools.ts'
import { defineFault } from './define.ts'

/** Tests that a client validates tool arguments: those of the model do not match the schema of the tool. */
export const toolWrongArguments = defineFault({
  type: 'tool-wrong-arguments',
  summary: 'The arguments of a tool call do not match the schema of the tool.',
  inAnswer: true,
  options: {
    as: z
      .enum(['type', 'missing', 'json', 'shape', 'string', 'fenced'])
      .default('type')
      .describe(
        '`type`: values of other types. `missing`: no arguments at all. `json`: half of their JSON, also instead of `type` and `missing` for a tool without properties. `shape`: the arguments inside a list. `string`: their JSON encoded once more as a JSON string. `fenced`: their JSON in a Markdown code block.',
      ),
  },
  apply: ({ as }, next, context) => {
    const offered = offeredFunctions(context)
    return changeToolCalls(next, context, {
      change: (call) => {
        const tool = offered.find(({ name }) => name === call.name)
        return [{ ...call, arguments: FORMS[as](call.arguments, tool) }]
      },
    })
  },
})

type Form = (json: string, tool: OfferedFunction | undefined) => string

const propertiesOf = (tool: OfferedFunction | undefined) => Object.entries(asObject(tool?.parameters.properties) ?? {})

/** Changes the properties of the schema. Half of the JSON for a tool without properties. */
const byProperties =
  (change: (properties: [string, unknown][]) => [string, unknown][]): Form =>
  (_, tool) => {
    const properties = propertiesOf(tool)
    return properties.length === 0 ? HALF : JSON.stringify(Object.fromEntries(change(properties)))
  }

const HALF = '{"'

const FORMS: Readonly<Record<'type' | 'missing' | 'json' | 'shape' | 'string' | 'fenced', Form>> = {
  type: byProperties((properties) => properties.map(([name, schema]) => [name, wrongFor(asObject(schema))])),
  missing: byProperties(() => []),
  json: () => HALF,
  shape: (json) => JSON.stringify([parsedJson(json) ?? json]),
  string: (json) => JSON.stringify(json),
  fenced: (json) => `\`\`\`json\n${json}\n\`\`\``,
}

/** A value of a type that a schema does not allow. */
const wrongFor = (schema: JsonObject | undefined): unknown => (schema?.type === 'object' ? 'wrong' : { wrong: true })
