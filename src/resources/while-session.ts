// Work of a request that ends with the generation of its session.
import { ApiError } from '../contract/core/error.ts'
import { CLIENT_GONE } from '../gateway/outcome.ts'
import { unlessAborted } from '../lib/deadline.ts'
import { resetError } from '../sessions/data.ts'
import type { Session } from '../sessions/sessions.ts'

/** The result of the work; 409 if the session is reset before, and nothing for a client that has disconnected. */
export async function whileSession<Answer>(
  session: Session,
  request: Request,
  work: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer | Response> {
  const activity = session.begin(request)
  const { signal } = activity
  try {
    return await unlessAborted(signal, work(signal))
  } catch (error) {
    if (request.signal.aborted) return new Response(null, { status: CLIENT_GONE })
    throw error instanceof ApiError && error === signal.reason ? resetError() : error
  } finally {
    activity.end()
  }
}
