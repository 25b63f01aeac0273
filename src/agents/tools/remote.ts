// Tools that would leave this machine or run code: a fixture replaces them, or a result that is marked as generated.
import { satisfying } from '../../answers/schemas.ts'
import { ApiError } from '../../contract/core/error.ts'
import {
  argumentsSchema,
  builtInTool,
  functionName,
  type ToolCall,
  type ToolContext,
  type ToolKind,
  type ToolResult,
  textSchema,
} from './define.ts'

/** Marks a generated result. */
const MADE_UP = {
  generated: true,
  note: 'This result is made up: nothing was called or run. A fixture in fixtures/agents.tools gives another.',
}

/** The reply of a fixture, a value of the output schema if there is one, or the result of `make`. */
export async function standIn(
  call: ToolCall,
  context: ToolContext,
  { schema, make }: { schema?: object | undefined; make: () => Record<string, unknown> },
): Promise<ToolResult> {
  const reply = await context.fixtures.answer(call, context)
  if (reply) return reply
  if (!schema) return { result: { ...MADE_UP, ...make() } }
  try {
    const result = await context.session.clock.work(
      satisfying(schema, 'output_schema', { signal: context.signal, jobLimits: context.session.jobLimits }),
    )
    return { result: { ...MADE_UP, result } }
  } catch (error) {
    if (error instanceof ApiError) return { error: error.message }
    throw error
  }
}

const RESULTS = 3

/** Web search. No request leaves the program: a fixture or generated hits are the result. */
export const googleSearch = builtInTool({
  type: 'google_search',
  description: 'Searches the web and gives titles, addresses and snippets.',
  arguments: () => ({ query: textSchema('What to search for.') }),
  run(call, context) {
    const query = String(call.arguments.query)
    const results = Array.from({ length: RESULTS }, (_, index) => ({
      title: `${query} (made-up result ${index + 1})`,
      url: `https://example.com/${functionName(query).toLowerCase()}/${index + 1}`,
      snippet: `Nobody searched for this: a made-up snippet about ${query}.`,
    }))
    return standIn(call, context, { make: () => ({ query, results }) })
  },
})

/** Reads a web page. No request leaves the program: a fixture or a generated text is the result. */
export const webScraper = builtInTool({
  type: 'web_scraper',
  description: 'Gives the text of a page of the web.',
  arguments: () => ({ url: textSchema('Address of the page.') }),
  run(call, context) {
    const url = String(call.arguments.url)
    const page = { url, title: `Made-up page ${url}`, content: `Nobody fetched this page: a made-up text for ${url}.` }
    return standIn(call, context, { make: () => page })
  },
})

/** The argument of each tool of a provider, the first that matches. */
const TOOL_ARGUMENTS: readonly [RegExp, string, string][] = [
  [/search/, 'query', 'What to search for.'],
  [/code|shell/, 'code', 'What to run.'],
  [/image/, 'prompt', 'What to draw.'],
  [/fetch|url/, 'url', 'Address of the page.'],
  [/(?:)/, 'input', 'What it works on.'],
]

/** Tools that a provider runs itself (`<provider>:<tool>`), emulated as functions that fixtures answer. */
export const providerTool: ToolKind = {
  types: ['*:*'],
  definitions({ type }) {
    const [provider, tool = ''] = type.split(':')
    const [, name = '', description = ''] = TOOL_ARGUMENTS.find(([pattern]) => pattern.test(tool)) ?? []
    const parameters = argumentsSchema({ [name]: textSchema(description) })
    return [{ name: functionName(`${provider}_${tool}`), description: `The tool ${tool} of ${provider}.`, parameters }]
  },
  run: (call, context) =>
    standIn(call, context, { make: () => ({ tool: call.entry.type, arguments: call.arguments }) }),
}
