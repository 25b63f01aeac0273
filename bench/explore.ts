// What an exploration costs: seconds of two programs, runs a minute, and how much longer a run takes than the command.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import type { Cores } from './machine.ts'
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
const PROGRAMS = join(import.meta.dir, 'programs')
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

/** Numbers of parallel runs that are compared. */
const JOBS = [1, 2, 4]

/** Whole explorations of the programs in `programs/`, and how long they may take on two quiet cores. */
const WHOLE = [
  { name: 'one call', command: ['node', '--test', 'one-call.test.mjs'], goal: '< 15 s' },
  { name: 'four calls', command: ['node', 'four-calls.mjs'], goal: '< 60 s' },
]

/** What is explored, and with which flags. */
interface Explored {
  command: readonly string[]
  cwd: string
  flags: readonly string[]
}

/** Milliseconds of an exploration on both cores, its runs without those of the baseline, and its cases. */
async function exploration({ command, cwd, flags }: Explored, cores: Cores | undefined) {
  const { folder: out, remove } = scratch()
  // The bench itself stays on one core.
  const both = cores ? ['taskset', '-c', `${cores.server},${cores.load}`] : []
  const began = performance.now()
  const child = Bun.spawn([...both, understudy, 'explore', '--json', '--out', out, ...flags, '--', ...command], {
    ...{ cwd, stdout: 'pipe', stderr: 'ignore' },
  })
  const text = await new Response(child.stdout).text()
  const took = performance.now() - began
  remove()
  if (text === '') throw new BenchError('nothing was explored')
  const { runs, cases } = JSON.parse(text.trim().split('\n').at(-1) ?? '') as { runs: number; cases: unknown[] }
  return { took, runs, cases: cases.length }
}

/** Explores a small program with each number of jobs in each round, and two programs as a whole. */
export async function explorations({ options, cores, progress }: Bench): Promise<Line[]> {
  progress('explorations')
  const { folder, remove } = scratch()
  const command = [process.execPath, 'program.mjs']
  writeFileSync(join(folder, 'program.mjs'), PROGRAM)
  const alone = await bare(command, folder)
  const classes = CLASSES.flatMap((name) => ['--failure-mode', name])
  const rounds: { jobs: number; took: number; runs: number }[] = []
  for (let round = 0; round < options.rounds; round++)
    for (const jobs of JOBS) {
      const flags = [...classes, '--jobs', String(jobs)]
      const { took, runs } = await exploration({ command, cwd: folder, flags }, cores)
      // One job has two baseline runs, more have three.
      rounds.push({ jobs, took, runs: runs + (jobs === 1 ? 2 : 3) })
    }
  remove()
  const of = (jobs: number) => rounds.filter((round) => round.jobs === jobs)
  const more = of(1).map(({ took, runs }) => took / runs - alone)
  const spread = (figures: readonly number[]) =>
    `${Math.min(...figures).toFixed(0)} - ${Math.max(...figures).toFixed(0)}`
  const rates = JOBS.map((jobs): Line => {
    const perMinute = of(jobs).map(({ took, runs }) => (runs / took) * 60_000)
    const measured = `explore, runs a minute, ${jobs} job${jobs === 1 ? '' : 's'}`
    return { measured, server: 'own', figure: median(perMinute).toFixed(0), spread: spread(perMinute) }
  })
  const whole: Line[] = []
  for (const { name, command: program, goal } of WHOLE) {
    const { took, cases } = await exploration({ command: program, cwd: PROGRAMS, flags: [] }, cores)
    const figure = `${(took / 1e3).toFixed(1)} s`
    whole.push({ measured: `explore, ${name}`, server: 'own', figure, spread: `${cases} cases`, goal })
  }
  return [
    ...whole,
    ...rates,
    {
      measured: 'explore, a run longer than the command by',
      server: 'own',
      figure: milliseconds(median(more)),
      spread: `${spread(more)} ms`,
    },
    { measured: 'explore, the bare command', server: 'own', figure: milliseconds(alone) },
  ]
}
