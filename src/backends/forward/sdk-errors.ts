// What goes wrong inside a model package, in our words.
import { AISDKError, APICallError } from '@ai-sdk/provider'
import type { BackendCall } from '../../contract/backend.ts'
import { ApiError } from '../../contract/error.ts'
import { ConnectionFailure } from '../../contract/reply.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import { attributed } from '../../providers/request-id.ts'
import { connected, keptHeaders, withoutKey } from './transport.ts'

/**
 * The error to reject with: the signal's reason, a broken connection, or a 400 for a request that the package cannot put into
 * the provider's format. An `APICallError` that comes back is an answer that nobody can read.
 */
export async function sdkFailure(error: unknown, upstream: Upstream, { signal }: BackendCall): Promise<unknown> {
  if (signal.aborted) return signal.reason
  const broken = networkCause(error)
  if (broken) return connected(upstream, signal, () => Promise.reject(broken)).catch((failure: unknown) => failure)
  if (!AISDKError.isInstance(error) || APICallError.isInstance(error)) return error
  return new ApiError(400, 'unsupported_value', `${upstream.name} cannot take this call: ${error.message}`)
}

/** The error of the connection beneath an error. */
function networkCause(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (/^E[A-Z]+$/.test(String((at as { code?: unknown }).code))) return at
  }
  return undefined
}

/** What a package says of an error; the headers are those of the whole response. */
interface Told {
  message?: string
  type?: string
  statusCode?: number
  responseHeaders?: Record<string, string>
}

const BAD_ANSWER = 502

/** The failure of a stream, `sent` with these headers, that a provider broke off with an error or ended before its time. */
export function streamFailure({ name, key }: Upstream, error: unknown, sent?: Record<string, string>): Error {
  if (error === undefined) return new ConnectionFailure(`${name} ended the stream before the answer was complete`)
  const { message = '', type, statusCode, responseHeaders } = error as Told
  const headers = keptHeaders(Object.entries(sent ?? responseHeaders ?? {}))
  const told = attributed(withoutKey(message, key) || 'it broke the stream off', name, headers)
  return new ApiError(statusCode ?? BAD_ANSWER, type ?? 'provider_error', told, { headers })
}
