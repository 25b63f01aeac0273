// Calls and streams per second beside the constant server, and forwarded ones beside the upstream called directly.
import type { Bench } from './bench.ts'
import { measure, type Result, type Results, shareLine } from './rounds.ts'
import { sendsOf } from './sends.ts'
import { CHUNKS, type Duty, type Entrant, startAll, stopAll, targetOf, tracesOf, writeSettings } from './servers.ts'
import { median } from './support.ts'
import { type Line, milliseconds } from './table.ts'
import { load } from './wrk.ts'

/** Calls before the first one that counts, so that all code is compiled and a store drops its oldest; `seconds` at most. */
const WARM_UP = { connections: 16, seconds: 20 }
const WARM_UP_CALLS = { whole: 40_000, stream: 24_000, slow: 0 }
const STREAMS_COUNTED = 20

/** What Understudy should reach, by what is measured. */
const GOALS: Record<string, string> = {
  'whole, 1': '>= 25 %, aim 33',
  'whole, 16': '>= 21 %, aim 28',
  'whole, 64': '>= 22 %, aim 30',
  'stream, 1': '>= 22 %, aim 26',
  'stream, 16': '>= 19 %, aim 25',
  'forward whole, 16': '>= 13 %, aim 17',
  'forward whole, 64': '>= 13 %, aim 20',
  'forward stream, 16': '>= 12 %, aim 15',
}

interface Loaded {
  measured: string
  duty: Duty
  connections: number
}

/** Measures one point, and says on standard error what was noisy. */
async function point(
  bench: Bench,
  entrants: readonly Entrant[],
  { measured, duty, connections }: Loaded,
): Promise<Results> {
  bench.progress(measured)
  const { seconds, rounds } = bench.options
  const results = await measure(entrants, { ...duty, connections, seconds, rounds, cores: bench.cores })
  bench.noteNoise(measured, results)
  return results
}

async function warmUp(bench: Bench, entrants: readonly Entrant[], duty: Duty): Promise<void> {
  bench.progress(`warming up for ${duty.form === 'whole' ? 'whole answers' : 'streams'}`)
  for (const one of entrants) {
    // As who waits until it is healthy does: what is loaded for that later makes compiled code be thrown away.
    if (one.understudy) await tracesOf(one)
    await load({ ...targetOf(one, duty), ...WARM_UP, calls: WARM_UP_CALLS[duty.form] })
  }
}

const lineOf = (measured: string, result: Result, sends?: number): Line => ({
  ...shareLine(measured, result),
  goal: result.name === 'own' ? GOALS[measured] : undefined,
  sends: sends?.toString(),
  'p99 ms': result.p99.toFixed(2),
})

/** The p99 of whole answers, beside the skeleton's. */
function tailLines({ servers }: Results): Line[] {
  const skeleton = servers.find(({ name }) => name === 'skeleton')?.p99 ?? Number.NaN
  return servers.map(({ name, p99 }) => ({
    measured: 'p99 whole, 16',
    server: name,
    figure: milliseconds(p99),
    spread: `${(p99 / skeleton).toFixed(1)} x skeleton`,
    goal: name === 'own' ? '<= 3 x skeleton, aim 5 ms' : undefined,
  }))
}

/** Whole answers and streams. */
export async function answers(bench: Bench): Promise<Line[]> {
  const lines: Line[] = []
  const entrants = await startAll(bench.contestants, { form: 'whole' }, bench.cores)
  if (bench.wants('whole')) {
    const duty: Duty = { form: 'whole' }
    await warmUp(bench, entrants, duty)
    const tail: Line[] = []
    for (const connections of [1, 16, 64]) {
      const measured = `whole, ${connections}`
      const results = await point(bench, entrants, { measured, duty, connections })
      lines.push(...results.servers.map((result) => lineOf(measured, result)))
      if (connections === 16) tail.push(...tailLines(results))
    }
    lines.push(...tail)
  }
  if (bench.wants('stream')) lines.push(...(await streams(bench, entrants)))
  await stopAll(entrants)
  return lines
}

async function streams(bench: Bench, entrants: readonly Entrant[]): Promise<Line[]> {
  const lines: Line[] = []
  const duty: Duty = { form: 'stream' }
  await warmUp(bench, entrants, duty)
  const sends = new Map<string, number>()
  for (const entrant of entrants) {
    const { url, body } = targetOf(entrant, duty)
    const counts = await sendsOf(url, { body, calls: STREAMS_COUNTED })
    if (counts) sends.set(entrant.name, median(counts))
  }
  for (const connections of [1, 16]) {
    const measured = `stream, ${connections}`
    const { servers } = await point(bench, entrants, { measured, duty, connections })
    lines.push(...servers.map((result) => lineOf(measured, result, sends.get(result.name))))
  }
  return lines
}

/** Starts the constant server as an upstream, and gives what others are started for that forward to it. */
export async function startUpstream(
  { contestants, folder }: Bench,
  form: Duty['form'],
  cores: Parameters<typeof startAll>[2],
) {
  const upstream = await startAll([{ ...contestants[0], name: 'directly' }], { form }, cores)
  const duty: Duty = { form, upstream: `${upstream[0]?.server.url}/${form}` }
  await writeSettings(folder, duty)
  return { upstream, duty }
}

/** The upstream and everybody who can forward to it, the upstream first. */
export async function startForward(bench: Bench, form: Duty['form']): Promise<{ entrants: Entrant[]; duty: Duty }> {
  const { upstream, duty } = await startUpstream(bench, form, bench.cores)
  return { entrants: [...upstream, ...(await startAll(bench.contestants.slice(1), duty, bench.cores))], duty }
}

/** What forwarding costs: throughput, and what it adds to a single call. */
export async function forwarding(bench: Bench): Promise<Line[]> {
  const lines: Line[] = []
  const added: Line[] = []
  for (const [form, widths] of [
    ['whole', [1, 16, 64]],
    ['stream', [16]],
  ] as const) {
    const { entrants, duty } = await startForward(bench, form)
    await warmUp(bench, entrants, duty)
    for (const connections of widths) {
      const measured = `forward ${form}, ${connections}`
      const { servers } = await point(bench, entrants, { measured, duty, connections })
      lines.push(...servers.map((result) => lineOf(measured, result)))
      if (connections === 1) added.push(...addedLines(servers))
    }
    await stopAll(entrants)
  }
  return [...lines, ...added]
}

/** The median time of a call beyond that of one that goes directly; upstream and server share a core. */
function addedLines([direct, ...through]: readonly Result[]): Line[] {
  return through.map(({ name, p50 }) => ({
    measured: 'forward, added p50',
    server: name,
    figure: milliseconds(p50 - (direct?.p50 ?? Number.NaN)),
    goal: name === 'own' ? '<= 0.13 ms, aim 0.1' : undefined,
  }))
}

/** What is said under the table. */
export const STREAM_NOTE = `a stream has ${CHUNKS} content events; sends are segments with data per stream, counted at the client's socket`
