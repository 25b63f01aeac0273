// history-refused: the client sent a conversation that its provider rejects, or would reject.
import type { HistoryRecord } from '../../contract/core/history.ts'
import { groupBy } from '../../lib/group-by.ts'
import type { ClientCall } from '../client-call.ts'
import { type FindingDefinition, type FindingDraft, times } from './define.ts'

interface RejectedCall {
  call: ClientCall
  history: HistoryRecord
}

/** The finding `history-refused`: a conversation that its provider rejects. */
export const historyRefused: FindingDefinition = {
  kind: 'history-refused',
  find({ calls }) {
    const rejected = calls.flatMap((call) => call.histories.map((history) => ({ call, history })))
    return groupBy(rejected, ({ call, history }) => `${call.operation} ${history.rule} ${history.rejected}`).map(
      findingOf,
    )
  },
}

function findingOf(found: readonly RejectedCall[]): FindingDraft {
  const [first] = found
  const calls = found.map(({ call }) => call)
  const failed = found.some(({ call, history }) => history.rejected && call.outcome !== 'succeeded')
  return {
    severity: failed ? 'error' : 'warning',
    message: first ? messageOf(first, calls.length) : '',
    calls,
    count: calls.length,
    figures: { status: first?.history.status ?? 0 },
  }
}

function messageOf({ call, history }: RejectedCall, count: number): string {
  const { rule, rejected, path, message, ids, traces, hint } = history
  const provider = call.model?.slice(0, call.model.indexOf('/')) ?? 'the provider'
  const verb = rejected ? 'rejects' : 'would reject'
  const from = traces.length > 0 ? `, from the response of ${traces.join(', ')}` : ''
  const about = ids.length > 0 ? ` (${ids.join(', ')}${from})` : ''
  const repeated = count > 1 ? `, sent ${times(count)}` : ''
  return `${provider} ${verb} the request at ${path}${about}${repeated}: ${rule}: "${message}"${rejected ? `; ${hint}` : ''}`
}
