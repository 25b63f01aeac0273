// What goes wrong inside a model package, in our words.
import { AISDKError, APICallError } from '@ai-sdk/provider'
import type { BackendCall } from '../../contract/backend.ts'
import { ApiError } from '../../contract/error.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import { connected } from './transport.ts'

/**
 * The error to reject with: the signal's reason, a broken connection, or a 400 for a request that the package cannot put into
 * the provider's format. An `APICallError` that comes back is an answer that nobody can read.
 */
export async function failureOf(error: unknown, upstream: Upstream, { signal }: BackendCall): Promise<unknown> {
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

/** The `error` object of an event by which a provider broke its stream off. */
export function streamError({ name }: Upstream, error: unknown): object {
  const { message, type, code } = error as { message?: string; type?: string; code?: string | number }
  return {
    message: `${name} broke the stream off: ${message ?? 'without a reason'}`,
    type: type ?? 'server_error',
    param: null,
    code: code === undefined ? null : String(code),
  }
}
