// The text of /_understudy/metrics in Prometheus' format: counts of calls, sizes and drops.
import type { CountFamily } from '../contract/core/observation.ts'
import { realClock } from '../lib/clock.ts'
import { sumOf } from '../lib/values.ts'
import { liveSize } from '../observers/live.ts'
import { PROVIDERS } from '../providers/index.ts'
import { workerCounts } from '../workers/pool.ts'
import type { ControlDeps } from './types.ts'

/**
 * All metrics in Prometheus' text format; with `names` also those with user-defined names of scenarios, rules and
 * providers.
 */
export function metricsText(deps: ControlDeps, { names }: { names: boolean }): string {
  const counted = deps.observers.counts().families()
  return [...programFamilies(deps), ...(names ? counted : counted.map(withoutNames))].map(familyText).join('')
}

/** Labels with user-defined values. */
const NAMED = ['scenario', 'rule']
const KNOWN_PROVIDERS: ReadonlySet<string> = new Set(PROVIDERS.map(({ name }) => name))
const OTHER = 'other'

/** The same counts without names: series that differ only in them are added up. */
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

function programFamilies(deps: ControlDeps): CountFamily[] {
  const { sessions, about, unknownPaths, events, responses, droppedTraces } = deps
  const { version, mode, instance, telemetry } = about
  const all = sessions.list()
  const traces = sessions.overAll((list) => list.map((session) => session.counts().traces))
  const entries = sumOf(traces, (one) => one.entries)
  const bytes = sumOf(traces, (one) => one.bytes)
  const { workers, jobs, stopped, refused, abandoned } = workerCounts()
  const { user, system } = process.cpuUsage()
  const spans = telemetry?.counts()
  return [
    gauge('understudy_info', 'Version, mode, and instance of the running process.', 1, {
      version,
      mode,
      instance: instance.name,
    }),
    gauge(
      'process_start_time_seconds',
      'Start time of the process since the Unix epoch in seconds.',
      about.started / 1_000,
    ),
    gauge('understudy_uptime_seconds', 'Uptime of the process in seconds.', (realClock.now() - about.started) / 1_000),
    counter('process_cpu_seconds_total', 'Total user and system CPU time in seconds.', (user + system) / 1e6),
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', process.memoryUsage.rss()),
    gauge('understudy_sessions', 'Current number of sessions.', all.length),
    gauge('understudy_sessions_unusable', 'Sessions with unusable files.', sessions.problems().length),
    counter('understudy_sessions_dropped_total', 'Sessions removed after their idle timeout.', sessions.dropped()),
    gauge('understudy_traces', 'Stored traces.', entries),
    gauge('understudy_trace_bytes', 'Approximate size of the stored traces in bytes.', bytes),
    counter('understudy_traces_dropped_total', 'Traces removed to stay within the storage limits.', droppedTraces()),
    {
      name: 'understudy_responses_total',
      help: 'Responses by status, over all paths. Status "none" counts connections that closed without a response.',
      type: 'counter',
      samples: responses.all().map(([status, value]) => ({ labels: { status: String(status ?? 'none') }, value })),
    },
    counter('understudy_unknown_path_requests_total', 'Requests to unknown paths.', unknownPaths.count()),
    gauge('understudy_events_waiting', 'Workspace events that are not applied yet.', events().waiting),
    gauge('understudy_workers', 'Worker threads.', workers),
    gauge('understudy_worker_jobs', 'Worker jobs that are queued or running.', jobs),
    counter(
      'understudy_worker_stopped_total',
      'Worker jobs stopped because they exceeded their time or memory limit.',
      stopped,
    ),
    counter('understudy_worker_rejected_total', 'Worker jobs rejected because no worker was free in time.', refused),
    counter(
      'understudy_worker_abandoned_total',
      'Worker jobs abandoned because their clients disconnected.',
      abandoned,
    ),
    gauge('understudy_live_clients', 'Connected clients of /_understudy/live.', liveSize().entries),
    ...(spans
      ? [
          counter('understudy_otlp_exported_spans_total', 'Spans accepted by the collector.', spans.exported),
          counter('understudy_otlp_dropped_spans_total', 'Spans dropped or rejected by the collector.', spans.dropped),
          gauge('understudy_otlp_waiting_spans', 'Spans waiting to be sent.', spans.waiting),
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
