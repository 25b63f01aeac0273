// What the gateway makes of an attempt that gave no answer. A failure is a value: nothing is thrown between gateway steps.
import { ApiError, bugError } from '../contract/core/error.ts'
import { ConnectionFailure, Unreadable } from '../contract/core/reply.ts'
import { storageError } from '../contract/core/storage-error.ts'
import type { OutcomeKind } from '../contract/core/trace.ts'
import { HangReset } from '../lib/hang-reset.ts'
import { namesCall } from '../providers/request-id.ts'
import type { RequestRejection } from '../providers/rules/rule.ts'

/** An attempt without an answer, in the terms in which it would be answered. */
export interface Failure {
  kind: Exclude<OutcomeKind, 'succeeded'>
  status: number
  code: string
  message: string
  param: string | null
  /** Of the provider's reply, in lower case. */
  headers: Record<string, string>
  /** The kind of error, when it is not that of the status. */
  type?: string | undefined
  /** Whether a fixture wrote it: all its headers then reach the client. */
  verbatim?: boolean | undefined
  /** Of a conversation that the provider rejects: its error. A provider with other rules may accept it. */
  rejection?: RequestRejection | undefined
  /** What was thrown, when that is a bug. */
  cause?: unknown
}

/** The time of an attempt is up. */
export class TimedOut extends Error {
  constructor(ms: number, what: string) {
    super(`${what} within the call_timeout of ${ms} ms`)
  }
}

/** A provider's refusal, or an error that it sent inside a stream. */
export class Refusal extends Error {
  readonly failure: Failure
  constructor(failure: Omit<Failure, 'kind'>) {
    super(failure.message)
    this.failure = { kind: 'http_error', ...failure }
  }
}

/** Nginx's status for a client that has gone; it reaches nobody but the trace. */
export const CLIENT_GONE = 499

/** Code of a call whose client waited too long in silence, so that we reset its connection. */
export const HANG_LIMIT = 'hang_limit'

/** Nobody listened to the end of an answer. */
export const NOT_RECEIVED: Failure = {
  kind: 'canceled',
  status: CLIENT_GONE,
  code: 'unheard',
  message: 'the response was not read to its end',
  param: null,
  headers: {},
}

/** A bug as a failure; its message is for the trace, its cause for the output. */
export const bugOf = (cause: unknown): Failure => ({
  kind: 'internal_error',
  status: 500,
  code: 'internal_error',
  message: String(cause),
  param: null,
  headers: {},
  cause,
})

/** The failure behind what a backend or a stream threw; anything that is not a failure of theirs is a bug. */
export function failureOf(error: unknown, client: AbortSignal): Failure {
  const own = (kind: Failure['kind'], status: number, code: string): Failure => ({
    kind,
    status,
    code,
    message: (error as Error).message,
    param: null,
    headers: {},
  })
  // Aborted by its own session, which says why.
  if (client.aborted && client.reason instanceof ApiError) return refusedBy(client.reason)
  if (client.aborted && client.reason instanceof HangReset)
    return { ...own('disconnected', CLIENT_GONE, HANG_LIMIT), message: client.reason.message }
  if (client.aborted)
    return { ...own('canceled', CLIENT_GONE, 'client_gone'), message: 'the client closed the connection' }
  if (error instanceof Refusal) return error.failure
  if (error instanceof ApiError) return refusedBy(error)
  if (error instanceof TimedOut) return own('timed_out', 504, 'timeout')
  if (error instanceof ConnectionFailure) return own('disconnected', 502, 'provider_disconnected')
  if (error instanceof Unreadable) return own('invalid_response', 502, 'provider_unreadable')
  const trouble = storageError(error)
  return trouble ? refusedBy(trouble) : bugOf(error)
}

const refusedBy = ({ status, code, message, param, headers, type }: ApiError): Failure => ({
  kind: 'http_error',
  status,
  code,
  message,
  param,
  headers,
  type,
})

// Of a provider's headers these reach the client: its own retries act on them, and the provider knows the call by its id.
const PASSED_ON = /^(retry-after(-ms)?|(x-|anthropic-)?ratelimit-.*|x-should-retry)$/

/** The error that a client gets for the last failure of a call. */
export function errorOf(failure: Failure): ApiError {
  const { kind, status, code, message, param, headers, type, verbatim = false, rejection } = failure
  if (kind === 'internal_error') return bugError()
  const passed = Object.entries(headers).filter(([name]) => verbatim || PASSED_ON.test(name) || namesCall(name))
  return new ApiError(status, code, message, {
    ...{ param, headers: Object.fromEntries(passed), type },
    codeless: rejection?.code === null,
  })
}
