// Determines how the connection of a call ended for its client.
import { ApiError } from '../../contract/core/error.ts'
import type { ResponseEnd } from '../../contract/core/exchange.ts'
import { ConnectionFailure, type Reply } from '../../contract/core/reply.ts'
import { HangReset } from '../../lib/hang-reset.ts'
import { NOT_RECEIVED } from '../outcome.ts'
import type { SentResponse } from '../record/recording.ts'
import type { SentBody } from './sent-body.ts'

/** How an error ends the connection. */
export const breakOf = (error: unknown): ResponseEnd => (error instanceof ConnectionFailure ? error.how : 'reset')

/** Real time between the last byte of a response and the end of its connection after a failure. */
export const PAUSE_BEFORE_END_MS = 50

/** How a call ended that was aborted by its client or its session. */
export function endOfAborted({ reason }: AbortSignal): ResponseEnd {
  // A session that ends its calls sends an error to their clients.
  if (reason instanceof ApiError) return 'complete'
  return reason instanceof HangReset ? 'reset' : 'left'
}

/** How the body of a reply ended; `broken` is what ended it early, `NOT_RECEIVED` when the client stopped reading. */
export function bodyEnd(
  { body }: Pick<Reply, 'body'>,
  { broken, signal }: { broken?: unknown; signal: AbortSignal },
): ResponseEnd {
  if (signal.aborted) return endOfAborted(signal)
  if (broken === NOT_RECEIVED) return 'left'
  if (broken !== undefined) return breakOf(broken)
  // Fewer bytes than announced: the connection is closed after them.
  return body.kind === 'bytes' && body.announced !== undefined ? 'closed' : 'complete'
}

/** Whether the connection of a broken response ends after a pause: something was sent, and must arrive before the end. */
export const breaksLater = (broken: unknown, { pieces }: SentBody): boolean =>
  broken instanceof ConnectionFailure && pieces.length > 0

/** What a reply sends besides its headers: cookies, and the content type of bytes. */
export const sentAs = ({ body, cookies }: Pick<Reply, 'body' | 'cookies'>): Pick<SentResponse, 'type' | 'cookies'> => ({
  ...(body.kind === 'bytes' && { type: body.contentType }),
  ...(cookies && cookies.length > 0 && { cookies }),
})
