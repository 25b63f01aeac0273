// The tool kind `web_scraper`, which never fetches a page.
import { builtInTool } from './define.ts'
import { textSchema } from './schema.ts'
import { standIn } from './stand-in.ts'

/** Reads a web page. No request leaves the program: a fixture or a generated text is the result. */
export const webScraper = builtInTool({
  type: 'web_scraper',
  description: 'Gives the text of a page of the web.',
  arguments: () => ({ url: textSchema('Address of the page.') }),
  run: (call, context) =>
    standIn(call, context, () => {
      const url = String(call.arguments.url)
      return { url, title: `Made-up page ${url}`, content: `Nobody fetched this page: a made-up text for ${url}.` }
    }),
})
