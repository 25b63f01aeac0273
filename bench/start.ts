// npm run bench start [RUNS] [CALLS]: cold start, size and memory, beside a bare Bun server compiled in the same run.
import { statSync } from 'node:fs'
import { call, constantCommand, inFolder, median, megabytes, serveCommand, start } from './support.ts'

const [runs = 15, calls = 20_000] = process.argv.slice(2).map(Number)
const CONNECTIONS = 32

/** Milliseconds from spawning a server to its first answered call. */
async function coldStart(command: readonly string[]): Promise<number> {
  const began = performance.now()
  const callContext = await start(command)
  await call(callContext.url)
  const took = performance.now() - began
  await callContext.stop()
  return took
}

/** Bytes of memory after the first call and after many. */
async function memory(command: readonly string[]): Promise<{ idle: number; used: number }> {
  const callContext = await start(command)
  await call(callContext.url)
  const idle = callContext.memory()
  let left = calls
  const caller = async () => {
    while (left-- > 0) await call(callContext.url)
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, caller))
  const used = callContext.memory()
  await callContext.stop()
  return { idle, used }
}

await inFolder(async (folder) => {
  const ours = { command: serveCommand, times: [] as number[] }
  const bare = { command: await constantCommand(folder), times: [] as number[] }
  const both = [ours, bare]
  for (let run = -1; run < runs; run++) {
    for (const { command, times } of both) {
      const took = await coldStart(command)
      // The first run only warms the file cache.
      if (run >= 0) times.push(took)
    }
  }
  const memories = [await memory(ours.command), await memory(bare.command)]
  const row = (figure: string, values: number[], show: (value: number) => string) => ({
    figure,
    understudy: show(values[0] ?? 0),
    'bare Bun': show(values[1] ?? 0),
    ratio: ((values[0] ?? 0) / (values[1] ?? 1)).toFixed(2),
  })
  const milliseconds = (value: number) => `${value.toFixed(1)} ms`
  const table = [
    row(
      'cold start, fastest',
      both.map(({ times }) => Math.min(...times)),
      milliseconds,
    ),
    row(
      'cold start, median',
      both.map(({ times }) => median(times)),
      milliseconds,
    ),
    row(
      'executable',
      both.map(({ command }) => statSync(command[0] ?? '').size),
      megabytes,
    ),
    row(
      'memory, idle',
      memories.map(({ idle }) => idle),
      megabytes,
    ),
    row(
      `memory, ${calls} calls`,
      memories.map(({ used }) => used),
      megabytes,
    ),
  ]
  console.log(`cold start: from the process's start to its first answered chat call, ${runs} runs in turn`)
  console.table(table, ['figure', 'understudy', 'bare Bun', 'ratio'])
})
