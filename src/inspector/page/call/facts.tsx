// What there is to know of a call beside its course: who, when, by what, at what cost.
import type { StoredTrace } from '../../../contract/core/trace.ts'
import { costText, countedText, instantText, spanText } from '../state/format.ts'
import { hashOf } from '../state/route.ts'

/** The facts of a call. */
export function Facts({ trace }: { trace: StoredTrace }) {
  const { started_at, duration_ms, session, operation, fixture, synthesized, cost, thread, retry_after_ms } = trace
  const cached = trace.cache?.status === 'hit' ? 'the cache' : null
  const answeredBy = cached ?? fixture ?? (synthesized ? 'made up: no fixture matched' : null)
  const rows: [string, string | null][] = [
    ['Began', `${instantText(Date.parse(started_at))}`],
    ['Took', spanText(duration_ms)],
    ['Operation', operation],
    ['Route', ROUTES[trace.route]],
    ['Session', session],
    ['Plan', trace.plan.join(' → ')],
    ['Answered by', answeredBy],
    ['Scenario', trace.scenario],
    ['Told to wait', retry_after_ms === null ? null : spanText(retry_after_ms)],
    ['Usage', usageText(trace)],
    ['Cost', cost === null ? null : costText(cost)],
    ['Cache', trace.cache && `${trace.cache.status}, key ${trace.cache.key.slice(0, 12)}`],
    ['Thread', typeof thread?.id === 'string' ? thread.id : null],
    ['Metadata', trace.metadata && JSON.stringify(trace.metadata)],
    ['Identity', trace.identity && JSON.stringify(trace.identity)],
    ['Trace', trace.id],
  ]
  return (
    <dl class="facts">
      {rows.map(([name, value]) =>
        value === null || value === '' ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
      {trace.parent !== null && (
        <div>
          <dt>Made inside</dt>
          <dd>
            <a href={hashOf('calls', { call: trace.parent })}>{trace.parent}</a>
          </dd>
        </div>
      )}
    </dl>
  )
}

function usageText({ usage }: StoredTrace): string | null {
  const counts = Object.entries(usage ?? {}).flatMap(([name, value]) =>
    typeof value === 'number' ? [countedText(value, name.replaceAll('_', ' ').replace(/s$/, ''))] : [],
  )
  return counts.length === 0 ? null : counts.join(', ')
}

const ROUTES = {
  direct: 'direct: straight to the provider',
  gateway: 'gateway: with retries, fallbacks and the like',
} as const
