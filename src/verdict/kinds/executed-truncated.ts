// executed-truncated: a tool was run with the arguments of a call that had been cut off.
import { groupBy } from '../../lib/group-by.ts'
import { counted } from '../../lib/units.ts'
import { type ClientCall, isAfter } from '../client-call.ts'
import type { Behaviour, FindingDefinition } from './define.ts'

/** A call with a tool result, and the call whose response has the truncated tool call. */
interface Executed {
  asked: ClientCall
  brings: ClientCall
  /** Whether the result is data, which proves that the tool was run. Text may be an error message. */
  isData: boolean
}

/** Reports tool results for calls whose arguments were cut off. */
export const executedTruncated: FindingDefinition = {
  kind: 'executed-truncated',
  find: (behaviour) =>
    groupBy(executedIn(behaviour), ({ brings, isData }) => `${brings.operation} ${isData}`).map((found) => {
      const isData = found.some((one) => one.isData)
      return {
        severity: isData ? ('error' as const) : ('warning' as const),
        message: `${counted(found.length, 'tool call')} with arguments that were cut off ${found.length === 1 ? 'was' : 'were'} answered with a result${isData ? '' : ', which may report a failure'}`,
        calls: found.flatMap(({ asked, brings }) => [asked, brings]),
        count: found.length,
        figures: { tool_calls: found.length },
      }
    }),
}

/** The first result for each truncated tool call, without error reports. */
function executedIn({ calls }: Behaviour): Executed[] {
  // Responses are only read if there are tool results.
  const bringing = calls.filter(({ question }) => question.results.some(({ as }) => as !== 'error'))
  const lastOne = bringing.at(-1)
  if (!lastOne) return []
  const cut = new Map<string, ClientCall>()
  for (const call of calls) {
    if (!isAfter(lastOne, call) || call.outcome !== 'succeeded') continue
    for (const id of call.cutCalls()) cut.set(id, call)
  }
  const found = new Map<string, Executed>()
  for (const brings of cut.size === 0 ? [] : bringing)
    for (const { call, as } of brings.question.results) {
      const asked = cut.get(call)
      if (asked && as !== 'error' && isAfter(brings, asked) && !found.has(call))
        found.set(call, { asked, brings, isData: as === 'data' })
    }
  return [...found.values()]
}
