// empty-reply: the connection is closed without a byte.
import { endsEarly } from './define.ts'

export const emptyReply = endsEarly(
  { type: 'empty-reply', summary: 'The connection is closed without a single byte of an answer.' },
  'the connection was closed without an answer',
  'closed',
)
