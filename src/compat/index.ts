// The registry of compatible APIs, whose paths lead to the router's operations. Each is loaded at its first call.
import { countEndpoint, endpoints } from '../endpoints/index.ts'
import { lazy } from '../lib/lazy.ts'
import { likelyPath } from '../lib/likely-path.ts'
import { isOfAnthropic } from './names.ts'
import type { CompatApi, CompatApiDeps } from './types.ts'

const anthropic = lazy<typeof import('./anthropic/messages.ts')>(() => require('./anthropic/messages.ts'))
const answers = lazy<typeof import('./anthropic/response-schema.ts')>(() => require('./anthropic/response-schema.ts'))
const shown = lazy<typeof import('./anthropic/openapi.ts')>(() => require('./anthropic/openapi.ts'))
const openai = lazy<typeof import('./openai.ts')>(() => require('./openai.ts'))
const models = lazy<typeof import('./models.ts')>(() => require('./models.ts'))
const ROUTER = '/v2/router/'
const chat = endpoints.filter(({ name }) => name === 'chat.completions')

/** All compatible APIs; the first one whose prefix matches is used. */
export const compatApis: readonly CompatApi[] = [
  {
    name: 'anthropic',
    tag: "Anthropic's API",
    prefix: '/v1/messages',
    claims: isOfAnthropic,
    paths: {
      ...Object.fromEntries(chat.map((endpoint) => ['/v1/messages', endpoint])),
      [countEndpoint.path]: countEndpoint,
    },
    wire: (path) => (path === countEndpoint.path ? anthropic().countWire : anthropic().anthropicWire),
    shown: (operation) =>
      operation.name === countEndpoint.name ? shown().shownCount(operation) : shown().shownMessages(operation),
    errorBody: () => answers().AnthropicError,
    routes: () => [],
    shares: ['/v1/models', '/v1/models/:model'],
  },
  {
    name: 'openai',
    tag: "OpenAI's API",
    prefix: '/v1/',
    paths: Object.fromEntries(endpoints.map((endpoint) => [endpoint.path.replace(ROUTER, '/v1/'), endpoint])),
    wire: () => openai().openaiWire,
    errorBody: () => openai().OpenaiError,
    routes: ({ defaultProvider }) => models().modelRoutes(defaultProvider),
  },
]

const FOREIGN = '/v1/'
const PATH = /^(?:\w+:\/\/[^/]*)?(?:\/s\/[^/]+)?(\/[^?#]*)/
/** The compatible API of a request in any session; undefined for the router's own API. */
export function compatApiOf(request: Pick<Request, 'url' | 'headers'>): CompatApi | undefined {
  const { url } = request
  // The fast path of nearly every call.
  if (!url.includes(FOREIGN)) return undefined
  const path = PATH.exec(url)?.[1] ?? ''
  if (!path.startsWith(FOREIGN)) return undefined
  return compatApis.find(({ claims, prefix }) => path.startsWith(prefix) || claims?.(request))
}

const NOTHING_READ: CompatApiDeps = { defaultProvider: '' }

/** The error message for a path that a compatible API does not have. */
export function notEmulated({ tag, paths, routes, shares = [] }: CompatApi, path: string): string {
  const own = [...Object.keys(paths), ...routes(NOTHING_READ).map((route) => route.path), ...shares]
  const likely = likelyPath(path, own)
  return `${path} of ${tag} is not emulated${likely === null ? '' : `: did you mean ${likely}?`}; what is: ${own.join(', ')}`
}
