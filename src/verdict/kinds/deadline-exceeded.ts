// deadline-exceeded: virtual time skipped waits of the gateway that are longer than the client's timeout.
import { groupBy } from '../../lib/group-by.ts'
import { counted, durationText } from '../../lib/units.ts'
import { type ClientCall, lengthOfCall } from '../client-call.ts'
import type { FindingDefinition } from './define.ts'

/** Reports calls in which virtual time skipped a wait that is longer than the client's timeout. */
export const deadlineExceeded: FindingDefinition = {
  kind: 'deadline-exceeded',
  find({ calls }) {
    const exceeded = calls.flatMap((call) => {
      const deadline = exceededBy(call)
      return deadline === undefined ? [] : [{ call, deadline }]
    })
    return groupBy(exceeded, ({ call, deadline }) => `${call.operation} ${deadline}`).map((found) => {
      const deadline = found[0]?.deadline ?? 0
      const longest = Math.max(...found.map(({ call }) => call.toResponse))
      const what = found.length === 1 ? 'a call' : `${counted(found.length, 'call')}`
      return {
        severity: 'warning' as const,
        message: `${what} would take ${found.length === 1 ? '' : 'up to '}${durationText(longest)} if the waits of the gateway were not skipped, but the timeout of the client is ${durationText(deadline)}`,
        calls: found.map(({ call }) => call),
        count: found.length,
        figures: { would_take_ms: longest, timeout_ms: deadline },
      }
    })
  },
}

/** The declared timeout that a call exceeds if the gateway's waits are not skipped. */
function exceededBy(call: ClientCall): number | undefined {
  const { timeout, toResponse, gatewayWaits, outcome } = call
  if (!timeout || timeout.assumed || gatewayWaits === 0 || outcome === 'canceled' || call.hung) return undefined
  // On a real clock nothing is skipped, so the client did wait.
  return toResponse > timeout.ms && lengthOfCall(call) < timeout.ms ? timeout.ms : undefined
}
