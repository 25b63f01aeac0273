// The facts of a call beside its timeline: time, origin, tokens, and cost.
import type { ComponentChildren } from 'preact'
import type { StoredTrace } from '../../../contract/core/trace.ts'
import { callOf, usesVirtualClock } from '../state/call-list.ts'
import { costText, countedText, instantText, spanText } from '../state/format.ts'
import { hashOf } from '../state/route.ts'
import { Facts } from '../ui/layout.tsx'

/** The facts of a call. */
export function CallFacts({ trace }: { trace: StoredTrace }) {
  const { started_at, duration_ms, session, operation, fixture, generated, cost, thread, retry_after_ms } = trace
  const row = callOf(trace.id)
  const isVirtual = row !== undefined && usesVirtualClock(row)
  const cached = trace.cache?.status === 'hit' ? 'the cache' : null
  const answeredBy = cached ?? fixture ?? (generated ? 'generated: no fixture matched' : null)
  const rows: [string, ComponentChildren][] = [
    ['Arrived (real time)', row && row.arrived > 0 ? instantText(row.arrived) : null],
    [isVirtual ? 'Started (virtual time)' : 'Started', `${instantText(Date.parse(started_at))}`],
    [isVirtual ? 'Duration (virtual time)' : 'Duration', spanText(duration_ms)],
    ['Requested model', row?.requested_model ?? null],
    ['Operation', operation],
    ['Route', ROUTES[trace.route]],
    ['Session', session],
    ['Plan', trace.plan.join(' → ')],
    ['Response source', answeredBy],
    ['Scenario', trace.scenario],
    ['Retry-After', retry_after_ms === null ? null : spanText(retry_after_ms)],
    ['Usage', usageText(trace)],
    ['Cost', cost === null ? null : costText(cost)],
    ['Cache', trace.cache && `${trace.cache.status}, key ${trace.cache.key.slice(0, 12)}`],
    ['Thread', typeof thread?.id === 'string' ? thread.id : null],
    ['Metadata', trace.metadata && JSON.stringify(trace.metadata)],
    ['Identity', trace.identity && JSON.stringify(trace.identity)],
    ['Trace', trace.id],
    ['Parent call', trace.parent && <a href={hashOf('calls', { call: trace.parent })}>{trace.parent}</a>],
  ]
  return <Facts rows={rows.filter(([, value]) => value !== null && value !== '')} />
}

function usageText({ usage }: StoredTrace): string | null {
  const counts = Object.entries(usage ?? {}).flatMap(([name, value]) =>
    typeof value === 'number' ? [countedText(value, name.replaceAll('_', ' ').replace(/s$/, ''))] : [],
  )
  return counts.length === 0 ? null : counts.join(', ')
}

const ROUTES = {
  direct: 'direct: straight to the provider',
  gateway: 'gateway: with retries, fallbacks, and other gateway features',
} as const
