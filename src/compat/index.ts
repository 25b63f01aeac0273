// The registry of compatible APIs, whose paths lead to the router's operations. Each is loaded at its first call.
import type { z } from 'zod'
import type { Operation } from '../contract/core/operation.ts'
import type { Route } from '../contract/core/route.ts'
import type { Wire } from '../contract/core/wire.ts'
import { countEndpoint, type Endpoint, endpoints } from '../endpoints/index.ts'
import { lazy } from '../lib/lazy.ts'
import { likelyPath } from '../lib/likely-name.ts'
import { isOfAnthropic } from './names.ts'

/** A compatible API. */
export interface CompatApi {
  name: string
  /** Its name in documents. */
  tag: string
  /** The common beginning of its paths. */
  prefix: string
  /** Whether a request for a path of another compatible API belongs to this one. */
  claims?(request: Pick<Request, 'headers'>): boolean
  /** Its operations by path. */
  paths: Readonly<Record<string, Endpoint>>
  /** How responses are converted at a path, or by default. */
  wire(path?: string): Wire
  /** An operation as documents show it, if its requests and responses differ here. */
  shown?(operation: Operation): Operation
  /** The schema of an error. */
  errorBody(): z.ZodType
  /** Routes other than the operations; models without a provider name are those of the default provider. */
  routes(defaultProvider: string): readonly Route[]
  /** Paths of other compatible APIs that it shares. */
  shares?: readonly string[]
}

const anthropic = lazy<typeof import('./anthropic/messages.ts')>(() => require('./anthropic/messages.ts'))
const answers = lazy<typeof import('./anthropic/response-schema.ts')>(() => require('./anthropic/response-schema.ts'))
const shown = lazy<typeof import('./anthropic/openapi.ts')>(() => require('./anthropic/openapi.ts'))
const openaiErrors = lazy<typeof import('./openai-error.ts')>(() => require('./openai-error.ts'))
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
    errorBody: () => openaiErrors().OpenaiError,
    routes: (defaultProvider) => models().modelRoutes(defaultProvider),
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

/** All paths of a compatible API, parameters as `:name`. */
export const compatPaths = ({ paths, routes, shares = [] }: CompatApi): readonly string[] => [
  ...Object.keys(paths),
  ...routes('').map((route) => route.path),
  ...shares,
]

/** The error message for a path that a compatible API does not have. */
export function notEmulated(api: CompatApi, path: string): string {
  const own = compatPaths(api)
  const likely = likelyPath(path, own)
  return `${path} of ${api.tag} is not emulated${likely === null ? '' : `: did you mean ${likely}?`}; what is: ${own.join(', ')}`
}
