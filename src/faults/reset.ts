// reset: the connection is reset before the response starts.
import { endsEarly } from './define.ts'

/** Tests a connection that is reset (RST) before the response starts. */
export const reset = endsEarly(
  { type: 'reset', summary: 'The connection is reset before the response starts.' },
  'the connection was reset before the response (ECONNRESET)',
  'reset',
)
