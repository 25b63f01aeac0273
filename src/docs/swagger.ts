// Swagger UI at /swagger and the document at /swagger/json, every byte of them from the executable.
import { openapi } from '@elysiajs/openapi'
import type { Elysia } from 'elysia'
import { readAsset } from '../lib/assets.ts'
import { type DocumentSource, INFO, openapiParts } from './openapi.ts'

const SCRIPT = '/swagger/assets/swagger-ui-bundle.js'
const STYLE = '/swagger/assets/swagger-ui.css'
/** File of Swagger UI and media type by path; a browser asks for the icon by itself. */
const ASSETS: Record<string, [file: string, type: string]> = {
  [SCRIPT]: ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  [STYLE]: ['swagger-ui.css', 'text/css; charset=utf-8'],
  '/favicon.ico': ['favicon-32x32.png', 'image/png'],
}

const PAGE = '/swagger'
const DOCUMENT = '/swagger/json'
/** Paths of the page and all that it loads: nothing in them is secret, and a browser has no token to send. */
export const docPaths: readonly string[] = [PAGE, DOCUMENT, ...Object.keys(ASSETS)]

/** The groups of operations, in the order of the page. */
const TAGS = [
  { name: 'Router', description: 'The model gateway.' },
  { name: 'Projects', description: 'What the first name of a path stands for.' },
  { name: 'Datasets', description: 'Datasets and their datapoints.' },
  { name: 'Knowledge', description: 'Files, and what can be found in them.' },
  { name: 'Evaluators', description: 'Questions about a text that a model or a schema answers.' },
  { name: 'Human review sets', description: 'Which spans people review.' },
  { name: 'Agents', description: 'Agents, and the tasks that they work on.' },
  { name: 'Memory', description: 'What agents remember, by store and entity.' },
  { name: 'Tools', description: 'Functions that models may call.' },
  { name: 'Contacts', description: 'The end users of whoever calls.' },
  { name: 'Feedback', description: 'Ratings of generations, dispatched as events.' },
  { name: 'Emulator', description: 'What only the emulator has: traces and health.' },
]

/** Mounts the page, its assets and the document, whose text `rename` puts into the words of the deployment. */
export function mountDocs(app: Elysia, documented: DocumentSource, rename: (text: string) => string): void {
  let made: ReturnType<typeof openapiParts> | undefined
  const parts = () => {
    made ??= JSON.parse(rename(JSON.stringify(openapiParts(documented)))) as ReturnType<typeof openapiParts>
    return made
  }
  for (const [path, [file, type]] of Object.entries(ASSETS)) {
    const headers = { 'content-type': type, 'cache-control': 'public, max-age=86400' }
    const serve = () => new Response(readAsset(`node_modules/swagger-ui-dist/${file}`).slice(), { headers })
    app.get(path, serve, { detail: { hide: true } })
  }
  app.use(
    openapi({
      path: PAGE,
      specPath: DOCUMENT,
      provider: 'swagger-ui',
      openapiVersion: '3.1.0',
      swagger: {
        cdn: SCRIPT,
        theme: STYLE,
        defaultModelsExpandDepth: 0,
        persistAuthorization: true,
        tryItOutEnabled: true,
      } as never,
      documentation: {
        info: INFO(documented.version),
        security: [{ bearer: [] }],
        tags: TAGS,
        // Read by the plugin when the document is asked for, so nothing of it is made at start.
        get paths() {
          return parts().paths as never
        },
        get components() {
          return {
            securitySchemes: {
              bearer: {
                type: 'http' as const,
                scheme: 'bearer',
                description: 'Any token; `session:<name>` works in a session of its own.',
              },
            },
            schemas: parts().schemas as never,
          }
        },
      },
    }),
  )
}
