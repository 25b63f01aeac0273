// Calls and streams per second beside the constant server, and forwarded ones beside the upstream called directly.
import type { Bench } from './bench.ts'
import { headers } from './headers.ts'
import { measure, type Result, type Results } from './rounds.ts'
import { sendsOf } from './sends.ts'
import { CHUNKS, type Duty, type Entrant, startAll, stopAll, targetOf, tracesOf, writeSettings } from './servers.ts'
import { median } from './support.ts'
import { type Line, milliseconds, percent } from './table.ts'
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
  measured,
  server: result.name,
  figure: percent(result.share.median),
  spread: `${percent(result.share.least)} - ${percent(result.share.most)}`,
  goal: result.name === 'own' ? GOALS[measured] : undefined,
  'calls/s': Math.round(result.rate).toLocaleString('en'),
  'CPU us/call': result.cpu?.toFixed(1),
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
    const counts = await sendsOf(url, { body, headers, calls: STREAMS_COUNTED })
    if (counts) sends.set(entrant.name, median(counts))
  }
  for (const connections of [1, 16]) {
    const measured = `stream, ${connections}`
    const { servers } = await point(bench, entrants, { measured, duty, connections })
    lines.push(...servers.map((result) => lineOf(measured, result, sends.get(result.name))))
  }
  return lines
}

/** The upstream and everybody who can forward to it, the upstream first. */
export async function startForward(bench: Bench, form: Duty['form']): Promise<{ entrants: Entrant[]; duty: Duty }> {
  const [constant, ...others] = bench.contestants
  const direct = await startAll([{ ...constant, name: 'directly' }], { form }, bench.cores)
  const duty: Duty = { form, upstream: `${direct[0]?.server.url}/${form}` }
  await writeSettings(bench.folder, duty)
  return { entrants: [...direct, ...(await startAll(others, duty, bench.cores))], duty }
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
