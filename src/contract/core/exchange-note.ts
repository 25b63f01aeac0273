// The stored part of a call's wire data, without what the other texts of its trace contain.
import type { ResponseEnd } from './exchange.ts'

/** Bytes that are stored beside the other texts of a trace. */
export interface KeptBytes {
  /** Pieces as differences to the previous one, the first to another text of the trace (lib/front-coding.ts). */
  coded: readonly (string | number)[]
  /** Their total length, if not all were stored. */
  bytes?: number | undefined
}

/** The stored wire data of a call. */
export interface ExchangeNote {
  /** Path and query; absent if they are those of the operation. */
  address?: string | undefined
  /** The body of the request, if it differs from the stored request. */
  request?: KeptBytes | undefined
  /** Headers of the request, if they are not stored with the client of the call. */
  received?: Record<string, string> | undefined
  /** The status that was sent, if it is not that of the trace. */
  status?: number | undefined
  /** Headers of the response. */
  headers?: Record<string, string> | undefined
  /** Absent if it ended completely. */
  ended?: Exclude<ResponseEnd, 'complete'> | undefined
  /** Whether not one byte of a response was sent. */
  nothing?: true | undefined
  /** Whether the body of the response was not stored. */
  dropped?: true | undefined
  /**
   * In pairs: the number of a piece, and the ms from the start of the call at which it and its successors were sent.
   */
  times?: readonly number[] | undefined
  /** The body of the response, if it differs from the stored response. */
  response?: KeptBytes | undefined
}

/** The note of most streams under heavy load. */
export const DROPPED: ExchangeNote = Object.freeze({ dropped: true })

/** The note of most whole responses: all their data is stored elsewhere. */
export const KNOWN: ExchangeNote = Object.freeze({})

/** Replaces a time: from this piece on, none was stored. */
export const NO_TIME = -1
