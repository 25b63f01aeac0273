// The words in which a refusal of a provider is told, whatever its family.

/** Why a provider refuses. `status` is no more than a status. */
export type RefusalReason =
  | 'status'
  | 'rate-limit'
  | 'auth-failure'
  | 'context-length'
  | 'content-filter'
  | 'quota-exceeded'
  | 'model-not-found'
  | 'overloaded'

/** A refusal to be told in a provider's own way. */
export interface ProviderRefusal {
  problem: RefusalReason
  /** The model's name without its provider. */
  model: string
  /** A hexadecimal number of 24 digits, for the ids that providers put into errors. */
  id: string
  /** Instead of the one that goes with the problem. */
  status?: number | undefined
  message?: string | undefined
  /** Milliseconds after which to call again. */
  retryAfter?: number | undefined
  /** What is counted, the most of it that is allowed, and what was requested. */
  unit?: 'requests' | 'tokens'
  limit?: number | undefined
  requested?: number | undefined
}

/** What goes on the wire. */
export interface ErrorShape {
  status: number
  /** Names in lower case. */
  headers: Record<string, string>
  body: Record<string, unknown>
}

/** A problem in the words of one family: its status, and the family's name for it. */
type ErrorWords = readonly [status: number, name: string, message: string]
/** A family's words for every problem. */
export type ErrorVocabulary = Record<Exclude<RefusalReason, 'status'>, ErrorWords>

/** Whole seconds, rounded up. */
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
  504: 'The answer took too long to make.',
  529: 'Overloaded',
}

/** Status, name and message of a refusal; a bare status has its name in `names`. */
export function reportRefusal(
  { problem, status, message }: ProviderRefusal,
  { words, names }: { words: ErrorVocabulary; names: Record<number, string> },
): ErrorWords {
  const [usual, name, text] =
    problem === 'status' ? [status ?? 500, nameOf(status ?? 500, names), undefined] : words[problem]
  const chosen = status ?? usual
  return [chosen, name, message ?? text ?? PLAIN[chosen] ?? `The request failed with status ${chosen}.`]
}

const nameOf = (status: number, names: Record<number, string>): string =>
  names[status] ?? (status < 500 ? names[400] : names[500]) ?? ''

/** An id in the form of a UUID. */
export const uuid = (id: string): string =>
  `${id.slice(0, 8)}-${id.slice(8, 12)}-4${id.slice(13, 16)}-a${id.slice(17, 20)}-${id.slice(-12)}`
