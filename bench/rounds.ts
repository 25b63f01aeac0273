// Loads on several servers in turn, round by round, so that whatever else the machine does meets all of them alike.
import { busyOf, type Cores } from './machine.ts'
import { BenchError } from './options.ts'
import { type Duty, type Entrant, targetOf, tracesOf } from './servers.ts'
import { median } from './support.ts'
import { type Line, percent } from './table.ts'
import { load } from './wrk.ts'

/** What one server did in one round. */
interface Sample {
  /** Calls per second. */
  rate: number
  calls: number
  /** Microseconds of processor time of the server, and of its thread that answers. */
  cpu: number | undefined
  answering: number
  /** The share of its core that the server took while it was loaded. */
  busy: number | undefined
  p50: number
  p99: number
}

/** A round: a sample of each server, in their order, and the share of both cores that others took meanwhile. */
interface Round {
  samples: Sample[]
  noise: number
}

/** What is loaded, and for how long. */
export interface LoadPoint extends Duty {
  connections: number
  seconds: number
  rounds: number
  cores: Cores | undefined
  /** About how many calls a second; as many as are answered without it. */
  rate?: number
  /** How many calls; as many as are answered in `seconds` without it. */
  calls?: number
  /** Servers that work for these, whose time is no noise. */
  beside?: readonly Entrant[]
  /** Whether the time until a server has settled counts, too. */
  settling?: boolean
}

/** What one server reached at one point. */
export interface Result {
  name: string
  rate: number
  /** Calls per second as a share of the first server's in the same round: the median, the least and the most. */
  share: { median: number; least: number; most: number }
  /** Microseconds of the server's processor time per call, and of its thread that answers. */
  cpu: number | undefined
  answering: number | undefined
  /** The share of its core that the server took while it was loaded: below 1, something else held it up. */
  busy: number | undefined
  /** Milliseconds. */
  p50: number
  p99: number
}

/** What all reached; `noisy` are the rounds that were made again, `left` those that had to be taken all the same. */
export interface Results {
  servers: Result[]
  noisy: number
  left: number
}

/** A round in which others took more of the two cores than this is made again. */
const MAX_NOISE = 0.04

async function sampleOf(entrant: Entrant, point: LoadPoint): Promise<Sample & { own: number }> {
  const { server } = entrant
  const traces = entrant.understudy ? await tracesOf(entrant) : 0
  const before = server.cpu()
  const answeringBefore = server.answering() ?? 0
  const done = await load({ ...targetOf(entrant, point), ...point })
  const loaded = server.cpu()
  const ended = performance.now()
  await entrant.settled?.()
  const took = done.took + (point.settling ? (performance.now() - ended) * 1e3 : 0)
  const after = server.cpu()
  if (entrant.understudy) {
    const made = (await tracesOf(entrant)) - traces
    if (made < done.calls)
      throw new BenchError(`${entrant.name} answered ${done.calls} calls, of which ${made} have a trace`)
  }
  return {
    rate: (done.calls / took) * 1e6,
    calls: done.calls,
    busy: before !== undefined && loaded !== undefined ? (loaded - before) / done.took : undefined,
    cpu: before !== undefined && after !== undefined ? after - before : undefined,
    answering: (server.answering() ?? 0) - answeringBefore,
    p50: done.p50 / 1e3,
    p99: done.p99 / 1e3,
    own: done.cpu,
  }
}

/** One turn of everybody; who begins changes from round to round. */
async function roundOf(entrants: readonly Entrant[], point: LoadPoint, number: number): Promise<Round> {
  const all = [...entrants, ...(point.beside ?? [])]
  const used = () => all.reduce((sum, { server }) => sum + (server.cpu() ?? 0), 0)
  const busy = () => (point.cores ? busyOf(point.cores) : undefined)
  const [began, busyBefore, usedBefore, ownBefore] = [performance.now(), busy(), used(), process.cpuUsage()]
  const samples: Sample[] = []
  let generator = 0
  for (const index of entrants.keys()) {
    const turn = (index + number) % entrants.length
    const { own, ...sample } = await sampleOf(entrants[turn] as Entrant, point)
    samples[turn] = sample
    generator += own
  }
  const busyAfter = busy()
  if (busyBefore === undefined || busyAfter === undefined) return { samples, noise: 0 }
  const own = process.cpuUsage(ownBefore)
  const others = busyAfter - busyBefore - (used() - usedBefore) - generator - own.user - own.system
  return { samples, noise: Math.max(0, others / ((performance.now() - began) * 1e3 * 2)) }
}

/** Loads all servers at one point. Rounds that others disturbed are made again, as many as were asked for at most. */
export async function measure(entrants: readonly Entrant[], point: LoadPoint): Promise<Results> {
  const rounds: Round[] = []
  const quiet = () => rounds.filter(({ noise }) => noise <= MAX_NOISE).length
  while (quiet() < point.rounds && rounds.length < 2 * point.rounds) {
    rounds.push(await roundOf(entrants, point, rounds.length))
  }
  const best = rounds.toSorted((a, b) => a.noise - b.noise).slice(0, point.rounds)
  const left = Math.max(0, point.rounds - quiet())
  return {
    servers: entrants.map((one, index) => resultOf(one.name, index, best)),
    noisy: rounds.length - point.rounds,
    left,
  }
}

function resultOf(name: string, index: number, rounds: readonly Round[]): Result {
  const samples = rounds.map(({ samples }) => samples[index] as Sample)
  const shares = rounds.map(({ samples: [first] }, round) => (samples[round]?.rate ?? 0) / (first?.rate ?? 1))
  const known = samples.filter(({ cpu }) => cpu !== undefined)
  const sum = (of: (sample: Sample) => number) => known.reduce((total, sample) => total + of(sample), 0)
  return {
    name,
    rate: median(samples.map(({ rate }) => rate)),
    share: { median: median(shares), least: Math.min(...shares), most: Math.max(...shares) },
    cpu: known.length > 0 ? sum(({ cpu }) => cpu ?? 0) / sum(({ calls }) => calls) : undefined,
    answering: known.length > 0 ? sum(({ answering }) => answering) / sum(({ calls }) => calls) : undefined,
    busy: known.length > 0 ? median(known.map(({ busy }) => busy ?? 0)) : undefined,
    p50: median(samples.map(({ p50 }) => p50)),
    p99: median(samples.map(({ p99 }) => p99)),
  }
}

/** The throughput of a server beside that of the first one. */
export const shareLine = (measured: string, result: Result): Line => ({
  measured,
  figure: percent(result.share.median),
  spread: `${percent(result.share.least)} - ${percent(result.share.most)}`,
  ...loadCells(result),
})

/** What a load shows of a server in every line: its name, its calls and their processor time. */
export const loadCells = ({ name, rate, cpu }: Result) => ({
  server: name,
  'calls/s': Math.round(rate).toLocaleString('en'),
  'CPU us/call': cpu?.toFixed(1),
})
