// The report of `understudy drift`: what has changed, grouped by change, and what could not be compared, by its reason.

import type { costLimit } from '../../drift/ask.ts'
import { CHANGES, type Change, DRIFT_SEVERITIES } from '../../drift/compare.ts'
import { DRIFT_RESULTS, type DriftRecord, type DriftResult, driftExit } from '../../drift/drift.ts'
import { counted } from '../../lib/units.ts'
import { paint } from './output.ts'
import type { DriftJson } from './report-schemas.ts'

/** What the command spent: USD by list price, and the number of requests without a price. */
type DriftCost = Pick<ReturnType<typeof costLimit>, 'spent' | 'unpriced'>

/** The report as lines. */
export function driftLines(records: readonly DriftRecord[], cost: DriftCost): string[] {
  return [
    ...changeLines(records),
    ...(['not comparable', 'not reachable', 'not asked', 'skipped'] as const).flatMap((result) =>
      reasonLines(records, result),
    ),
    summaryLine(records),
    costLine(cost),
  ]
}

const COLOURS = { error: 'red', warning: 'yellow', info: 'dim' } as const

function changeLines(records: readonly DriftRecord[]): string[] {
  const all = records.flatMap((record) => record.changes.map((change) => ({ change, record })))
  const groups = [
    ...Map.groupBy(all, ({ change, record }) => `${record.request.provider} ${change.kind} ${change.where}`).values(),
  ]
  return DRIFT_SEVERITIES.flatMap((severity) =>
    groups
      .filter(([first]) => first?.change.severity === severity)
      .flatMap((group) => {
        const [first] = group
        if (!first) return []
        const { change, record } = first
        return [
          `${paint(COLOURS[severity], severity)}: ${record.request.provider}: ${changeText(change)}`,
          `  ${placesText(group.map((one) => one.record))}`,
        ]
      }),
  )
}

/** A change in one line. */
function changeText({ kind, where, recorded, live }: Change): string {
  const values = recorded === undefined || live === undefined ? '' : `: was ${recorded}, is ${live}`
  return `${where}${values} (${kind}: ${CHANGES[kind].says
    .replaceAll('`', '')
    .replace(/\.$/, '')
    .replace(/^./, (letter) => letter.toLowerCase())})`
}

function reasonLines(records: readonly DriftRecord[], result: DriftResult): string[] {
  const groups = Map.groupBy(
    records.filter((record) => record.result === result),
    ({ reason = '' }) => reason,
  )
  return [...groups].flatMap(([reason, group]) => [
    `${paint(result === 'skipped' ? 'dim' : 'yellow', result)}: ${reason}`,
    `  ${placesText(group)}`,
  ])
}

const SHOWN_PLACES = 3

function placesText(records: readonly DriftRecord[]): string {
  const places = records.map(({ file, line, request }) => `${file}:${line} (${request.operation} ${request.model})`)
  const more = places.length - SHOWN_PLACES
  return [...places.slice(0, SHOWN_PLACES), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

function summaryLine(records: readonly DriftRecord[]): string {
  const counts = Map.groupBy(records, ({ result }) => result)
  const parts = DRIFT_RESULTS.map((result) => [result, counts.get(result)?.length ?? 0] as const)
    .filter(([, count]) => count > 0)
    .map(([result, count]) => `${count} ${result}`)
  return `${counted(records.length, 'recorded request')}: ${parts.join(', ') || 'nothing to compare'}`
}

/** Without an exponent, also for one request of a small model. */
const usdText = (usd: number) => usd.toFixed(8).replace(/\.?0+$/, '')

const costLine = ({ spent, unpriced }: DriftCost) =>
  `expected cost by list price: ${usdText(spent)} USD${unpriced > 0 ? `, without ${counted(unpriced, 'request')} of unknown price` : ''}`

/** The report as JSON. */
export const driftJson = (records: readonly DriftRecord[], { spent, unpriced }: DriftCost): DriftJson => ({
  exit_code: driftExit(records),
  cost: { usd: spent, unpriced_requests: unpriced },
  requests: records.map(({ reason, changes, ...record }) => ({
    ...record,
    reason: reason ?? null,
    changes: changes.map(({ recorded, live, ...change }) => ({
      ...change,
      recorded: recorded ?? null,
      live: live ?? null,
    })),
  })),
})
