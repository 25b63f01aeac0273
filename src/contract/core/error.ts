// The only error for a rejected call. Thrown anywhere, rendered only in app.ts.
import { cutWhole } from '../../lib/well-formed.ts'

/** Optional details of an error. */
interface ErrorDetails {
  param?: string | null
  headers?: Record<string, string>
  type?: string | undefined
  /** Whether the body's `error` is only the message, as clients of some paths expect. */
  asText?: boolean
  /** Whether clients of OpenAI's API read no code. */
  codeless?: boolean
}

/**
 * An error for the caller. See `envelope` for the body.
 * @example
 * new ApiError(404, 'model_not_found', 'no such model').status // => 404
 * new ApiError(400, 'invalid_value', "'n' must be 1", { param: 'n' }).param // => 'n'
 */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** JSON path of the invalid field, such as `messages[0].role`. */
  readonly param: string | null
  readonly headers: Record<string, string>
  /** The error type, if it is not that of the status. */
  readonly type: string | undefined
  /** Whether the body's `error` is only the message. */
  readonly asText: boolean
  /** Whether clients of OpenAI's API read `null` for its code, as they do of this error of a provider. */
  readonly codeless: boolean

  constructor(
    status: number,
    code: string,
    message: string,
    { param = null, headers = {}, type, asText = false, codeless = false }: ErrorDetails = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
    this.headers = headers
    this.type = type
    this.asText = asText
    this.codeless = codeless
  }
}

/** The error for a bug: its details are not disclosed. */
export const bugError = (): ApiError =>
  new ApiError(500, 'internal_error', 'Understudy failed at this call, which is a bug in it; its output says more')

/** Code of a call that is not forwarded because the limit for real calls is reached. */
export const SPENDING_LIMIT = 'spending_limit'
/** Code of a call that is not forwarded because its provider lacks a key or an address. */
export const PROVIDER_NOT_CONFIGURED = 'provider_not_configured'
/** Code of a call that is not forwarded because its provider is not one of those forwarded to. */
export const PROVIDER_NOT_FORWARDED = 'provider_not_forwarded'

const TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
}

/** The error type of a status, by the names of OpenAI-compatible clients. */
const errorType = (status: number): string =>
  TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')

type EnvelopeContent = Pick<ApiError, 'status' | 'message' | 'param' | 'code'> & { type?: string | undefined }

/**
 * The body of every error: `code` (a string) and `message` for strict clients, `error` for OpenAI-compatible clients.
 * @example
 * const body = envelope({ status: 404, message: 'no such model', param: 'model', code: 'model_not_found' })
 * body.code // => '404'
 * body.error // => { message: 'no such model', type: 'not_found_error', param: 'model', code: 'model_not_found' }
 */
export function envelope({ status, message, param, code, type = errorType(status) }: EnvelopeContent) {
  const shortMessage = shortened(message, MAX_MESSAGE)
  const error = { message: shortMessage, type, param: param && shortened(param, MAX_PARAM), code }
  return { code: String(status), message: shortMessage, error }
}

/** The body of an error response. */
export function refusalBody(error: ApiError): object {
  const body = envelope(error)
  return error.asText ? { ...body, error: body.message } : body
}

// Clients choose the length of field names.
const MAX_MESSAGE = 10_000
const MAX_PARAM = 500
const shortened = (text: string, most: number) => (text.length > most ? `${cutWhole(text, most - 3)}...` : text)
