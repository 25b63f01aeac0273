// The registry of doors: foreign APIs whose paths lead to the router's operations. What a door does is loaded by its first call.
import type { z } from 'zod'
import type { Route } from '../contract/route.ts'
import type { Wire } from '../contract/wire.ts'
import { type Endpoint, endpoints } from '../endpoints/index.ts'
import { lazy } from '../lib/lazy.ts'

/** One door. */
export interface Door {
  name: string
  /** What documents call it. */
  tag: string
  /** What all of its paths begin with. */
  prefix: string
  /** The operations by path. */
  paths: Readonly<Record<string, Endpoint>>
  wire(): Wire
  /** What the body of an error is like. */
  errorBody(): z.ZodType
  /** What it has beside the operations. */
  routes(defaultProvider: string): readonly Route[]
}

const anthropic = lazy<typeof import('./anthropic.ts')>(() => require('./anthropic.ts'))
const countTokens = lazy<typeof import('./count-tokens.ts')>(() => require('./count-tokens.ts'))
const openai = lazy<typeof import('./openai.ts')>(() => require('./openai.ts'))
const ROUTER = '/v2/router/'
const chat = endpoints.filter(({ name }) => name === 'chat.completions')

/** All doors; of two whose prefix fits, the first one. */
export const doors: readonly Door[] = [
  {
    name: 'anthropic',
    tag: "Anthropic's API",
    prefix: '/v1/messages',
    paths: Object.fromEntries(chat.map((endpoint) => ['/v1/messages', endpoint])),
    wire: () => anthropic().anthropicWire,
    errorBody: () => anthropic().AnthropicError,
    routes: () => [countTokens().countTokensRoute],
  },
  {
    name: 'openai',
    tag: "OpenAI's API",
    prefix: '/v1/',
    paths: Object.fromEntries(endpoints.map((endpoint) => [endpoint.path.replace(ROUTER, '/v1/'), endpoint])),
    wire: () => openai().openaiWire,
    errorBody: () => openai().OpenaiError,
    routes: (provider) => openai().modelRoutes(provider),
  },
]

const PATH = /^(?:\w+:\/\/[^/]*)?(?:\/s\/[^/]+)?(\/[^?#]*)/
/** The door that a URL leads to, whatever its session; undefined when that is of this API. */
export function doorOf(url: string): Door | undefined {
  const path = PATH.exec(url)?.[1] ?? ''
  return doors.find(({ prefix }) => path.startsWith(prefix))
}
