// How the connection of a call ended for its client.
import { ApiError } from '../../contract/core/error.ts'
import type { ResponseEnd } from '../../contract/core/exchange.ts'
import { ConnectionFailure, type Reply } from '../../contract/core/reply.ts'
import { HangReset } from '../../lib/hang-reset.ts'
import { NOT_RECEIVED } from '../outcome.ts'
import type { SentResponse } from '../record/recording.ts'

/** How the connection ends that this breaks. */
export const breakOf = (error: unknown): ResponseEnd => (error instanceof ConnectionFailure ? error.how : 'reset')

/** How the call ended whose client has gone, or that was ended for it. */
export function endOfAborted({ reason }: AbortSignal): ResponseEnd {
  // A session that ends its calls says so to their clients.
  if (reason instanceof ApiError) return 'complete'
  return reason instanceof HangReset ? 'reset' : 'left'
}

/** How the body of a reply ended; `broken` is what cut it short, `UNHEARD` when nobody reads on. */
export function bodyEnd(
  { body }: Pick<Reply, 'body'>,
  { broken, signal }: { broken?: unknown; signal: AbortSignal },
): ResponseEnd {
  if (signal.aborted) return endOfAborted(signal)
  if (broken === NOT_RECEIVED) return 'left'
  if (broken !== undefined) return breakOf(broken)
  // Fewer bytes than were promised: the connection is closed behind them.
  return body.kind === 'bytes' && body.announced !== undefined ? 'closed' : 'complete'
}

/** What a reply is sent with beside its headers: the content type of bytes, where it is not the usual one, and cookies. */
export const sentAs = ({ body, cookies }: Pick<Reply, 'body' | 'cookies'>): Pick<SentResponse, 'type' | 'cookies'> => ({
  ...(body.kind === 'bytes' && { type: body.contentType }),
  ...(cookies && cookies.length > 0 && { cookies }),
})
