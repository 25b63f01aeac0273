// Programs as the command of exec: the server is this process, and the program a function of it, or a process of its own.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runSuite, type SuiteOptions } from '../../src/cli/run/suite.ts'
import { exitCodeOf, type SuiteRun } from '../../src/cli/run/suite-run.ts'
import { readConfig } from '../../src/config.ts'
import { testIo } from './cli.ts'
import { LEFT_ENV, runInProcess } from './in-process.ts'
import type { Program } from './programs/surroundings.ts'
import { emptyFolder } from './server.ts'

const programs = join(import.meta.dir, 'programs')

/** The command that runs a program of test/support/programs as a process. */
export const program = (name: string, ...args: string[]): string[] => [
  process.execPath,
  join(programs, 'run.ts'),
  name,
  ...args,
]

/** The command that runs a file of test/support/programs that takes everything from its environment. */
export const script = (name: string): string[] => [process.execPath, join(programs, `${name}.ts`)]

/** What came of a command. */
export interface Played {
  code: number
  runs: SuiteRun[]
  /** The only run. */
  run: SuiteRun
  /** Kinds of the findings that no scenario accepts, by session. */
  findings: Record<string, string[]>
}

/** Runs a command, or a program of this process, as exec would, in one scenario: the name of a shipped one, or YAML. */
export async function play(
  command: readonly string[] | Program,
  scenario?: string,
  more: Partial<SuiteOptions> & {
    strict?: boolean
    latency?: 'real' | 'skip'
    token?: string[]
    maxSessions?: number
  } = {},
): Promise<Played> {
  // Most programs here show what they do between calls: real latency would only take time.
  const { strict = false, latency = 'skip', token = [], maxSessions = 1_000, ...rest } = more
  const folder = emptyFolder()
  try {
    const file = join(folder.path, 'scenario.yaml')
    if (scenario?.includes('\n')) writeFileSync(file, scenario)
    const named = scenario === undefined ? [] : [scenario.includes('\n') ? file : scenario]
    const config = {
      ...readConfig({}, {}),
      ...{ port: 0, db: ':memory:', strict, skip_latency: latency === 'skip', token, max_sessions: maxSessions },
    }
    const [line, own] =
      typeof command === 'function'
        ? [['a program'], { runChild: runInProcess(command), leaveEnv: LEFT_ENV }]
        : [command, {}]
    const runs = await runSuite(line, { io: testIo(), config, scenarios: named, output: 'ignore', ...own, ...rest })
    const [run] = runs
    if (!run) throw new Error('nothing was run')
    const findings = Object.fromEntries(
      run.sessions.map((report) => [
        report.session,
        report.findings.filter(({ accepted }) => !accepted).map(({ kind }) => kind),
      ]),
    )
    return { code: exitCodeOf(runs), runs, run, findings }
  } finally {
    folder.remove()
  }
}
