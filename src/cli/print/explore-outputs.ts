// The files of an exploration: scenarios of failed cases, the state for --resume, JSON and JUnit.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ConfigError } from '../../config.ts'
import { type CaseResult, type CoverageNumbers, caseName } from '../../contract/core/exploration.ts'
import type { Exploration } from '../../exploration/explore.ts'
import { isError, problemKindOf } from '../../exploration/severity.ts'
import type { TriedCase } from '../../exploration/trial.ts'
import { realClock } from '../../lib/clock.ts'
import { printableLine } from '../../lib/printable.ts'
import { makePrivateFolder } from '../../lib/private-files.ts'
import { isObject } from '../../lib/values.ts'
import type { ExploreReport } from './explore-matrix.ts'
import { problemCommand } from './explore-problems.ts'
import { isJudgedAlone } from './explore-repeat.ts'
import { type JunitCase, junitXml } from './junit.ts'
import { writeOutputFile } from './output-file.ts'
import type { ExploreJson } from './report-schemas.ts'

const STATE = 'state.json'
/** The file in the folder of an exploration that stores the calls of its runs. */
export const RUNS = 'runs.db'

/** The state from which an exploration can be resumed. */
interface State {
  /** Version of the file format. */
  version: typeof STATE_VERSION
  command: readonly string[]
  seed: number
  cells: TriedCase[]
}
const STATE_VERSION = 3
/** At most one part in so many of the time is spent on writing the state. */
const SAVING_SHARE = 20

/** Saves results as they are found, in a folder that is created if necessary. */
export function keptState(folder: string, about: Pick<State, 'command' | 'seed'>, resume: boolean) {
  makeFolder(folder)
  const path = join(folder, STATE)
  const results = resume ? resumedCases(path, about) : []
  const before = new Map(results.map((tried) => [caseName(tried.result), tried]))
  const found = new Map(before)
  let pause = { from: 0, ms: 0 }
  const save = () => {
    const began = realClock.now()
    const text = JSON.stringify({ version: STATE_VERSION, ...about, cells: [...found.values()] } satisfies State)
    // If the process is killed while writing, the previous file stays.
    writeOutputFile(path, text, { sync: true })
    const from = realClock.now()
    pause = { from, ms: SAVING_SHARE * (from - began) }
  }
  save()
  return {
    before,
    /** Saves a case. After a crash, the last few may have to be run again. */
    add(tried: TriedCase) {
      found.set(caseName(tried.result), tried)
      if (realClock.now() >= pause.from + pause.ms) save()
    },
    save,
  }
}

function makeFolder(folder: string): void {
  try {
    makePrivateFolder(folder)
  } catch (error) {
    throw new ConfigError(`--out ${JSON.stringify(folder)} cannot be created: ${(error as Error).message}`)
  }
}

/** How to start again if a state cannot be used. */
const ANEW = 'omit --resume to explore everything again'

function savedState(path: string): State {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ConfigError(`--resume cannot read ${path}: ${(error as Error).message}; ${ANEW}`)
  }
  if (isState(value)) return value
  throw new ConfigError(`--resume cannot continue: ${path} is not a state file of this version; ${ANEW}`)
}

function isState(value: unknown): value is State {
  if (!isObject(value) || value.version !== STATE_VERSION) return false
  const { command, seed, cells } = value
  return Array.isArray(command) && typeof seed === 'number' && Array.isArray(cells) && cells.every(isTried)
}

const isTried = (value: unknown): value is TriedCase =>
  isObject(value) &&
  isObject(value.result) &&
  ['point', 'class', 'verdict', 'why'].every(
    (key) => typeof (value.result as Record<string, unknown>)[key] === 'string',
  ) &&
  Array.isArray(value.following) &&
  Array.isArray(value.discovered)

function resumedCases(path: string, { command, seed }: Pick<State, 'command' | 'seed'>): TriedCase[] {
  if (!existsSync(path)) throw new ConfigError(`--resume requires ${path}, which does not exist`)
  const state = savedState(path)
  if (JSON.stringify(state.command) === JSON.stringify(command) && state.seed === seed) return state.cells
  throw new ConfigError(
    `--resume cannot continue: ${path} belongs to ${JSON.stringify(state.command.join(' '))} with seed ${state.seed}; explore that command, or omit --resume`,
  )
}

