// What the task service refuses, as the errors of A2A.
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

/** The error of A2A for one of ours; any other is left as it is. */
export function a2aErrorOf(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.status >= 500) return error
  const Known = BY_CODE[error.code] ?? RequestMalformedError
  return new Known(error.message)
}

/** Whether it is what a client is told, and not a mistake of ours. */
export const isRefusal = (error: unknown): boolean =>
  [RequestMalformedError, ...Object.values(BY_CODE)].some((Known) => error instanceof Known)

/** What work gives; what it refuses is an error of A2A. */
export async function inA2aTerms<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw a2aErrorOf(error)
  }
}

/** -32602: what a client says is not what the method takes. */
export const malformed = (message: string): Error => new RequestMalformedError(message)
/** -32004: what a client asks for is not done with such a task. */
export const unsupported = (message: string): Error => new UnsupportedOperationError(message)
/** -32003: nobody is called from here. */
export const noPush = (): Error =>
  new PushNotificationNotSupportedError(
    'Push notifications are not supported: they would open connections to other machines, and none are opened from here; use SubscribeToTask or GetTask',
  )
