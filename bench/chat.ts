// npm run bench chat [SECONDS] [ROUNDS]: calls per second of whole and streamed chat completions, traces committed to a
// database file, as a fraction of a server that answers the same bytes without any work. Needs wrk.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  bodyOf,
  CHUNKS,
  callUrl,
  constantCommand,
  headers,
  inFolder,
  median,
  megabytes,
  type Running,
  serveCommand,
  start,
} from './support.ts'

const [seconds = 3, rounds = 3] = process.argv.slice(2).map(Number)
const CONNECTIONS = [1, 16, 64]

if (!Bun.which('wrk')) {
  console.error('bench: wrk is missing; install it (Debian, Ubuntu: apt install wrk; macOS: brew install wrk)')
  process.exit(1)
}

/** What wrk's script prints when a run is over. */
interface Load {
  calls: number
  /** Calls that were not answered with success, or not at all. */
  failed: number
  microseconds: number
}

/** The Lua script that makes wrk send our call and print a `Load`. */
const script = (stream: boolean) => `
wrk.method = 'POST'
wrk.body = [==[${bodyOf(stream)}]==]
${Object.entries(headers)
  .map(([name, value]) => `wrk.headers['${name}'] = '${value}'`)
  .join('\n')}
function done(summary)
  local e = summary.errors
  io.write(string.format('\\n{"calls":%d,"failed":%d,"microseconds":%d}\\n',
    summary.requests, e.connect + e.read + e.write + e.status + e.timeout, summary.duration))
end
`

async function load({ url }: Running, { stream, connections, lua }: Point): Promise<Load> {
  const options = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '-s', lua]
  const child = Bun.spawn(['wrk', ...options, callUrl(url, stream)], { stdout: 'pipe', stderr: 'inherit' })
  const output = await new Response(child.stdout).text()
  return JSON.parse(output.trimEnd().split('\n').at(-1) ?? '')
}

/** One row of the table. */
interface Point {
  stream: boolean
  connections: number
  /** File of wrk's script. */
  lua: string
}

async function tracesOf({ url }: Running): Promise<number> {
  const health = (await (await fetch(`${url}/_understudy/health`)).json()) as { counts: { traces: number } }
  return health.counts.traces
}

/** Measures one point on both servers in turn. */
async function measure(point: Point, ours: Running, constant: Running): Promise<object> {
  const rates: { ours: number[]; constant: number[] } = { ours: [], constant: [] }
  for (let round = 0; round < rounds; round++) {
    const before = await tracesOf(ours)
    const one = await load(ours, point)
    const traces = (await tracesOf(ours)) - before
    if (one.failed > 0) throw new Error(`${one.failed} of ${one.calls} calls failed`)
    if (traces < one.calls) throw new Error(`${one.calls} calls were answered, but only ${traces} have a trace`)
    const other = await load(constant, point)
    rates.ours.push((one.calls / one.microseconds) * 1e6)
    rates.constant.push((other.calls / other.microseconds) * 1e6)
  }
  const fraction = median(rates.ours.map((rate, round) => rate / (rates.constant[round] ?? 1)))
  return {
    answer: point.stream ? `stream of ${CHUNKS}` : 'whole',
    connections: point.connections,
    'calls/s': Math.round(median(rates.ours)),
    'constant calls/s': Math.round(median(rates.constant)),
    fraction: `${(fraction * 100).toFixed(1)} %`,
  }
}

await inFolder(async (folder) => {
  const constant = await start(await constantCommand(folder))
  const ours = await start(serveCommand)
  const rows: object[] = []
  try {
    for (const stream of [false, true]) {
      const lua = join(folder, `${stream}.lua`)
      await Bun.write(lua, script(stream))
      for (const connections of CONNECTIONS) rows.push(await measure({ stream, connections, lua }, ours, constant))
    }
    console.log(`medians of ${rounds} rounds of ${seconds} s, the servers in turn; every answered call has its trace`)
    console.table(rows)
    const sizes = ['', '-wal'].map((suffix) => megabytes(statSync(join(ours.folder, `understudy.db${suffix}`)).size))
    console.log(`${await tracesOf(ours)} traces; database ${sizes[0]}, write-ahead log ${sizes[1]}`)
    console.log(`memory ${megabytes(ours.memory())}`)
  } finally {
    await ours.stop()
    await constant.stop()
  }
})
