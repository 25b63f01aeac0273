// Swagger UI at /swagger and the document at /swagger/json, every byte of them from the executable.
import { openapi } from '@elysiajs/openapi'
import type { Elysia } from 'elysia'
import { readAsset } from '../lib/assets.ts'
import { type Documented, INFO, openapiParts } from './openapi.ts'

const ASSETS: Record<string, string> = {
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

/** Mounts the page, its assets and the document; the document is made at the first request for it. */
export function mountDocs(app: Elysia, documented: Documented): void {
  let made: ReturnType<typeof openapiParts> | undefined
  const parts = () => {
    made ??= openapiParts(documented)
    return made
  }
  for (const [name, type] of Object.entries(ASSETS)) {
    const headers = { 'content-type': type, 'cache-control': 'public, max-age=86400' }
    const serve = () => new Response(readAsset(`node_modules/swagger-ui-dist/${name}`).slice(), { headers })
    app.get(`/swagger/assets/${name}`, serve, { detail: { hide: true } })
  }
  app.use(
    openapi({
      path: '/swagger',
      specPath: '/swagger/json',
      provider: 'swagger-ui',
      openapiVersion: '3.1.0',
      swagger: {
        cdn: '/swagger/assets/swagger-ui-bundle.js',
        theme: '/swagger/assets/swagger-ui.css',
        persistAuthorization: true,
        tryItOutEnabled: true,
      } as never,
      documentation: {
        info: INFO(documented.version),
        security: [{ bearer: [] }],
        tags: [
          { name: 'Router', description: 'The model gateway.' },
          { name: 'Projects', description: 'What the first name of a path stands for.' },
          { name: 'Datasets', description: 'Datasets and their datapoints.' },
          { name: 'Evaluators', description: 'Questions about a text that a model or a schema answers.' },
          { name: 'Human review sets', description: 'Which spans people review.' },
          { name: 'Tools', description: 'Functions that models may call.' },
          { name: 'Contacts', description: 'The end users of whoever calls.' },
          { name: 'Feedback', description: 'Ratings of generations, dispatched as events.' },
          { name: 'Emulator', description: 'What only the emulator has: traces and health.' },
        ],
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
