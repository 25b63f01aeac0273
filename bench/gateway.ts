// npm run bench gateway [SECONDS] [ROUNDS]: what forwarding costs. Calls to a server on loopback, directly and through
// Understudy in turn: time of a single call (of a stream to its first event), and calls per second. Needs wrk.
import { join } from 'node:path'
import {
  bodyOf,
  CHUNKS,
  constantCommand,
  headers,
  inFolder,
  median,
  type Running,
  serveCommand,
  start,
  tracesOf,
} from './support.ts'
import { load, needWrk, scriptOf } from './wrk.ts'

const [seconds = 3, rounds = 3] = process.argv.slice(2).map(Number)
const CONNECTIONS = [1, 16, 64]
/** Single calls that are timed, each way, and those before them that are not. */
const TIMED = 1_000
const WARM_UP = 200
const PATH = '/chat/completions'

needWrk()

/** Where the same call goes, directly and through Understudy. */
interface Way {
  url: string
  body: string
}

/** Milliseconds until a call is answered, or the first bytes of its stream are there. */
async function timed({ url, body }: Way, stream: boolean): Promise<number> {
  const began = performance.now()
  const response = await fetch(url, { method: 'POST', headers, body })
  if (!response.ok || !response.body) throw new Error(`${response.status}: ${await response.text()}`)
  if (!stream) {
    await response.text()
    return performance.now() - began
  }
  const reader = response.body.getReader()
  await reader.read()
  const took = performance.now() - began
  while (!(await reader.read()).done);
  return took
}

/** Medians of single calls, one way and the other in turn. */
async function latency(direct: Way, through: Way, stream: boolean): Promise<object> {
  const times: { direct: number[]; through: number[] } = { direct: [], through: [] }
  for (let call = 0; call < WARM_UP + TIMED; call++) {
    const [one, other] = [await timed(direct, stream), await timed(through, stream)]
    if (call < WARM_UP) continue
    times.direct.push(one)
    times.through.push(other)
  }
  const added = median(times.through.map((time, call) => time - (times.direct[call] ?? 0)))
  return {
    answer: stream ? 'stream, to its first event' : 'whole',
    'direct ms': median(times.direct).toFixed(3),
    'through ms': median(times.through).toFixed(3),
    'added ms': added.toFixed(3),
  }
}

interface Point {
  stream: boolean
  connections: number
  seconds: number
}

/** Calls per second of both ways, one after the other. */
async function throughput(direct: Way, through: Way, point: Point, ours: Running, folder: string): Promise<object> {
  const rates: { direct: number[]; through: number[] } = { direct: [], through: [] }
  const run = async ({ url, body }: Way) => {
    const lua = join(folder, 'call.lua')
    await Bun.write(lua, scriptOf(body))
    return load(url, { ...point, lua })
  }
  for (let round = 0; round < rounds; round++) {
    const before = await tracesOf(ours)
    const one = await run(through)
    const traces = (await tracesOf(ours)) - before
    if (traces < one.calls) throw new Error(`${one.calls} calls were answered, but only ${traces} have a trace`)
    const other = await run(direct)
    rates.through.push((one.calls / one.microseconds) * 1e6)
    rates.direct.push((other.calls / other.microseconds) * 1e6)
  }
  return {
    answer: point.stream ? `stream of ${CHUNKS}` : 'whole',
    connections: point.connections,
    'through calls/s': Math.round(median(rates.through)),
    'direct calls/s': Math.round(median(rates.direct)),
    fraction: `${(median(rates.through.map((rate, round) => rate / (rates.direct[round] ?? 1))) * 100).toFixed(1)} %`,
  }
}

/** Understudy's settings: the upstream as two providers, since it tells the two forms of a call apart by the address. */
const settingsOf = (upstream: string) => `
providers:
  whole: { base_url: "${upstream}", backend: forward }
  streamed: { base_url: "${upstream}?stream", backend: forward }
`

await inFolder(async (folder) => {
  const upstream = await start(await constantCommand(folder))
  const settings = join(folder, 'understudy.yaml')
  await Bun.write(settings, settingsOf(upstream.url))
  const ours = await start([...serveCommand, '--config', settings])
  const latencies: object[] = []
  const rates: object[] = []
  try {
    for (const stream of [false, true]) {
      const body = bodyOf(stream)
      const direct = { url: `${upstream.url}${PATH}${stream ? '?stream' : ''}`, body }
      const model = stream ? 'streamed/gpt-4o-mini' : 'whole/gpt-4o-mini'
      const through = { url: `${ours.url}/v2/router${PATH}`, body: JSON.stringify({ ...JSON.parse(body), model }) }
      latencies.push(await latency(direct, through, stream))
      for (const connections of CONNECTIONS) {
        rates.push(await throughput(direct, through, { stream, connections, seconds }, ours, folder))
      }
    }
    console.log(`medians of ${TIMED} single calls, directly and through Understudy in turn`)
    console.table(latencies)
    console.log(`medians of ${rounds} rounds of ${seconds} s, the ways in turn; every answered call has its trace`)
    console.table(rates)
  } finally {
    await ours.stop()
    await upstream.stop()
  }
})
