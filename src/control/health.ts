// GET /_understudy/health: state and version of the server. Like the metrics, it needs no token.

import { basename } from 'node:path'
import { z } from 'zod'
import { sampleCacheSize } from '../answers/schemas.ts'
import { textCacheSizes } from '../answers/text-answer.ts'
import type { Spending } from '../backends/forward/spending.ts'
import { describedObject, describedOrNull } from '../contract/core/described.ts'
import type { Route } from '../contract/core/route.ts'
import { damagedRowCount } from '../db/damaged-rows.ts'
import type { StoreSize } from '../db/row-budget.ts'
import { realClock } from '../lib/clock.ts'
import { lazy } from '../lib/lazy.ts'
import { patternCacheSize } from '../lib/match.ts'
import { tokenChunkCacheSize } from '../lib/tokens.ts'
import { sumOf } from '../lib/values.ts'
import { liveSize } from '../observers/live.ts'
import { workerCounts } from '../workers/pool.ts'
import { type ControlDeps, controlRoute, InstanceName } from './types.ts'

const metrics = lazy<typeof import('./metrics.ts')>(() => require('./metrics.ts'))
// Loads a library that a start does not need.
const images = lazy<typeof import('../answers/image-files.ts')>(() => require('../answers/image-files.ts'))

/** Integers by name, with a description of all and of each. */
const integers = <Name extends string>(description: string, meanings: Record<Name, string>) => {
  const each = Object.entries<string>(meanings).map(([name, meaning]) => [name, z.int().describe(meaning)])
  return describedObject(description, Object.fromEntries(each) as Record<Name, z.ZodInt>)
}

const Stored = z.object({
  entries: z.int().describe('Number of records.'),
  bytes: z.number().describe('Approximate size in bytes.'),
  limit: z.number().describe('Maximum size per session in bytes.'),
  dropped: z.int().describe('Entries evicted since the start.'),
})

const Health = z.object({
  status: z.enum(['ok', 'draining']).describe('`ok`, or `draining` with status 503 during shutdown.'),
  version: z.string().describe('Version of the program.'),
  instance: InstanceName,
  uptime_ms: z.int().describe('Milliseconds since the start.'),
  mode: z.string().describe('Whether responses come from fixtures, cassettes, or real providers.'),
  database: z.string().describe('Path of the database, or `:memory:`.'),
  counts: integers('Over all sessions.', {
    sessions: 'Current number of sessions.',
    sessions_unusable:
      'Sessions with unusable files, such as damaged ones. GET /_understudy/sessions lists them with the reasons. All other sessions work.',
    sessions_dropped: 'Sessions removed since the start after --session-ttl without use.',
    rows_damaged: 'Unreadable database rows since the start. Lists omit them, and the log names each one.',
    traces: 'Stored traces.',
    traces_dropped: 'Traces removed since the start, oldest first, because of --keep-traces and --keep-trace-bytes.',
    fixtures: 'Fixtures shared by all sessions.',
    events_waiting: 'Events that are not applied yet.',
    events_failed: 'Events that failed since the start, after five attempts. See /_understudy/events.',
    unknown_path_requests: 'Requests to unknown paths since the start.',
  }),
  fixtures: describedObject('The fixture files.', {
    problem: z
      .string()
      .nullable()
      .describe(
        'Whether there are invalid fixture files. `GET /_understudy/fixtures` lists the problems. The last valid version of each file stays active.',
      ),
  }),
  caches: z
    .record(
      z.string(),
      z.object({
        entries: z.int().describe('Number of records.'),
        bytes: z.number().describe('Approximate size in bytes.'),
        limit: z.int().describe('Maximum size in bytes.'),
      }),
    )
    .describe(
      'In-memory caches by name, with least-recently-used eviction. `scenario_counters` and `scenario_reads` and their limits cover all active scenarios. `live` contains the data queued for clients of `/_understudy/live`, one entry per client.',
    ),
  stores: describedObject('Data of calls in the databases of all sessions.', {
    traces: Stored.describe('The oldest entries are evicted first.'),
    answers: Stored.describe(
      'Stored responses, response cache, images, and prompt cache. Expired entries are evicted first, then the oldest.',
    ),
  }),
  workers: integers('Worker threads. They start on demand.', {
    workers: 'Running workers.',
    jobs: 'Queued or running jobs.',
    stopped: 'Jobs stopped since the start because they exceeded their time or memory limit.',
    refused: 'Jobs rejected with 429 since the start because no worker was free in time.',
    abandoned: 'Jobs abandoned since the start because their clients disconnected.',
  }),
  spending: describedOrNull('Null if forwarding is disabled.', {
    calls: z.int().describe('Calls to real providers since the start, including failed ones.'),
    max_calls: z.int().describe('Limit from `--max-calls`. Null means no limit.').nullable(),
    cost: z
      .number()
      .nullable()
      .describe('Cost in USD at list price of the responses with known usage and price. Counted only with --max-cost.'),
    max_cost: z.number().describe('Limit in USD from `--max-cost`. Null means no limit.').nullable(),
    unpriced: z.int().describe('Responses with unknown cost. They count as 0 for --max-cost.'),
  }),
  telemetry: describedOrNull('Trace export. Null without --otlp.', {
    url: z.string().describe('URL of the collector.'),
    exported: z.int().describe('Spans accepted by the collector since the start.'),
    dropped: z.int().describe('Spans that the collector rejected or that exceeded the queue.'),
    waiting: z.int().describe('Spans waiting to be sent.'),
    problem: z.string().nullable().describe('Error of the last export. Null if it succeeded.'),
  }),
})

