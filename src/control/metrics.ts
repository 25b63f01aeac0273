// The text of /_understudy/metrics, as Prometheus reads it: counts of calls, and what the program holds and has dropped.
import type { CountFamily } from '../contract/core/observation.ts'
import { realClock } from '../lib/clock.ts'
import { liveSize } from '../observers/live.ts'
import { PROVIDERS } from '../providers/index.ts'
import { workerCounts } from '../workers/pool.ts'
import type { ControlDeps } from './types.ts'

/** All metrics in Prometheus' text format; with `names` also those that somebody has given to scenarios, rules and providers. */
export function metricsText(deps: ControlDeps, { names }: { names: boolean }): string {
  const counted = deps.observers.counts().families()
  return [...programFamilies(deps), ...(names ? counted : counted.map(withoutNames))].map(familyText).join('')
}

/** Labels whose values are somebody's own words. */
const NAMED = ['scenario', 'rule']
const KNOWN_PROVIDERS: ReadonlySet<string> = new Set(PROVIDERS.map(({ name }) => name))
const OTHER = 'other'

/** The same counts without names: what differs in them alone is added up. */
function withoutNames(family: CountFamily): CountFamily {
  const samples = new Map<string, CountFamily['samples'][number]>()
  for (const { suffix, labels, value } of family.samples) {
    const kept = Object.fromEntries(Object.entries(labels).filter(([label]) => !NAMED.includes(label)))
    if (kept.provider !== undefined && !KNOWN_PROVIDERS.has(kept.provider)) kept.provider = OTHER
    const key = JSON.stringify([suffix, kept])
    samples.set(key, {
      ...(suffix !== undefined && { suffix }),
      labels: kept,
      value: value + (samples.get(key)?.value ?? 0),
    })
  }
  return { ...family, samples: [...samples.values()] }
}

function programFamilies({ sessions, about, strays, events, responses, droppedTraces }: ControlDeps): CountFamily[] {
  const { version, mode, instance, telemetry } = about
  const all = sessions.list()
  const traces = sessions.overAll((list) => list.map((session) => session.counts().traces))
  const sum = (of: (one: (typeof traces)[number]) => number) => traces.reduce((total, one) => total + of(one), 0)
  const { workers, jobs, stopped, refused, abandoned } = workerCounts()
  const { user, system } = process.cpuUsage()
  const spans = telemetry?.counts()
  return [
    gauge('understudy_info', 'What runs here.', 1, { version, mode, instance: instance.name }),
    gauge('process_start_time_seconds', 'When it began, in seconds since the epoch.', about.started / 1_000),
    gauge('understudy_uptime_seconds', 'For how long it runs.', (realClock.now() - about.started) / 1_000),
    counter('process_cpu_seconds_total', 'Processor time.', (user + system) / 1e6),
    gauge('process_resident_memory_bytes', 'Memory.', process.memoryUsage.rss()),
    gauge('understudy_sessions', 'Sessions that there are.', all.length),
    gauge('understudy_sessions_unusable', 'Sessions whose files cannot be used.', sessions.problems().length),
    counter('understudy_sessions_dropped_total', 'Sessions removed because nobody used them.', sessions.dropped()),
    gauge(
      'understudy_traces',
      'Traces that are kept.',
      sum(({ entries }) => entries),
    ),
    gauge(
      'understudy_trace_bytes',
      'About what they take.',
      sum(({ bytes }) => bytes),
    ),
    counter('understudy_traces_dropped_total', 'Traces removed to make room.', droppedTraces()),
    {
      name: 'understudy_responses_total',
      help: 'Responses by status, of every path; none is a connection that was ended without one.',
      type: 'counter',
      samples: responses.all().map(([status, value]) => ({ labels: { status: String(status ?? 'none') }, value })),
    },
    counter('understudy_stray_calls_total', 'Calls of paths that there are not.', strays.count()),
    gauge('understudy_events_waiting', 'Events of workspaces that are not applied yet.', events().waiting),
    gauge('understudy_workers', 'Threads for heavy work.', workers),
    gauge('understudy_worker_jobs', 'Jobs that wait for them or are done now.', jobs),
    counter('understudy_worker_stopped_total', 'Jobs that took longer or more memory than they may.', stopped),
    counter('understudy_worker_refused_total', 'Jobs for which no worker was free in time.', refused),
    counter('understudy_worker_abandoned_total', 'Jobs whose clients had gone.', abandoned),
    gauge('understudy_live_clients', 'Clients of /_understudy/live.', liveSize().entries),
    ...(spans
      ? [
          counter('understudy_otlp_exported_spans_total', 'Spans that the collector has taken.', spans.exported),
          counter('understudy_otlp_dropped_spans_total', 'Spans that it has not taken.', spans.dropped),
          gauge('understudy_otlp_waiting_spans', 'Spans that are not sent yet.', spans.waiting),
        ]
      : []),
  ]
}

const single =
  (type: CountFamily['type']) =>
  (name: string, help: string, value: number, labels: Record<string, string> = {}): CountFamily => ({
    ...{ name, help, type },
    samples: [{ labels, value }],
  })
const gauge = single('gauge')
const counter = single('counter')

const escaped = (value: string) =>
  value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n').toWellFormed()

function familyText({ name, type, help, samples }: CountFamily): string {
  const lines = samples.map(({ suffix = '', labels, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
    return `${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`
  })
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}
