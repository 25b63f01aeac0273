// Completes model names without a provider with the default provider, which the trace shows.

import { isObject, type JsonObject } from '../lib/values.ts'

/** A body with complete model names, and the completed ids by field. */
interface NamedModels {
  body: unknown
  assumed: Readonly<Record<string, string>> | undefined
}

/** Whether a value is a model name without a provider. Invalid names are left as they are and rejected later. */
const isBare = (model: unknown): model is string => typeof model === 'string' && /^[A-Za-z0-9][\w.:@+-]*$/.test(model)

/** Adds `provider` to the names of the model, the fallbacks and the balanced models that have none. */
export function withProviders(body: unknown, provider: string): NamedModels {
  if (!isObject(body)) return { body, assumed: undefined }
  const { model, fallbacks, load_balancer: balancer, svc } = body
  const routes = fallbacks !== undefined || balancer !== undefined || svc !== undefined
  // The fast path of nearly every call.
  if (!routes && !isBare(model)) return { body, assumed: undefined }
  const assumed: Record<string, string> = {}
  const named = completed(body, { provider, assumed, at: '' })
  const options = isObject(svc) ? { svc: completed(svc, { provider, assumed, at: 'svc.' }) } : {}
  return Object.keys(assumed).length === 0 ? { body, assumed: undefined } : { body: { ...named, ...options }, assumed }
}

interface Completion {
  provider: string
  /** Receives the completed ids. */
  assumed: Record<string, string>
  /** Path of the fields in the body. */
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
