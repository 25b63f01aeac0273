// Failed attempts as values: no step of the gateway throws for them.
import { ApiError, bugError } from '../contract/core/error.ts'
import type { OutcomeKind } from '../contract/core/outcome-kind.ts'
import { ConnectionFailure, TimedOut, Unreadable } from '../contract/core/reply.ts'
import { storageError } from '../contract/core/storage-error.ts'
import { HangReset } from '../lib/hang-reset.ts'
import { namesCall } from '../providers/request-id.ts'
import type { RequestRejection } from '../providers/rules/rule.ts'

/** A failed attempt, described by the error that its client would receive. */
export interface Failure {
  kind: Exclude<OutcomeKind, 'succeeded'>
  status: number
  code: string
  message: string
  param: string | null
  /** Headers of the provider's reply, with names in lower case. */
  headers: Record<string, string>
  /** The error type, when it is not the default for the status. */
  type?: string | undefined
  /** Whether a fixture defined the error: all its headers then reach the client. */
  verbatim?: boolean | undefined
  /** The provider's error for an invalid conversation. A provider with other rules may accept it. */
  rejection?: RequestRejection | undefined
  /** The thrown value, for a bug. */
  cause?: unknown
}

/** An HTTP error of a provider, or an error inside its stream. */
export class Refusal extends Error {
  readonly failure: Failure
  constructor(failure: Omit<Failure, 'kind'>) {
    super(failure.message)
    this.failure = { kind: 'http_error', ...failure }
  }
}

/** Nginx's status for a closed client connection; it appears only in traces. */
export const CLIENT_GONE = 499

/** Error code of a call whose connection was reset because its client hung too long. */
export const HANG_LIMIT = 'hang_limit'

/** A failure that no reply of a provider describes. */
const failureWith = (about: Pick<Failure, 'kind' | 'status' | 'code'>, message: string): Failure => ({
  ...about,
  message,
  param: null,
  headers: {},
})

/** The client stopped reading before the end of a response. */
export const NOT_RECEIVED: Failure = failureWith(
  { kind: 'canceled', status: CLIENT_GONE, code: 'unheard' },
  'the response was not read to its end',
)

/** A bug as a failure: the message goes into the trace, the cause is reported. */
export const bugOf = (cause: unknown): Failure => ({
  ...failureWith({ kind: 'internal_error', status: 500, code: 'internal_error' }, String(cause)),
  cause,
})

/** The failure for what a backend or a stream threw; an unknown error is a bug. */
export function failureOf(error: unknown, client: AbortSignal): Failure {
  const own = (kind: Failure['kind'], status: number, code: string): Failure =>
    failureWith({ kind, status, code }, (error as Error).message)
  // The session aborted the call and gives the reason.
  if (client.aborted && client.reason instanceof ApiError) return fromApiError(client.reason)
  if (client.aborted && client.reason instanceof HangReset)
    return { ...own('disconnected', CLIENT_GONE, HANG_LIMIT), message: client.reason.message }
  if (client.aborted)
    return { ...own('canceled', CLIENT_GONE, 'client_gone'), message: 'the client closed the connection' }
  if (error instanceof Refusal) return error.failure
  if (error instanceof ApiError) return fromApiError(error)
  if (error instanceof TimedOut) return own('timed_out', 504, 'timeout')
  if (error instanceof ConnectionFailure) return own('disconnected', 502, 'provider_disconnected')
  if (error instanceof Unreadable) return own('invalid_response', 502, 'provider_unreadable')
  const storageProblem = storageError(error)
  return storageProblem ? fromApiError(storageProblem) : bugOf(error)
}

const fromApiError = ({ status, code, message, param, headers, type }: ApiError): Failure => {
  return { kind: 'http_error', status, code, message, param, headers, type }
}

// Headers of a provider that reach the client: its retries use them, and the request id identifies the call to the
// provider.
const PASSED_ON = /^(retry-after(-ms)?|(x-|anthropic-)?ratelimit-.*|x-should-retry)$/

/** The error that a client receives for the last failure of a call. */
export function errorOf(failure: Failure): ApiError {
  const { kind, status, code, message, param, headers, type, verbatim = false, rejection } = failure
  if (kind === 'internal_error') return bugError()
  const passed = Object.entries(headers).filter(([name]) => verbatim || PASSED_ON.test(name) || namesCall(name))
  return new ApiError(status, code, message, {
    ...{ param, headers: Object.fromEntries(passed), type },
    codeless: rejection?.code === null,
  })
}
