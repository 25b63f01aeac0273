// GET /_understudy/health: is it up, and what is it? It never asks for a token, and neither do metrics.
import { basename } from 'node:path'
import { z } from 'zod'
import { sampleCacheSize } from '../answers/schema-sample.ts'
import { textCacheSizes } from '../answers/text-answer.ts'
import type { Spending } from '../backends/forward/spending.ts'
import type { Route } from '../contract/core/route.ts'
import { damagedRowCount } from '../db/damaged-rows.ts'
import type { StoreSize } from '../db/row-budget.ts'
import { realClock } from '../lib/clock.ts'
import { lazy } from '../lib/lazy.ts'
import { patternCacheSize } from '../lib/match.ts'
import { pieceCacheSize } from '../lib/tokens.ts'
import { liveSize } from '../observers/live.ts'
import { workerCounts } from '../workers/pool.ts'
import { type ControlDeps, InstanceName } from './types.ts'

const metrics = lazy<typeof import('./metrics.ts')>(() => require('./metrics.ts'))
// Brings a library that a start does not need.
const images = lazy<typeof import('../answers/image-files.ts')>(() => require('../answers/image-files.ts'))

const Stored = z.object({
  entries: z.int().describe('How many there are.'),
  bytes: z.number().describe('About.'),
  limit: z.number().describe('Bytes at most, of each session.'),
  dropped: z.int().describe('Removed since the start to make room.'),
})

const Health = z.object({
  status: z.enum(['ok', 'draining']).describe('`draining`, with 503, from a signal to stop on.'),
  version: z.string().describe('Version of the program.'),
  instance: InstanceName,
  uptime_ms: z.int().describe('Milliseconds since the start.'),
  mode: z.string().describe('Whether fixtures answer, or providers are called.'),
  database: z.string().describe('Path of the database, or `:memory:`.'),
  counts: z
    .object({
      sessions: z.int().describe('Current number of sessions.'),
      sessions_unusable: z
        .int()
        .describe(
          'Sessions whose files cannot be used, as damaged ones; all others are answered. GET /_understudy/sessions names them, and says why.',
        ),
      sessions_dropped: z
        .int()
        .describe('Removed since the start, because nobody used them for as long as --session-ttl.'),
      rows_damaged: z
        .int()
        .describe(
          'Rows of files that could not be read since the start; lists leave them out, and the output names each.',
        ),
      traces: z.int().describe('Stored traces.'),
      traces_dropped: z
        .int()
        .describe('Removed since the start, oldest first, to keep no more than --keep-traces and --keep-trace-bytes.'),
      fixtures: z.int().describe('Fixtures that every session shares.'),
      events_waiting: z.int().describe('Dispatched, and not applied yet.'),
      events_failed: z.int().describe('Given up since the start, after five tries; see /_understudy/events.'),
      stray_calls: z.int().describe('Calls of paths that there are not, since the start.'),
    })
    .describe('Over all sessions.'),
  fixtures: z
    .object({
      problem: z
        .string()
        .nullable()
        .describe(
          'That files of fixtures cannot be used as they are; `GET /_understudy/fixtures` says where and why. Such a file goes on as it was when it was last valid.',
        ),
    })
    .describe('The files of fixtures.'),
  caches: z
    .record(
      z.string(),
      z.object({
        entries: z.int().describe('How many there are.'),
        bytes: z.number().describe('About.'),
        limit: z.int().describe('Bytes at most.'),
      }),
    )
    .describe(
      'What is remembered to save work, by name; the least recently used goes first. `scenario_counters` and `scenario_reads` are those of all scenarios in play, and so is their limit; `live` is what waits for clients of `/_understudy/live`, one entry each.',
    ),
  stores: z
    .object({
      traces: Stored.describe('The oldest go first.'),
      answers: Stored.describe(
        'Stored responses, cached answers, pictures, cached prompts: the expired go first, then what was written longest ago.',
      ),
    })
    .describe('What calls leave in the databases of all sessions together.'),
  workers: z
    .object({
      workers: z.int().describe('How many run now.'),
      jobs: z.int().describe('That wait or are done now.'),
      stopped: z.int().describe('Jobs since the start that took longer or more memory than they may.'),
      refused: z.int().describe('Jobs since the start for which no worker was free in time: their callers got 429.'),
      abandoned: z
        .int()
        .describe('Jobs since the start that nobody waited for any more, since their clients had gone.'),
    })
    .describe('Threads for heavy work, which start when they are needed.'),
  spending: z
    .object({
      calls: z.int().describe('Calls to real providers since the start, failed ones too.'),
      max_calls: z.int().describe('Most calls, from `--max-calls`; null is without a limit.').nullable(),
      cost: z
        .number()
        .nullable()
        .describe('USD at list price of the answers whose usage and price are known; only counted with --max-cost.'),
      max_cost: z.number().describe('Most USD, from `--max-cost`; null is without a limit.').nullable(),
      unpriced: z.int().describe('Answers whose cost is not known: with --max-cost they count as 0.'),
    })
    .nullable()
    .describe('Null when nothing is forwarded.'),
  telemetry: z
    .object({
      url: z.string().describe('Where they go to.'),
      exported: z.int().describe('Spans that the collector has taken since the start.'),
      dropped: z.int().describe('Spans that it did not take, or that did not fit into the queue.'),
      waiting: z.int().describe('Spans waiting to be sent.'),
      problem: z.string().nullable().describe('Why it did not take the last ones; null when it did.'),
    })
    .nullable()
    .describe('The export of traces, with --otlp; null without.'),
})

