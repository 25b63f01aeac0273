// swallowed: a stream broke off, or told an error, after a part of the answer, and nothing came after it.
import { groupBy } from '../../lib/group-by.ts'
import { counted, endOf, type FindingDefinition } from './define.ts'
import { isSwallowed } from './gave-up.ts'

export const swallowed: FindingDefinition = {
  kind: 'swallowed',
  find({ pairing, end }) {
    // It has complained: to whom, and what it showed, is its own affair.
    if (end === 'badly' || end === 'stopped') return []
    const broken = pairing.chains.filter(isSwallowed)
    return groupBy(broken.flat(), (call) => `${call.operation} ${endOf(call)}`).map((calls) => {
      const [first] = calls
      const judgement =
        end === 'well' ? 'and the client ended well' : 'which is right only if the client has told somebody'
      return {
        // A client may have told its user, which nobody can see from here.
        severity: end === 'well' ? ('error' as const) : ('warning' as const),
        message: `${calls.length === 1 ? 'a stream' : counted(calls.length, 'stream')} broke off (${first ? endOf(first) : ''}) after a part of the answer; nothing came after it, ${judgement}`,
        calls,
        count: calls.length,
        figures: { streams: calls.length },
      }
    })
  },
}
