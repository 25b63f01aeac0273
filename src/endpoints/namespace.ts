// The service options object is `svc` unless --namespace gives it another name.

import { isObject } from '../lib/values.ts'

/** The name in the contract. */
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