/** `GET /_understudy/health`: state and version of the server. It needs no token. */
export function healthRoute(deps: ControlDeps): Route {
  const { sessions, runs, about, unknownPaths, events, fixtures, droppedTraces } = deps
  return controlRoute({
    path: '/_understudy/health',
    operationId: 'getHealth',
    summary: 'Health',
    description: 'Version, uptime, mode, database, and counts over all sessions of this process.',
    public: true,
    answerName: 'Health',
    response: Health,
    alsoWith: { 503: 'The same, while the process shuts down and creates no more sessions.' },
    handle: ({ request }) => {
      // A page that is open, such as the inspector's, is no balancer: the end would wait for it to send more checks.
      if (!request.headers.has('sec-fetch-site')) about.watch.noteCheck('health')
      const { files } = fixtures
      files.look()
      const all = sessions.list()
      const counts = sessions.overAll((list) => list.map((session) => session.counts()))
      const traces = together(counts.map((one) => one.traces))
      const scenarios = runs.sizes(all)
      const health: z.infer<typeof Health> = {
        status: sessions.draining ? 'draining' : 'ok',
        version: about.version,
        instance: about.instance.name,
        uptime_ms: realClock.now() - about.started,
        mode: about.mode,
        database: basename(about.db),
        counts: {
          sessions: all.length,
          sessions_unusable: sessions.problems().length,
          sessions_dropped: sessions.dropped(),
          rows_damaged: damagedRowCount(),
          traces: traces.entries,
          traces_dropped: droppedTraces(),
          fixtures: about.fixtures(),
          events_waiting: events().waiting,
          events_failed: events().failed,
          unknown_path_requests: unknownPaths.count(),
        },
        fixtures: { problem: problemIn(files.problem) },
        caches: {
          texts: textCacheSizes.splits(),
          token_counts: textCacheSizes.counts(),
          token_pieces: tokenChunkCacheSize(),
          samples: sampleCacheSize(),
          pictures: images().imageCacheSize(),
          patterns: patternCacheSize(),
          scenario_counters: scenarios.counters,
          scenario_reads: scenarios.reads,
          live: liveSize(),
        },
        stores: { traces, answers: together(counts.map((one) => one.keyValues)) },
        workers: workerCounts(),
        spending: about.spending ? spendingOf(about.spending) : null,
        telemetry: about.telemetry?.counts() ?? null,
      }
      return sessions.draining ? Response.json(health, { status: 503 }) : health
    },
  })
}

/** Health needs no token: names and content of files are only for callers who may read the fixtures. */
const problemIn = (problem: string | undefined): string | null =>
  problem === undefined ? null : 'files of fixtures have mistakes: GET /_understudy/fixtures lists them'

const Metrics = z.string()

/** The same as numbers, for collectors of metrics. */
export const metricsRoute = (deps: ControlDeps): Route =>
  controlRoute({
    path: '/_understudy/metrics',
    operationId: 'getMetrics',
    summary: 'Metrics',
    description:
      'Counts since the start in the Prometheus text format: calls, attempts, outcomes, responses, faults, findings, latencies, and stored and dropped data. Metrics contain no content of requests or responses. Without a valid token, they also omit the names of your own scenarios, rules, and providers and report their totals instead.',
    public: true,
    response: Metrics,
    contentType: 'text/plain',
    handle: ({ request }) =>
      new Response(metrics().metricsText(deps, { names: deps.hasToken(request) }), {
        headers: { 'content-type': METRICS_TYPE },
      }),
  })
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The total of the stores of sessions, each of which has the same limit. */
const together = (sizes: readonly StoreSize[]): StoreSize => ({
  entries: sumOf(sizes, ({ entries }) => entries),
  bytes: sumOf(sizes, ({ bytes }) => bytes),
  limit: Math.max(...sizes.map(({ limit }) => limit)),
  dropped: sumOf(sizes, ({ dropped }) => dropped),
})

function spendingOf({ limits, spent }: Spending) {
  const { calls, cost, unpriced } = spent()
  const { calls: maxCalls = null, cost: maxCost = null } = limits
  return { calls, max_calls: maxCalls, cost: maxCost === null ? null : cost, max_cost: maxCost, unpriced }
}
