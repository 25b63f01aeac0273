// Calls that were refused before they reached a session, such as one without a token: no session has them.
import { ApiError } from '../contract/core/error.ts'
import { withoutSecrets } from '../lib/secrets.ts'
import { counted } from '../lib/units.ts'

/** Refused calls with the same code. */
export interface RefusedCalls {
  code: string
  /** The error of the first one. */
  message: string
  count: number
  /** Whether the session was the reason, such as an invalid name: no provider refuses such a call. */
  for_session: boolean
}

/** What is reported about them. */
export const refusedText = ({ count, message }: Pick<RefusedCalls, 'count' | 'message'>): string =>
  `${counted(count, 'call')} reached no session: ${message}`

/** Notes refused calls. */
export type RefusedCallLog = ReturnType<typeof createRefusedCallLog>

/** A new log of them. */
export function createRefusedCallLog() {
  const byCode = new Map<string, RefusedCalls>()
  const noted = new WeakSet<Request>()
  return {
    /** Notes what a call was refused with. Anything but an `ApiError` is no refusal. */
    note(request: Request, error: unknown, reason?: 'session'): void {
      if (!(error instanceof ApiError) || noted.has(request)) return
      noted.add(request)
      const { code, message } = error
      const for_session = reason === 'session'
      // A token may name the session, and may be a real key.
      const shown = for_session ? withoutSecrets(message) : message
      const first = () => ({ code, message: shown, count: 0, for_session })
      byCode.getOrInsertComputed(code, first).count++
    },
    all: (): RefusedCalls[] => [...byCode.values()],
  }
}
