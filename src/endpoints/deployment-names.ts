// Names in bodies that a deployment chooses: model names without a provider get the default provider, which the trace
// shows, and the service options object is `svc` unless --namespace gives it another name.
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
  const full = (holder: unknown, path: string): unknown => {
    if (!isObject(holder) || !isBare(holder.model)) return holder
    const completed = `${provider}/${holder.model}`
    assumed[path] = completed
    return { ...holder, model: completed }
  }
  const list = (models: unknown, path: string) =>
    Array.isArray(models) ? models.map((one, index) => full(one, `${path}[${index}].model`)) : models
  /** The fields with full names; `at` is their path in the body. */
  const named = (fields: JsonObject, at: string): JsonObject => ({
    ...(full(fields, `${at}model`) as JsonObject),
    ...(fields.fallbacks !== undefined && { fallbacks: list(fields.fallbacks, `${at}fallbacks`) }),
    ...(isObject(fields.load_balancer) && {
      load_balancer: {
        ...fields.load_balancer,
        models: list(fields.load_balancer.models, `${at}load_balancer.models`),
      },
    }),
  })
  const all = { ...named(body, ''), ...(isObject(svc) && { svc: named(svc, 'svc.') }) }
  return Object.keys(assumed).length === 0 ? { body, assumed: undefined } : { body: all, assumed }
}

/** The name of the service options object in the contract. */
export const STANDARD_NAMESPACE = 'svc'

/** A body with its service options under the standard name. */
export function fromNamespace(body: unknown, namespace: string): unknown {
  if (namespace === STANDARD_NAMESPACE || !isObject(body)) return body
  const { [namespace]: options, [STANDARD_NAMESPACE]: _, ...rest } = body
  return { ...rest, ...(options === undefined ? {} : { [STANDARD_NAMESPACE]: options }) }
}

/** A text of the server (an error, a schema) with the name of the deployment: `svc` as a word, and `svc_` before an id. */
export const toNamespace = (text: string, namespace: string): string =>
  namespace === STANDARD_NAMESPACE ? text : text.replace(/\bsvc(?=\b|_)/g, namespace)
