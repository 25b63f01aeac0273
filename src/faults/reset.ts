// reset: the connection is reset before anything of an answer.
import { endsEarly } from './define.ts'

export const reset = endsEarly(
  { type: 'reset', summary: 'The connection is reset before the answer begins.' },
  'the connection was reset before the answer (ECONNRESET)',
  'reset',
)
