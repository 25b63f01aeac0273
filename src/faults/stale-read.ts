// stale-read: what was written is not seen yet.
import { defineFault } from './define.ts'

export const staleRead = defineFault({
  type: 'stale-read',
  summary: 'A read answers what the same read answered before the last write.',
  points: ['workspace'],
  options: {},
  example: {},
  async apply(_, next, context) {
    const { call } = context
    if (call?.method !== 'GET') {
      context.skip('the call is no read')
      return next()
    }
    const earlier = call.reads.findLast(({ url, writes }) => url === call.url && writes < call.writes)
    if (earlier) return earlier.reply
    context.skip('nothing was read there before the last write')
    return next()
  },
})
