// npm run bench chat [SECONDS] [ROUNDS]: calls per second of whole and streamed chat completions, traces committed to a
// database file, as a fraction of a server that answers the same bytes without any work. Needs wrk.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  bodyOf,
  CHUNKS,
  callUrl,
  constantCommand,
  inFolder,
  median,
  megabytes,
  type Running,
  serveCommand,
  start,
  tracesOf,
} from './support.ts'
import { load, needWrk, scriptOf } from './wrk.ts'

const [seconds = 3, rounds = 3] = process.argv.slice(2).map(Number)
const CONNECTIONS = [1, 16, 64]

needWrk()

/** One row of the table. */
interface Point {
  stream: boolean
  connections: number
  /** File of wrk's script. */
  lua: string
}

/** Measures one point on both servers in turn. */
async function measure(point: Point, ours: Running, constant: Running): Promise<object> {
  const { stream } = point
  const rates: { ours: number[]; constant: number[] } = { ours: [], constant: [] }
  for (let round = 0; round < rounds; round++) {
    const before = await tracesOf(ours)
    const one = await load(callUrl(ours.url, stream), { ...point, seconds })
    const traces = (await tracesOf(ours)) - before
    if (traces < one.calls) throw new Error(`${one.calls} calls were answered, but only ${traces} have a trace`)
    const other = await load(callUrl(constant.url, stream), { ...point, seconds })
    rates.ours.push((one.calls / one.microseconds) * 1e6)
    rates.constant.push((other.calls / other.microseconds) * 1e6)
  }
  const fraction = median(rates.ours.map((rate, round) => rate / (rates.constant[round] ?? 1)))
  return {
    answer: stream ? `stream of ${CHUNKS}` : 'whole',
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
      await Bun.write(lua, scriptOf(bodyOf(stream)))
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
