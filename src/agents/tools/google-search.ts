// The tool kind `google_search`, which never searches the web.
import { builtInTool } from './define.ts'
import { functionName, textSchema } from './schema.ts'
import { standIn } from './stand-in.ts'

const RESULTS = 3

/** Web search. No request leaves the program: a fixture or generated hits are the result. */
export const googleSearch = builtInTool({
  type: 'google_search',
  description: 'Searches the web and gives titles, addresses and snippets.',
  arguments: () => ({ query: textSchema('What to search for.') }),
  run: (call, context) =>
    standIn(call, context, () => {
      const query = String(call.arguments.query)
      const results = Array.from({ length: RESULTS }, (_, index) => ({
        title: `${query} (made-up result ${index + 1})`,
        url: `https://example.com/${functionName(query).toLowerCase()}/${index + 1}`,
        snippet: `Nobody searched for this: a made-up snippet about ${query}.`,
      }))
      return { query, results }
    }),
})