export function healthRoute({ sessions, runs, about, strays, events, fixtures, droppedTraces }: ControlDeps): Route {
  return {
    method: 'get',
    path: '/_understudy/health',
    tag: 'Emulator',
    operationId: 'getHealth',
    summary: 'Health',
    description: 'Version, uptime, mode, database, and counts over all sessions of this process.',
    public: true,
    answerName: 'Health',
    response: Health,
    alsoWith: { 503: 'The same, while the process shuts down and creates no more sessions.' },
    handle: () => {
      about.watch.asked('health')
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
          stray_calls: strays.count(),
        },
        fixtures: { problem: problemIn(files.problem) },
        caches: {
          texts: textCacheSizes.splits(),
          token_counts: textCacheSizes.counts(),
          token_pieces: pieceCacheSize(),
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
  }
}

/** Health asks for no token: what a file is called and what is in it is for callers who may read its fixtures. */
const problemIn = (problem: string | undefined): string | null =>
  problem === undefined ? null : 'files of fixtures have mistakes: GET /_understudy/fixtures lists them'

/** The same in numbers, for who gathers them from many programs. */
export const metricsRoute = (deps: ControlDeps): Route => ({
  method: 'get',
  path: '/_understudy/metrics',
  tag: 'Emulator',
  operationId: 'getMetrics',
  summary: 'Metrics',
  description:
    'Counts since the start in the Prometheus text format: calls, attempts, outcomes, responses, faults, findings, latencies, and stored and dropped data. Metrics contain no content of requests or responses. Without a valid token, they also omit the names of your own scenarios, rules, and providers and report their totals instead.',
  public: true,
  response: z.string(),
  contentType: 'text/plain',
  handle: ({ request }) =>
    new Response(metrics().metricsText(deps, { names: deps.hasToken(request) }), {
      headers: { 'content-type': METRICS_TYPE },
    }),
})
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The stores of sessions, each of which has the same limit. */
const together = (sizes: readonly StoreSize[]): StoreSize => ({
  entries: sizes.reduce((sum, { entries }) => sum + entries, 0),
  bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
  limit: Math.max(...sizes.map(({ limit }) => limit)),
  dropped: sizes.reduce((sum, { dropped }) => sum + dropped, 0),
})

function spendingOf({ limits, spent }: Spending) {
  const { calls, cost, unpriced } = spent()
  const { calls: maxCalls = null, cost: maxCost = null } = limits
  return { calls, max_calls: maxCalls, cost: maxCost === null ? null : cost, max_cost: maxCost, unpriced }
}
