// Types and messages for the error responses of providers.

/** Why a provider rejects a request. `status` stands for a status without another reason. */
export type RefusalReason =
  | 'status'
  | 'rate-limit'
  | 'auth-failure'
  | 'context-length'
  | 'content-filter'
  | 'quota-exceeded'
  | 'model-not-found'
  | 'overloaded'

/** An error to report in a provider's format. */
export interface ProviderRefusal {
  problem: RefusalReason
  /** The model's name without its provider. */
  model: string
  /** A hexadecimal number of 24 digits, for ids in errors. */
  id: string
  /** Replaces the default status of the problem. */
  status?: number | undefined
  message?: string | undefined
  /** Time until a retry, in ms. */
  retryAfter?: number | undefined
  /** The unit of `limit` and `requested`. */
  unit?: 'requests' | 'tokens'
  limit?: number | undefined
  requested?: number | undefined
}

/** An error response. */
export interface ErrorShape {
  status: number
  /** Headers with lowercase names. */
  headers: Record<string, string>
  body: Record<string, unknown>
}

/** How a provider writes an error. */
interface ErrorFormat {
  /** Status and message of every problem, and its name if that is not the one of the status. */
  words: Record<Exclude<RefusalReason, 'status'>, readonly [status: number, message: string, name?: string]>
  /** Names by status. */
  names?: Readonly<Record<number, string>>
  shape(status: number, message: string, name: string): ErrorShape
}

/** A duration in whole seconds, rounded up. */
export const seconds = (ms = 0) => `${Math.ceil(ms / 1000)}s`
const PLAIN: Record<number, string> = {
  400: 'The request is not valid.',
  401: 'The credentials are not valid.',
  403: 'This is not permitted.',
  404: 'There is nothing here.',
  408: 'The request took too long.',
  413: 'The request is too large.',
  422: 'The request cannot be processed.',
  429: 'Too many requests.',
  500: 'The server had an error while processing the request.',
  502: 'Bad gateway.',
  503: 'The service is overloaded or not ready: try again later.',
  504: 'The response took too long.',
  529: 'Overloaded',
}

/** The name of an error by its status, or else of any error of the client or the server. */
export const errorName = (status: number, names: Readonly<Record<number, string>>): string =>
  names[status] ?? names[status < 500 ? 400 : 500] ?? ''

/** Defines how a provider reports errors. */
export const errorFormat =
  (formatOf: (refusal: ProviderRefusal & { unit: 'requests' | 'tokens' }) => ErrorFormat) =>
  (refusal: ProviderRefusal): ErrorShape => {
    const { words, names = {}, shape } = formatOf({ ...refusal, unit: refusal.unit ?? 'requests' })
    const { problem, message } = refusal
    const [defaultStatus, text, name] = problem === 'status' ? [refusal.status ?? 500] : words[problem]
    const status = refusal.status ?? defaultStatus
    return shape(
      status,
      message ?? text ?? PLAIN[status] ?? `The request failed with status ${status}.`,
      name ?? errorName(defaultStatus, names),
    )
  }

/** An id in the form of a UUID. */
export const uuid = (id: string): string =>
  `${id.slice(0, 8)}-${id.slice(8, 12)}-4${id.slice(13, 16)}-a${id.slice(17, 20)}-${id.slice(-12)}`
