// What goes wrong inside a model package, in our words.
import { AISDKError, APICallError } from '@ai-sdk/provider'
import { ApiError } from '../../contract/core/error.ts'
import { ConnectionFailure, Unreadable } from '../../contract/core/reply.ts'
import { asObject, asText } from '../../lib/values.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import { attributed } from '../../providers/request-id.ts'
import { connected, keptHeaders, withoutKey } from './transport.ts'

/**
 * The error to reject with: the signal's reason, a broken connection, an answer that nobody can read once there is one, and a
 * 400 for a request that the package cannot put into the provider's format.
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
  // A status here was told inside a stream: that of the response itself is taken care of by our transport.
  if (APICallError.isInstance(error) && (error.statusCode ?? 0) >= 400) return streamFailure(upstream, error)
  if (answered) return unreadable(upstream, error)
  if (!AISDKError.isInstance(error)) return error
  return new ApiError(400, 'unsupported_value', `${upstream.name} cannot take this call: ${error.message}`)
}

const MAX_SHOWN = 300

/** A package says what it got in full, which may be long. */
function unreadable({ name, key }: Upstream, error: unknown): Unreadable {
  const why = withoutKey(error instanceof Error ? error.message : String(error), key)
  const shown = why.length > MAX_SHOWN ? `${why.slice(0, MAX_SHOWN)}...` : why
  return new Unreadable(`the answer of ${name} cannot be read: ${shown}`)
}

/** The error of the connection beneath an error. */
function networkCause(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (/^E[A-Z]+$/.test(String((at as { code?: unknown }).code))) return at
  }
  return undefined
}

const BAD_ANSWER = 502

/** The failure of a stream, `sent` with these headers, that a provider broke off with an error or ended before its time. */
export function streamFailure(upstream: Upstream, error: unknown, sent?: Record<string, string>): Error {
  const { name, key } = upstream
  if (error === undefined) return new ConnectionFailure(`${name} ended the stream before the answer was complete`)
  if (AISDKError.isInstance(error) && !APICallError.isInstance(error)) return unreadable(upstream, error)
  // What a package makes of an error is the provider's; the headers in it are those of the whole response.
  const { message, type, statusCode, responseHeaders } = asObject(error) ?? {}
  const headers = keptHeaders(
    new Map(Object.entries(sent ?? (responseHeaders as Record<string, string> | undefined) ?? {})),
  )
  const description = attributed(withoutKey(asText(message) ?? '', key) || 'it broke the stream off', name, headers)
  const isStatus = typeof statusCode === 'number' && statusCode >= 400 && statusCode <= 599
  return new ApiError(isStatus ? statusCode : BAD_ANSWER, asText(type) || 'provider_error', description, { headers })
}
