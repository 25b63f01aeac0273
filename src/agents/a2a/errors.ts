// Converts errors of the task service to A2A errors.
import {
  PushNotificationNotSupportedError,
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import { ApiError } from '../../contract/core/error.ts'

const BY_CODE: Record<string, new (message: string) => Error> = {
  task_not_found: TaskNotFoundError,
  task_not_cancelable: TaskNotCancelableError,
  task_active: UnsupportedOperationError,
  task_changed: UnsupportedOperationError,
}

/** The A2A error for one of ours; any other error is returned unchanged. */
export function a2aErrorOf(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.status >= 500) return error
  const Known = BY_CODE[error.code] ?? RequestMalformedError
  return new Known(error.message)
}

/** Whether it is an error for the client, and not a bug. */
export const isRefusal = (error: unknown): boolean =>
  [RequestMalformedError, ...Object.values(BY_CODE)].some((Known) => error instanceof Known)

/**
 * The result of the work, whose errors become A2A errors.
 * @throws A2AError
 */
export async function inA2aTerms<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw a2aErrorOf(error)
  }
}

/** -32602: invalid params. */
export const malformed = (message: string): Error => new RequestMalformedError(message)
/** -32004: the operation is not supported for such a task. */
export const unsupported = (message: string): Error => new UnsupportedOperationError(message)
/** -32003: push notifications are not supported. */
export const noPush = (): Error =>
  new PushNotificationNotSupportedError(
    'Push notifications are not supported: they would open connections to other machines, and none are opened from here; use SubscribeToTask or GetTask',
  )
