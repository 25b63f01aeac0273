// empty-reply: the connection is closed without a byte.
import { endsEarly } from './define.ts'

/** Tests a connection that closes (FIN) without a byte of a response. */
export const emptyReply = endsEarly(
  { type: 'empty-reply', summary: 'The connection closes before any byte of the response.' },
  'the connection was closed without a response',
  'closed',
)
