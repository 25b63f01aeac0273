// The body of an error response in the format of the called API.
import { REQUEST_ID } from './answer-headers.ts'
import { type ApiError, refusalBody } from './error.ts'
import type { Wire } from './wire.ts'

/** The content type of every error response. */
export const REFUSAL_TYPE = 'application/json;charset=utf-8'

/** The body of a request's error response. Compatible APIs name the request by the id in its headers. */
export const refusalOf = (
  error: ApiError,
  wire: Wire | undefined,
  headers: Record<string, string> = error.headers,
): object => (wire ? wire.error(error, headers[REQUEST_ID] ?? '') : refusalBody(error))
