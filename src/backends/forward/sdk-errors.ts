// Converts errors of the model packages.
import { ApiError } from '../../contract/core/error.ts'
import { ConnectionFailure, Unreadable } from '../../contract/core/reply.ts'
import { asObject, asText } from '../../lib/values.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import { attributed } from '../../providers/request-id.ts'
import { connected, keptHeaders, withoutKey } from './transport.ts'

/**
 * The error of a failed call: the signal's reason, a broken connection, an unreadable response if there was one, or 400
 * for a request that the package does not support.
 */
export async function sdkFailure(
  error: unknown,
  upstream: Upstream,
  { signal, answered }: { signal: AbortSignal; answered: boolean },
): Promise<unknown> {
  if (signal.aborted) return signal.reason
  if (error instanceof ApiError || error instanceof ConnectionFailure || error instanceof Unreadable) return error
  const broken = networkCause(error)
  if (broken) return connected(upstream, signal, () => Promise.reject(broken)).catch((failure: unknown) => failure)
  // This status was sent inside a stream; our transport handles the status of the response itself.
  if (isCallError(error) && (error.statusCode ?? 0) >= 400) return streamFailure(upstream, error)
  if (answered) return unreadable(upstream, error)
  if (!isPackageError(error)) return error
  return new ApiError(400, 'unsupported_value', `${upstream.name} cannot take this call: ${error.message}`)
}

/** Whether a package threw an error of its own; the names of all of them begin with `AI_`. */
const isPackageError = (error: unknown): error is Error => error instanceof Error && error.name.startsWith('AI_')
/** Whether it is the provider's error, as the package read it. */
const isCallError = (error: unknown): error is Error & { statusCode?: number } =>
  isPackageError(error) && error.name === 'AI_APICallError'

const MAX_SHOWN = 300

/** A package quotes what it received in full, so the message is shortened. */
function unreadable({ name, key }: Upstream, error: unknown): Unreadable {
  const why = withoutKey(error instanceof Error ? error.message : String(error), key)
  const shown = why.length > MAX_SHOWN ? `${why.slice(0, MAX_SHOWN)}...` : why
  return new Unreadable(`the response of ${name} cannot be read: ${shown}`)
}

/** The network error that caused an error. */
function networkCause(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (/^E[A-Z]+$/.test(String((at as { code?: unknown }).code))) return at
  }
  return undefined
}

const BAD_ANSWER = 502

/** The failure of a stream that the provider aborted or ended early; `sent` are the headers of its response. */
export function streamFailure(upstream: Upstream, error: unknown, sent?: Record<string, string>): Error {
  const { name, key } = upstream
  if (error === undefined) return new ConnectionFailure(`${name} ended the stream before the response was complete`)
  if (isPackageError(error) && !isCallError(error)) return unreadable(upstream, error)
  // The package reports the provider's error, with the headers of the whole response.
  const { message, type, statusCode, responseHeaders } = asObject(error) ?? {}
  const headers = keptHeaders(
    new Map(Object.entries(sent ?? (responseHeaders as Record<string, string> | undefined) ?? {})),
  )
  const description = attributed(withoutKey(asText(message) ?? '', key) || 'it broke the stream off', name, headers)
  const isStatus = typeof statusCode === 'number' && statusCode >= 400 && statusCode <= 599
  return new ApiError(isStatus ? statusCode : BAD_ANSWER, asText(type) || 'provider_error', description, { headers })
}
