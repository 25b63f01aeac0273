// Models that a request names without a provider: the default one is put before them, and the trace says so.

import { isObject, type JsonObject } from '../lib/values.ts'

/** A body with the provider of every model in it, and those ids that were completed, by the field. */
interface NamedModels {
  body: unknown
  assumed: Readonly<Record<string, string>> | undefined
}

/** What a name of a model is made of; anything else is refused as it came. */
const isBare = (model: unknown): model is string => typeof model === 'string' && /^[A-Za-z0-9][\w.:@+-]*$/.test(model)

/** The body with `provider` before the names of its model, its fallbacks and its balanced models that have none. */
export function withProviders(body: unknown, provider: string): NamedModels {
  if (!isObject(body)) return { body, assumed: undefined }
  const { model, fallbacks, load_balancer: balancer, svc } = body
  const routes = fallbacks !== undefined || balancer !== undefined || svc !== undefined
  // Nearly every call.
  if (!routes && !isBare(model)) return { body, assumed: undefined }
  const assumed: Record<string, string> = {}
  const named = completed(body, { provider, assumed, at: '' })
  const options = isObject(svc) ? { svc: completed(svc, { provider, assumed, at: 'svc.' }) } : {}
  return Object.keys(assumed).length === 0 ? { body, assumed: undefined } : { body: { ...named, ...options }, assumed }
}

interface Completion {
  provider: string
  /** Gets what is completed. */
  assumed: Record<string, string>
  /** Where the fields stand. */
  at: string
}

function completed(fields: JsonObject, { provider, assumed, at }: Completion): JsonObject {
  const full = (holder: unknown, path: string): unknown => {
    if (!isObject(holder) || !isBare(holder.model)) return holder
    const model = `${provider}/${holder.model}`
    assumed[path] = model
    return { ...holder, model }
  }
  const list = (models: unknown, path: string) =>
    Array.isArray(models) ? models.map((one, index) => full(one, `${at}${path}[${index}].model`)) : models
  const { fallbacks, load_balancer: balancer } = fields
  return {
    ...(full(fields, `${at}model`) as JsonObject),
    ...(fallbacks !== undefined && { fallbacks: list(fallbacks, 'fallbacks') }),
    ...(isObject(balancer) && {
      load_balancer: { ...balancer, models: list(balancer.models, 'load_balancer.models') },
    }),
  }
}
