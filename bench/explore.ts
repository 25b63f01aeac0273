// What an exploration costs: runs a minute, and how much longer a run takes than the bare command.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import { BenchError } from './options.ts'
import { median, scratch, serveArgs, start, understudy } from './support.ts'
import { type Line, milliseconds } from './table.ts'

/** Calls of the program: each is a point of its own, since their system prompts differ. */
const CALLS = 6
/** Faults that are over at once, so that what is measured is ours. */
const CLASSES = ['server-error-once', 'auth', 'context-length', 'content-filter']
const PROGRAM = `
const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = process.env
for (let call = 0; call < ${CALLS}; call++) {
  const messages = [{ role: 'system', content: 'You are number ' + call }, { role: 'user', content: 'Hi' }]
  const response = await fetch(base + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + key, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/gpt-4o', messages }),
  })
  await response.text()
}
`
/** How often the bare command is run for its median. */
const BARE_RUNS = 9

/** Milliseconds of the command alone, against a server that stands there already. */
async function bare(command: readonly string[], folder: string): Promise<number> {
  const server = await start({ args: serveArgs(understudy) })
  const env = { ...process.env, OPENAI_BASE_URL: `${server.url}/v2/router`, OPENAI_API_KEY: 'any' }
  const times: number[] = []
  for (let run = 0; run < BARE_RUNS; run++) {
    const began = performance.now()
    const child = Bun.spawn([...command], { cwd: folder, env, stdout: 'ignore', stderr: 'ignore' })
    if ((await child.exited) !== 0) throw new BenchError(`${command.join(' ')} failed`)
    times.push(performance.now() - began)
  }
  await server.stop()
  return median(times)
}

/** Milliseconds of a whole exploration, and its runs: the quiet ones too. */
async function exploration(command: readonly string[], cwd: string) {
  const classes = CLASSES.flatMap((name) => ['--failure-mode', name])
  const began = performance.now()
  const child = Bun.spawn([understudy, 'explore', '--json', ...classes, '--', ...command], {
    ...{ cwd, stdout: 'pipe', stderr: 'ignore' },
  })
  const text = await new Response(child.stdout).text()
  const took = performance.now() - began
  if (text === '') throw new BenchError('nothing was explored')
  const { runs } = JSON.parse(text.trim().split('\n').at(-1) ?? '') as { runs: number }
  return { took, runs: runs + 2 }
}

/** Explores a small program in each round. */
export async function explorations({ options, progress }: Bench): Promise<Line[]> {
  progress('an exploration')
  const { folder, remove } = scratch()
  const command = [process.execPath, 'program.mjs']
  writeFileSync(join(folder, 'program.mjs'), PROGRAM)
  const alone = await bare(command, folder)
  const rounds: { took: number; runs: number }[] = []
  for (let round = 0; round < options.rounds; round++) rounds.push(await exploration(command, folder))
  remove()
  const perMinute = rounds.map(({ took, runs }) => (runs / took) * 60_000)
  const more = rounds.map(({ took, runs }) => took / runs - alone)
  const spread = (figures: readonly number[]) =>
    `${Math.min(...figures).toFixed(0)} - ${Math.max(...figures).toFixed(0)}`
  return [
    {
      measured: 'explore, runs a minute',
      server: 'own',
      figure: median(perMinute).toFixed(0),
      spread: spread(perMinute),
    },
    {
      measured: 'explore, a run longer than the command by',
      server: 'own',
      figure: milliseconds(median(more)),
      spread: `${spread(more)} ms`,
    },
    { measured: 'explore, the bare command', server: 'own', figure: milliseconds(alone) },
  ]
}
