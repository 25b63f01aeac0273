// The routing settings of a call: top-level fields merged with the service options, and defaults.
import type { z } from 'zod'
import type { Operation } from '../contract/core/operation.ts'
import type { Guardrails, PromptServiceOptions, Retry, ServiceOptions } from '../contract/router/shared.ts'
import { fieldsOf } from '../schema/parse.ts'

/** The settings of a call; absent fields were not requested. */
export interface Settings {
  /** Extra attempts at a target, and the statuses that are retried. */
  retry?: { count: number; codes: readonly number[] }
  /** Models tried after the primary one, in order. */
  fallbacks: readonly string[]
  /** Models that share the calls, by weight. */
  balance?: readonly { model: string; weight: number }[]
  /** How long a response is cached, in seconds. */
  cacheTtl?: number
  /** Time limit of an attempt in ms: for the whole response, or for each pause of a stream. */
  callTimeout?: number
  guardrails: readonly { id: string; execute_on: 'input' | 'output' }[]
  knowledge: NonNullable<PromptOptions['knowledge_bases']>
  identity?: NonNullable<RoutingFields['identity']>
  thread?: NonNullable<RoutingFields['thread']>
  name?: string
}

/** Whether a call uses a feature of the gateway; any other call may go straight to its provider. */
export const needsGateway = (settings: Settings): boolean =>
  settings.retry !== undefined ||
  settings.fallbacks.length > 0 ||
  settings.balance !== undefined ||
  settings.cacheTtl !== undefined ||
  settings.callTimeout !== undefined ||
  settings.guardrails.length > 0 ||
  settings.knowledge.length > 0

const NOTHING: readonly never[] = []
const RETRY = { count: 3, on_codes: [429] }
const CACHE_TTL_S = 1800

type RoutingFields = z.infer<z.ZodObject<(typeof ServiceOptions)['shape']>>
type PromptOptions = z.infer<z.ZodObject<(typeof PromptServiceOptions)['shape']>>
interface TopFields extends RoutingFields {
  guardrails?: z.infer<typeof Guardrails> | null
  svc?: PromptOptions | null
}

const NO_FIELDS: PromptOptions = {}
const NO_BASES: Settings['knowledge'] = []
const modelOf = ({ model }: { model: string }) => model

/** The settings of a parsed request. Fields that the operation does not define are ignored. */
export function settingsOf(operation: Pick<Operation, 'name' | 'request' | 'addContext'>, request: unknown): Settings {
  const fields = fieldsOf(operation)
  const top = request as TopFields
  const svc = top.svc ?? NO_FIELDS
  const from = { fields, top, svc }
  const retry = merged('retry', from)
  const balancer = merged('load_balancer', from)
  const cache = merged('cache', from)
  const timeout = merged('timeout', from)
  const fallbacks = merged('fallbacks', from)
  const identity = top.identity ?? top.contact ?? svc.identity ?? svc.contact
  const thread = top.thread ?? svc.thread
  const name = top.name ?? svc.name
  const settings: Settings = {
    fallbacks: fallbacks ? fallbacks.map(modelOf) : NOTHING,
    guardrails: (fields.has('guardrails') && top.guardrails) || NOTHING,
    knowledge: (operation.addContext && svc.knowledge_bases) || NO_BASES,
  }
  // Assigned one by one: spreading each would take longer than everything above.
  if (retry) settings.retry = retriesOf(retry)
  if (balancer) settings.balance = balancer.models
  if (cache) settings.cacheTtl = cache.ttl ?? CACHE_TTL_S
  if (timeout) settings.callTimeout = timeout.call_timeout
  if (identity) settings.identity = identity
  if (thread) settings.thread = thread
  if (name != null) settings.name = name
  return settings
}

/** Retries with their defaults. */
export const retriesOf = ({ count, on_codes }: z.infer<typeof Retry>): NonNullable<Settings['retry']> => ({
  count: count ?? RETRY.count,
  codes: on_codes ?? RETRY.on_codes,
})

/** A field merged from the top level and the service options; undefined if the operation does not define it. */
function merged<Name extends keyof RoutingFields>(
  name: Name,
  { fields, top, svc }: { fields: ReadonlySet<string>; top: RoutingFields; svc: RoutingFields },
): RoutingFields[Name] | undefined {
  if (!fields.has(name)) return undefined
  const outer: RoutingFields[Name] = top[name]
  const inner: RoutingFields[Name] = svc[name]
  const both = outer != null && inner != null && typeof outer === 'object' && !Array.isArray(outer)
  return both ? { ...(inner as object), ...outer } : (outer ?? inner)
}
