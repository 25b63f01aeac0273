// history-refused: the client sent a conversation that its provider rejects, or would reject.
import type { HistoryRecord } from '../../contract/core/history.ts'
import { groupBy } from '../../lib/group-by.ts'
import { type FindingDefinition, times } from './define.ts'

/** Reports conversations that their provider rejects, or would reject. */
export const historyRefused: FindingDefinition = {
  kind: 'history-refused',
  find({ calls }) {
    const rejected = calls.flatMap((call) => call.histories.map((history) => ({ call, history })))
    return groupBy(rejected, ({ call, history }) => `${call.operation} ${history.rule} ${history.rejected}`).flatMap(
      (found) => {
        const [first] = found
        if (!first) return []
        const failed = found.some(({ call, history }) => history.rejected && call.outcome !== 'succeeded')
        return {
          severity: failed ? 'error' : 'warning',
          message: messageOf(first.history, first.call.model, found.length),
          calls: found.map(({ call }) => call),
          count: found.length,
          figures: { status: first.history.status },
        }
      },
    )
  },
}

function messageOf(history: HistoryRecord, model: string | null, count: number): string {
  const { rule, rejected, path, message, ids, traces, hint } = history
  const provider = model?.slice(0, model.indexOf('/')) ?? 'the provider'
  const verb = rejected ? 'rejects' : 'would reject'
  const from = traces.length > 0 ? `, from the response of ${traces.join(', ')}` : ''
  const about = ids.length > 0 ? ` (${ids.join(', ')}${from})` : ''
  const repeated = count > 1 ? `, sent ${times(count)}` : ''
  return `${provider} ${verb} the request at ${path}${about}${repeated}: ${rule}: "${message}"${rejected ? `; ${hint}` : ''}`
}
