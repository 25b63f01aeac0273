// Tools that a provider runs itself, such as `openai:web_search`, as functions that fixtures answer.
import type { ToolKind } from './define.ts'
import { argumentsSchema, functionName, textSchema } from './schema.ts'
import { standIn } from './stand-in.ts'

/** The argument of each; default `input`. */
const TOOL_ARGUMENTS: readonly [RegExp, string, string][] = [
  [/search/, 'query', 'What to search for.'],
  [/code|shell/, 'code', 'What to run.'],
  [/image/, 'prompt', 'What to draw.'],
  [/fetch|url/, 'url', 'Address of the page.'],
]

/** Tools that a provider runs itself (`<provider>:<tool>`), emulated as functions that fixtures answer. */
export const providerTool: ToolKind = {
  types: ['*:*'],
  definitions({ type }) {
    const [provider, tool = ''] = type.split(':')
    const [, name, description] = TOOL_ARGUMENTS.find(([pattern]) => pattern.test(tool)) ?? [
      /./,
      'input',
      'What it works on.',
    ]
    const parameters = argumentsSchema({ [name]: textSchema(description) })
    return [{ name: functionName(`${provider}_${tool}`), description: `The tool ${tool} of ${provider}.`, parameters }]
  },
  run: (call, context) => standIn(call, context, () => ({ tool: call.entry.type, arguments: call.arguments })),
}
