// Calls that were refused before they reached a session, such as one with an invalid name: no session has them.
import { ApiError } from '../contract/core/error.ts'
import { withoutSecrets } from '../lib/secrets.ts'

/** Refused calls with the same code. */
export interface RefusedCalls {
  code: string
  /** The error of the first one. */
  message: string
  count: number
}

/** A new log of them. */
export function createRefusedCallLog() {
  const byCode = new Map<string, RefusedCalls>()
  const noted = new WeakSet<Request>()
  return {
    /** Notes what a call was refused with. Anything but an `ApiError` is no refusal. */
    note(request: Request, error: unknown): void {
      if (!(error instanceof ApiError) || noted.has(request)) return
      noted.add(request)
      const { code, message } = error
      // A token may name the session, and may be a real key.
      byCode.getOrInsertComputed(code, () => ({ code, message: withoutSecrets(message), count: 0 })).count++
    },
    all: (): RefusedCalls[] => [...byCode.values()],
  }
}
