// What recording costs: two servers that forward to the same upstream, of which one records, in turn. Both may use both cores, as on the machine
// of a user: the recording worker is a thread beside the one that answers. The load and the upstream share the core that is not the server's.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import { type LoadPoint, measure, type Result, shareLine } from './rounds.ts'
import { type Duty, type Entrant, startAll, stopAll, targetOf, tracesOf, withFlags } from './servers.ts'
import { type Line, percent } from './table.ts'
import { startUpstream } from './throughput.ts'
import { load } from './wrk.ts'

const CONNECTIONS = 16
/** The runtime compiles what records as well as the rest: until some 40,000 calls, code that has run less costs more. */
const WARM_UP = { connections: CONNECTIONS, seconds: 12, calls: 40_000 }
/** Single rounds differ by more than what recording costs. */
const MIN_ROUNDS = 7
/** Calls without a pause, and until all of them are written. Three rounds, since they take long. */
const SUSTAINED = { seconds: 20, rounds: 3, settling: true } as const
/** What recording may cost. */
const MAX_COST = 0.1
const LOOK_MS = 20

/** Throughput of forwarded calls, recorded and not: while calls are answered, and until all of them are written. */
export async function recording(bench: Bench): Promise<Line[]> {
  const lines: Line[] = []
  const { seconds, rounds } = bench.options
  for (const form of ['whole', 'stream'] as const) {
    const { entrants, upstream, duty } = await startBoth(bench, form)
    bench.progress(`warming up for the recording of ${form === 'whole' ? 'whole answers' : 'streams'}`)
    for (const one of entrants) {
      await load({ ...targetOf(one, duty), ...WARM_UP })
      await one.settled?.()
    }
    const point: LoadPoint = {
      ...duty,
      connections: CONNECTIONS,
      seconds,
      rounds: Math.max(MIN_ROUNDS, rounds),
      cores: bench.cores,
      beside: upstream,
    }
    const goal = `>= ${percent(1 - MAX_COST)}`
    for (const [measured, more] of [
      [`recording, forward ${form}, ${CONNECTIONS}`, {}],
      [`recording until written, forward ${form}, ${CONNECTIONS}`, SUSTAINED],
    ] as const) {
      bench.progress(measured)
      const results = await measure(entrants, { ...point, ...more })
      bench.noteNoise(measured, results)
      lines.push(...linesOf(measured, goal, results.servers))
    }
    await stopAll([...entrants, ...upstream])
  }
  return lines
}

/** The two servers, the one that records second, and their upstream. */
async function startBoth(bench: Bench, form: Duty['form']) {
  const [, own] = bench.contestants
  const { cores } = bench
  const { upstream, duty } = await startUpstream(bench, form, cores && { server: cores.load })
  const recordingOne = withFlags(own, '--record', mkdtempSync(join(bench.folder, 'cassettes-')))
  const both = cores && { server: `${cores.server},${cores.load}` }
  const [forward, record] = await startAll([{ ...own, name: 'without --record' }, recordingOne], duty, both)
  if (!forward || !record) throw new Error('nothing was started')
  record.settled = () => written(record)
  return { entrants: [forward, record], upstream, duty }
}

/** Resolves when every call is redacted and written. */
async function written(entrant: Entrant): Promise<void> {
  const calls = await tracesOf(entrant)
  for (;;) {
    const report = (await (await fetch(`${entrant.server.url}/_understudy/cassettes`)).json()) as {
      sessions: { recorded: { attempts: number } | null }[]
    }
    if (report.sessions.reduce((sum, { recorded }) => sum + (recorded?.attempts ?? 0), 0) >= calls) return
    await Bun.sleep(LOOK_MS)
  }
}

function linesOf(measured: string, goal: string, results: readonly Result[]): Line[] {
  const lines = results.map((result) => ({
    ...shareLine(measured, result),
    ...(result.name === 'own' && { goal }),
    'answering us/call': result.answering?.toFixed(1),
    'p99 ms': result.p99.toFixed(2),
  }))
  const [forward, record] = results
  if (!forward?.answering || !record?.answering) return lines
  const figure = percent(forward.answering / record.answering)
  return [...lines, { measured: `${measured}, answering thread`, server: record.name, figure, goal }]
}
