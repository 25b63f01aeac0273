// Counts responses by status, including those without a call, such as a 401.
import type { ResponseCounts } from '../control/types.ts'
import { CLIENT_GONE } from '../gateway/outcome.ts'
import { sentStatus } from '../gateway/stream/respond.ts'

/** A new set of counts. */
export function createResponseCounts(): ResponseCounts {
  const counts = new Map<number | null, number>()
  return {
    add: (status) => void counts.set(status, (counts.get(status) ?? 0) + 1),
    all: () => [...counts],
  }
}

/** The status that the client of a request receives; null if it receives none. */
export function statusFor(request: Request, response: Response): number | null {
  const status = sentStatus(response)
  return status === CLIENT_GONE && request.signal.aborted ? null : status
}
