// What the export of traces costs: two servers, of which one exports to a collector, which is this process, on the other core, in turn.
import type { Bench } from './bench.ts'
import { type LoadPoint, loadCells, measure, type Result, shareLine } from './rounds.ts'
import { type Duty, type Entrant, startAll, targetOf, withFlags } from './servers.ts'
import { type Line, milliseconds, percent } from './table.ts'
import { load } from './wrk.ts'

const DUTY: Duty = { form: 'whole' }
/** What tests and applications make. */
const RATE = 200
const RATE_CONNECTIONS = 20
const FULL_CONNECTIONS = 16
/** At a rate there are few calls a second, of which the slowest shall be more than a handful. */
const SECONDS_AT_RATE = 3
const WARM_UP = { connections: 16, seconds: 4, calls: 24_000 }
const ASK_MS = 50
/** What the export may cost. */
const MAX_COUNT = 0.05

interface Exported {
  exported: number
  dropped: number
  waiting: number
}

async function exportedBy({ server }: Entrant): Promise<Exported> {
  const health = (await (await fetch(`${server.url}/_understudy/health`)).json()) as { telemetry: Exported }
  return health.telemetry
}

/** Reads what a collector gets and keeps nothing of it: what exporting costs is measured at who exports. */
async function collect({ body }: Request): Promise<Response> {
  const reader = body?.getReader()
  while (reader && !(await reader.read()).done);
  return Response.json({})
}

/** The two servers, the one that exports second. */
async function startBoth(bench: Bench): Promise<[Entrant, Entrant, () => Promise<void>]> {
  const [, own] = bench.contestants
  const collector = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: collect })
  const exporting = withFlags({ ...own, name: 'on' }, '--otlp', collector.url.origin)
  const [off, on] = await startAll([{ ...own, name: 'off' }, exporting], DUTY, bench.cores)
  if (!off || !on) throw new Error('nothing was started')
  on.settled = async () => {
    while ((await exportedBy(on)).waiting > 0) await Bun.sleep(ASK_MS)
  }
  const stop = async () => {
    await Promise.all([off.server.stop(), on.server.stop(), collector.stop(true)])
  }
  return [off, on, stop]
}

/** A figure of both, and by how much that of the second is greater. */
function linesOf(measured: string, { off, on }: Pair, figureOf: (result: Result) => number, goal?: string): Line[] {
  const [without, with_] = [figureOf(off), figureOf(on)]
  const lineOf = (result: Result): Line => ({
    measured,
    figure: milliseconds(figureOf(result)),
    ...loadCells(result),
  })
  const more = with_ / without - 1
  return [lineOf(off), { ...lineOf(on), spread: `${more < 0 ? '' : '+'}${percent(more)}`, goal }]
}

interface Pair {
  off: Result
  on: Result
}

/** Latency at a rate and throughput at full load, with the export and without. */
export async function telemetry(bench: Bench): Promise<Line[]> {
  const [off, on, stop] = await startBoth(bench)
  const both = [off, on]
  bench.progress('warming up for telemetry')
  for (const one of both) await load({ ...targetOf(one, DUTY), ...WARM_UP })
  await on.settled?.()
  const { seconds, rounds } = bench.options
  const point = { ...DUTY, rounds, cores: bench.cores }
  const measured = async (name: string, more: Pick<LoadPoint, 'connections' | 'seconds' | 'rate'>) => {
    bench.progress(name)
    const before = await exportedBy(on)
    const results = await measure(both, { ...point, ...more })
    bench.noteNoise(name, results)
    const [without, with_] = results.servers
    if (!without || !with_) throw new Error('nothing was measured')
    const after = await exportedBy(on)
    const [exported, dropped] = [after.exported - before.exported, after.dropped - before.dropped]
    const spans: Line = {
      measured: `${name}, spans exported`,
      server: 'on',
      figure: percent(exported / (exported + dropped)),
      spread: `${exported} of ${exported + dropped}`,
    }
    return { off: without, on: with_, spans }
  }
  const atRate = `telemetry, ${RATE} calls/s`
  const rate = await measured(atRate, {
    connections: RATE_CONNECTIONS,
    seconds: Math.max(seconds, SECONDS_AT_RATE),
    rate: RATE,
  })
  const fully = 'telemetry, full load'
  const full = await measured(fully, { connections: FULL_CONNECTIONS, seconds })
  await stop()
  const goal = `<= +${MAX_COUNT * 100} %`
  return [
    ...linesOf(`${atRate}, p50`, rate, ({ p50 }) => p50, goal),
    ...linesOf(`${atRate}, p99`, rate, ({ p99 }) => p99, goal),
    { ...rate.spans, goal: '100 %' },
    ...[full.off, full.on].map(
      (result): Line => ({
        ...shareLine(fully, result),
        goal: result.name === 'on' ? `>= ${(1 - MAX_COUNT) * 100} %` : undefined,
      }),
    ),
    full.spans,
  ]
}
