// What recording costs: two servers that forward to the same upstream, of which one records, in turn.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import { measure, type Result } from './rounds.ts'
import { type Duty, type Entrant, startAll, stopAll, targetOf, writeSettings } from './servers.ts'
import { type Line, percent } from './table.ts'
import { load } from './wrk.ts'

const CONNECTIONS = 16
const WARM_UP = { connections: CONNECTIONS, seconds: 4, calls: 8_000 }
/** What recording may cost. */
const MAX_COST = 0.1
const LOOK_MS = 100

/** Throughput of forwarded calls, recorded and not. */
export async function recording(bench: Bench): Promise<Line[]> {
  const lines: Line[] = []
  for (const form of ['whole', 'stream'] as const) {
    const { entrants, upstream, duty } = await startBoth(bench, form)
    bench.progress(`warming up for the recording of ${form === 'whole' ? 'whole answers' : 'streams'}`)
    for (const one of entrants) {
      await load({ ...targetOf(one, duty), ...WARM_UP })
      await one.settled?.()
    }
    const measured = `recording, forward ${form}, ${CONNECTIONS}`
    bench.progress(measured)
    const { seconds, rounds } = bench.options
    const results = await measure(entrants, { ...duty, connections: CONNECTIONS, seconds, rounds, cores: bench.cores })
    bench.noteNoise(measured, results)
    lines.push(...linesOf(measured, results.servers))
    await stopAll([...entrants, ...upstream])
  }
  return lines
}

/** The two servers, the one that records second, and their upstream. */
async function startBoth(bench: Bench, form: Duty['form']) {
  const [constant, own] = bench.contestants
  const upstream = await startAll([{ ...constant, name: 'directly' }], { form }, bench.cores)
  const duty: Duty = { form, upstream: `${upstream[0]?.server.url}/${form}` }
  await writeSettings(bench.folder, duty)
  const folder = mkdtempSync(join(bench.folder, 'cassettes-'))
  const recordingOne = {
    ...own,
    name: 'record',
    command(one: Duty) {
      const command = own.command(one)
      return command && { ...command, args: [...command.args, '--record', folder] }
    },
  }
  const [forward, record] = await startAll([{ ...own, name: 'forward' }, recordingOne], duty, bench.cores)
  if (!forward || !record) throw new Error('nothing was started')
  record.settled = () => written(record)
  return { entrants: [forward, record], upstream, duty }
}

/** Resolves when everything that was received is redacted and written. */
async function written({ server }: Entrant): Promise<void> {
  for (let before = -1; ; ) {
    const report = (await (await fetch(`${server.url}/_understudy/cassettes`)).json()) as {
      sessions: { recorded: { attempts: number } | null }[]
    }
    const attempts = report.sessions.reduce((sum, { recorded }) => sum + (recorded?.attempts ?? 0), 0)
    if (attempts === before) return
    before = attempts
    await Bun.sleep(LOOK_MS)
  }
}

function linesOf(measured: string, [forward, record]: readonly Result[]): Line[] {
  if (!forward || !record) return []
  const lineOf = (result: Result): Line => ({
    measured,
    server: result.name,
    figure: percent(result.rate / forward.rate),
    'calls/s': Math.round(result.rate).toLocaleString('en'),
    'CPU us/call': result.cpu?.toFixed(1),
    'p99 ms': result.p99.toFixed(2),
  })
  return [lineOf(forward), { ...lineOf(record), goal: `>= ${percent(1 - MAX_COST)}` }]
}
