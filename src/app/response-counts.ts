// Counts responses by status, those too that no call is made of, such as a 401.
import type { ResponseCounts } from '../control/types.ts'
import { CLIENT_GONE } from '../gateway/outcome.ts'
import { sentStatus } from '../gateway/stream/respond.ts'

/** Counts that are all 0. */
export function createResponseCounts(): ResponseCounts {
  const counts = new Map<number | null, number>()
  return {
    add: (status) => void counts.set(status, (counts.get(status) ?? 0) + 1),
    all: () => [...counts],
  }
}

/** The status that the client of a request gets by this response; null when it gets none. */
export function statusFor(request: Request, response: Response): number | null {
  const status = sentStatus(response)
  return status === CLIENT_GONE && request.signal.aborted ? null : status
}
