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

/** The status, name and message of a problem at one provider. */
type ErrorWords = readonly [status: number, name: string, message: string]
/** The status, name and message of every problem at one provider. */
export type ErrorVocabulary = Record<Exclude<RefusalReason, 'status'>, ErrorWords>

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

/** The status, name and message of an error. For a status without another reason, the name is in `names`. */
export function reportRefusal(
  { problem, status, message }: ProviderRefusal,
  { vocabulary, names }: { vocabulary: ErrorVocabulary; names: Record<number, string> },
): ErrorWords {
  const [defaultStatus, name, text] =
    problem === 'status' ? [status ?? 500, nameOf(status ?? 500, names), undefined] : vocabulary[problem]
  const usedStatus = status ?? defaultStatus
  return [usedStatus, name, message ?? text ?? PLAIN[usedStatus] ?? `The request failed with status ${usedStatus}.`]
}

const nameOf = (status: number, names: Record<number, string>): string =>
  names[status] ?? (status < 500 ? names[400] : names[500]) ?? ''

/** An id in the form of a UUID. */
export const uuid = (id: string): string =>
  `${id.slice(0, 8)}-${id.slice(8, 12)}-4${id.slice(13, 16)}-a${id.slice(17, 20)}-${id.slice(-12)}`
