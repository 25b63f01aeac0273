// The body of an answer that refuses a call, in the API that was called.
import { REQUEST_ID } from './answer-headers.ts'
import { type ApiError, refusalBody } from './error.ts'
import type { Wire } from './wire.ts'

/** The content type of every refusal. */
export const REFUSAL_TYPE = 'application/json;charset=utf-8'

/** The body of the refusal of a request; that of a compatible API names the request by the id in its headers. */
export const refusalOf = (
  error: ApiError,
  wire: Wire | undefined,
  headers: Record<string, string> = error.headers,
): object => (wire ? wire.error(error, headers[REQUEST_ID] ?? '') : refusalBody(error))
