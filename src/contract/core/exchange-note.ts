// What is stored of the connection of a call, as far as the other texts of its trace do not say it.
import type { ResponseEnd } from './exchange.ts'

/** Bytes that are kept beside the other texts of a trace. */
export interface KeptBytes {
  /** Pieces as what differs from the one before, the first from another text of the trace (lib/front-coding.ts). */
  coded: readonly (string | number)[]
  /** Length of all of them, where not all were kept. */
  bytes?: number | undefined
}

/** What is stored of a connection. */
export interface ExchangeNote {
  /** Path and query; absent where they are those of the operation. */
  address?: string | undefined
  /** The body of the request, where the stored request is another text. */
  request?: KeptBytes | undefined
  /** Headers of the request, where they are not kept with the client of the call. */
  received?: Record<string, string> | undefined
  /** The status that was sent, where the trace says what became of something else. */
  status?: number | undefined
  /** Headers of the response. */
  headers?: Record<string, string> | undefined
  /** Absent of a complete one. */
  ended?: Exclude<ResponseEnd, 'complete'> | undefined
  /** Not one byte of a response was sent. */
  nothing?: true | undefined
  /** The body of the response was not kept. */
  dropped?: true | undefined
  /** In pairs: the number of a piece, and the ms from the start of the call at which it and those behind it went out. */
  times?: readonly number[] | undefined
  /** The body of the response, where the stored answer is another text. */
  response?: KeptBytes | undefined
}

/** The note of most streams while there are thousands of calls a second. */
export const DROPPED: ExchangeNote = Object.freeze({ dropped: true })

/** The note of most whole responses: all that is known of them stands elsewhere. */
export const KNOWN: ExchangeNote = Object.freeze({})

/** In place of a time: from this piece on, none was kept. */
export const NO_TIME = -1
