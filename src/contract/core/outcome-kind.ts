// How calls end.
import { z } from 'zod'

/** How a call or an attempt ended; `internal_error` is a failure of this program. */
export const OutcomeKind = z.enum([
  'succeeded',
  'http_error',
  'timed_out',
  'disconnected',
  'invalid_response',
  'canceled',
  'internal_error',
])
export type OutcomeKind = z.infer<typeof OutcomeKind>
