// npm run bench: measures Understudy beside a constant server, a skeleton, another commit and a peer, and prints one table.
import type { Bench } from './bench.ts'
import { explorations } from './explore.ts'
import { record } from './history.ts'
import { chooseCores, machineKind, stayOn } from './machine.ts'
import { BenchError, readOptions, type Section } from './options.ts'
import { recording } from './recording.ts'
import { contestants } from './servers.ts'
import { coldStarts, firstEvent, histories, memory, sessions } from './single-calls.ts'
import { scratch } from './support.ts'
import { type Line, tableOf } from './table.ts'
import { telemetry } from './telemetry.ts'
import { answers, forwarding, STREAM_NOTE } from './throughput.ts'
import { needWrk } from './wrk.ts'

/** Measurements, and which sections make them needed. */
const MEASUREMENTS: readonly { sections: readonly Section[]; run: (bench: Bench) => Promise<Line[]> }[] = [
  { sections: ['whole', 'stream'], run: answers },
  { sections: ['forward'], run: forwarding },
  { sections: ['first-event'], run: firstEvent },
  { sections: ['start'], run: coldStarts },
  { sections: ['memory'], run: memory },
  { sections: ['sessions'], run: sessions },
  { sections: ['histories'], run: histories },
  { sections: ['explore'], run: explorations },
  { sections: ['telemetry'], run: telemetry },
  { sections: ['recording'], run: recording },
]

async function run(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  needWrk()
  const began = performance.now()
  const notes: string[] = []
  const { folder } = scratch()
  const all = await contestants(options, folder)
  const { cores, warning } = chooseCores()
  if (warning) notes.push(warning)
  else notes.push(`servers on core ${cores?.server} (those that record or not: on both), load on core ${cores?.load}`)
  // After the builds, which may have all cores.
  if (cores) stayOn(cores.load)
  const bench: Bench = {
    options,
    contestants: all,
    folder,
    cores,
    wants: (section) => options.only.includes(section),
    progress: (what) => console.error(`bench: ${what} ...`),
    noteNoise(measured, { noisy, left }) {
      if (noisy > 0)
        notes.push(`${measured}: ${noisy} noisy rounds made again${left > 0 ? `, ${left} still noisy` : ''}`)
    },
  }
  const lines: Line[] = []
  for (const { sections, run } of MEASUREMENTS) {
    if (!sections.some(bench.wants)) continue
    try {
      lines.push(...(await run(bench)))
    } catch (error) {
      // The other figures took minutes: they are not thrown away.
      if (!(error instanceof BenchError)) throw error
      notes.push(`FAILED: ${sections.join(', ')}: ${error.message}`)
      process.exitCode = 1
    }
  }
  const { rounds, seconds } = options
  console.log(`\n${machineKind()}; ${rounds} rounds of ${seconds} s, everybody in turn, medians; ${STREAM_NOTE}`)
  console.log(`${notes.join('\n')}\n\n${tableOf(lines)}\n`)
  console.error(`bench: took ${Math.round((performance.now() - began) / 1e3)} s`)
  if (options.record) console.log(`recorded in bench/history.md:\n${record(lines, options)}`)
}

try {
  await run()
} catch (error) {
  if (!(error instanceof BenchError)) throw error
  console.error(`bench: ${error.message}`)
  process.exit(1)
}
process.exit()
