// Swagger UI at /swagger and the document at /swagger/json, entirely from the executable.
import { openapi } from '@elysiajs/openapi'
import { readAsset } from '../lib/assets.ts'
import { once } from '../lib/once.ts'
import { type DocumentSource, EXTENSION, INFO, openapiParts, TAGS } from './openapi.ts'

const SCRIPT = '/swagger/assets/swagger-ui-bundle.js'
const STYLE = '/swagger/assets/swagger-ui.css'
const UI = 'node_modules/swagger-ui-dist'
/** Files and media type by path. A browser requests the icon by itself. */
const ASSETS: Record<string, [files: string[], type: string]> = {
  [SCRIPT]: [[`${UI}/swagger-ui-bundle.js`, 'src/docs/page.js'], 'text/javascript; charset=utf-8'],
  [STYLE]: [[`${UI}/swagger-ui.css`], 'text/css; charset=utf-8'],
  '/favicon.ico': [[`${UI}/favicon-32x32.png`], 'image/png'],
}

const PAGE = '/swagger'
const DOCUMENT = '/swagger/json'
/** Paths of the page and its assets: they contain no secrets, and a browser has no token to send. */
export const docPaths: readonly string[] = [PAGE, DOCUMENT, ...Object.keys(ASSETS)]

/** The preset token of the page if any token is valid. */
const PRESET_TOKEN = 'understudy'

/** What the page is made with. */
export interface PageOptions {
  version: string
  /** Whether any token will do. */
  anyToken: boolean
}

/** What the document is made with. */
interface DocumentOptions extends Pick<PageOptions, 'anyToken'> {
  documented(): DocumentSource
  /** Puts the document into the words of the deployment. */
  rename(text: string): string
}

/** What answers with the document and with what the page loads, by path. */
export function docHandlers(
  options: DocumentOptions,
): ReadonlyMap<string, (context: { request: Request }) => Response> {
  const parts = once(() => documentOf(options))
  const assets = Object.entries(ASSETS).map(([path, [files, type]]) => {
    const headers = { 'content-type': type, 'cache-control': 'public, max-age=86400' }
    return [path, () => new Response(new Blob(files.map((file) => readAsset(file).slice())), { headers })] as const
  })
  // In place of the plugin's own: a start makes no document, and each names the address that it was requested at.
  const document = ({ request }: { request: Request }) => {
    const { openapi: version, info, ...rest } = parts()
    const servers = [{ url: addressOf(request), description: 'This server.' }]
    return Response.json({ openapi: version, info, servers, ...rest })
  }
  return new Map([...assets, [DOCUMENT, document]])
}

/** The URL of a request, with its session prefix. */
function addressOf({ url, headers }: Request): string {
  const session = headers.get('x-understudy-session')
  return `${new URL(url).origin}${session === null ? '' : `/s/${encodeURIComponent(session)}`}`
}

/** Swagger UI, by its plugin, to be mounted after the document. */
export const docsPage = ({ version, anyToken }: PageOptions) =>
  openapi({
    path: PAGE,
    specPath: DOCUMENT,
    provider: 'swagger-ui',
    // The page is created for each request: one response cannot be sent twice.
    embedSpec: true,
    documentation: { info: INFO(version) },
    swagger: {
      cdn: `${SCRIPT}?v=${version}`,
      theme: STYLE,
      defaultModelsExpandDepth: 0,
      persistAuthorization: true,
      tryItOutEnabled: true,
      filter: true,
      // Read by page.js.
      folded: TAGS.map(({ name }) => name).filter((name) => name.startsWith(EXTENSION)),
      ...(anyToken && { token: PRESET_TOKEN }),
    } as never,
  })

/** The document without its servers. */
function documentOf({ documented, rename, anyToken }: DocumentOptions) {
  const source = documented()
  const { paths, components } = JSON.parse(rename(JSON.stringify(openapiParts(source)))) as ReturnType<
    typeof openapiParts
  >
  const token = anyToken
    ? `Any token; this page has \`${PRESET_TOKEN}\` set.`
    : 'One of the tokens that the server was started with (`--token`).'
  const bearer = {
    type: 'http',
    scheme: 'bearer',
    description: `${token} \`session:<name>\`, or \`<token>#<name>\`, works in a session of its own.`,
  }
  return {
    openapi: '3.1.0',
    info: INFO(source.version),
    security: [{ bearer: [] }],
    tags: TAGS,
    paths,
    components: { ...components, securitySchemes: { bearer } },
  }
}
