// stale-read: a read returns the data from before the last write.
import type { Reply } from '../contract/core/reply.ts'
import { canonicalJson } from '../lib/canonical.ts'
import { defineFault } from './define.ts'

/** Tests clients that read their own writes: a read returns the data from before the last write. */
export const staleRead = defineFault({
  type: 'stale-read',
  summary: 'A read returns the data from before the last write.',
  points: ['workspace'],
  async apply(_, next, context) {
    const reply = await next()
    const { call } = context
    const now = textOf(reply)
    const earlier =
      call?.method === 'GET' && call.reads.findLast((read) => read.url === call.url && textOf(read.reply) !== now)
    if (earlier) {
      context.triggered()
      return earlier.reply
    }
    context.skipped(call?.method === 'GET' ? 'nothing else was read there before' : 'the call is not a read')
    return reply
  },
})

const textOf = ({ status, body }: Reply): string => canonicalJson([status, body.kind === 'value' ? body.value : null])