/** The commands that reproduce a case: by its name, and by its scenario file. */
interface RepeatCommands {
  repeat(caseId: string): string
  repeatScenario(file: string): string
}

/** The scenario of a case as a file, which begins with the command that reproduces the result. */
function scenarioText(cell: CaseResult, file: string, { repeat, repeatScenario }: RepeatCommands): string {
  const command = isJudgedAlone(cell) ? repeatScenario(file) : repeat(caseName(cell))
  const head = [`${cell.verdict}: ${cell.why}`, `To reproduce: ${command}`].map((text) => `# ${printableLine(text)}`)
  return `${head.join('\n')}\n${stringify(cell.scenario)}`
}

/** Writes the scenario of each case that is not as it should be. Returns the files by the case's name. */
export function writeScenarios(
  folder: string,
  cells: readonly CaseResult[],
  commands: RepeatCommands,
): Map<string, string> {
  const written = cells.flatMap((cell) => {
    if (problemKindOf(cell) === undefined || !cell.scenario || cell.derived) return []
    const file = join(folder, `${cell.scenario.name}.yaml`)
    writeOutputFile(file, scenarioText(cell, file, commands))
    return [[caseName(cell), file] as const]
  })
  return new Map(written)
}

/** The report for programs. */
export const reportAsJson = (
  { points, skipped, dropped, runs, saved, routes, recoveryPaths }: Exploration,
  results: readonly CaseResult[],
  {
    coverage,
    files,
    problems,
    repeat,
    judgement,
    notEmulated,
  }: Pick<ExploreReport, 'coverage' | 'problems' | 'repeat' | 'judgement' | 'notEmulated'> & {
    files: ReadonlyMap<string, string>
  },
): ExploreJson => ({
  ...judgement,
  problems: problems.map((problem) => ({
    ...{ kind: problem.kind, severity: problem.severity, message: problem.why },
    ...{ calls: problem.calls, failure_modes: problem.classes },
    cases: problem.cases.map((one) => ({ injection_point: one.point, failure_mode: one.class })),
    command: problemCommand(problem, repeat),
  })),
  injection_points: points.map(({ id, label, operation, stream, model, session, turn, nth, unstable, discovered }) => ({
    ...{ id, label, operation, stream, model, session, turn, occurrence: nth, unstable, discovered },
  })),
  cases: results.map((result) => ({
    ...{ injection_point: result.point, failure_mode: result.class, result: result.verdict, reason: result.why },
    traces: result.traces,
    scenario: files.get(caseName(result)) ?? null,
    derived: result.derived,
  })),
  not_run: skipped.map(({ point, class: mode, why }) => ({ injection_point: point, failure_mode: mode, reason: why })),
  coverage: coverageAsJson(coverage),
  recovery_paths: recoveryPaths,
  routes,
  not_emulated: [...notEmulated],
  dropped,
  runs,
  runs_saved: saved,
})

/** The three coverage numbers as `--json` prints them. */
export const coverageAsJson = ({ delivered, tolerated, recoveryPaths }: CoverageNumbers) => ({
  faults: shareAsJson(delivered),
  tolerance: shareAsJson(tolerated),
  recovery_paths: shareAsJson(recoveryPaths),
})
const shareAsJson = ({ of, all }: CoverageNumbers['tolerated']) => ({ count: of, total: all })

/** One test case per case. */
export const exploreJunit = (results: readonly CaseResult[]): string =>
  junitXml('understudy explore', [
    {
      name: 'explore',
      took: results.reduce((sum, { tookMs }) => sum + (tookMs ?? 0), 0),
      cases: results.map(
        (result): JunitCase => ({
          suite: result.point,
          name: result.class,
          took: result.derived ? 0 : (result.tookMs ?? 0),
          ...(isError(result)
            ? {
                failure: `${result.verdict}${result.derived ? ', derived' : ''}: ${result.why}`,
                output: result.output ?? undefined,
              }
            : { output: `${result.verdict}${result.derived ? ', derived' : ''}: ${result.why}` }),
        }),
      ),
    },
  ])
