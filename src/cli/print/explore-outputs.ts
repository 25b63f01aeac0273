// The files of an exploration: scenarios of failed cases, JSON and JUnit.
import { join } from 'node:path'
import { stringify } from 'yaml'
import { type CaseResult, type CoverageNumbers, caseName } from '../../contract/core/exploration.ts'
import { FORMATS } from '../../contract/core/formats.ts'
import type { Exploration } from '../../exploration/explore.ts'
import { isError, problemKindOf } from '../../exploration/problems.ts'
import { printableLine } from '../../lib/printable.ts'
import { sumOf } from '../../lib/values.ts'
import type { ExploreReport } from './explore-matrix.ts'
import { problemCommand } from './explore-problems.ts'
import { isJudgedAlone } from './explore-repeat.ts'
import { type JunitCase, junitXml } from './junit.ts'
import { writeOutputFile } from './output-file.ts'
import type { ExploreJson } from './report-schemas.ts'

/** The file in the folder of an exploration that stores the calls of its runs. */
export const RUNS = 'runs.db'

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
  { warn, ...commands }: RepeatCommands & { warn(message: string): void },
): Map<string, string> {
  const written = new Map<string, string>()
  for (const cell of cells) {
    if (problemKindOf(cell) === undefined || !cell.scenario || cell.derived) continue
    const file = join(folder, `${cell.scenario.name}.yaml`)
    try {
      writeOutputFile(file, scenarioText(cell, file, commands))
    } catch (error) {
      // The report matters more.
      warn((error as Error).message)
      return written
    }
    written.set(caseName(cell), file)
  }
  return written
}

/** The report for programs. */
export const reportAsJson = (
  { points, skipped, dropped, runs, saved, routes, recoveryPaths, serialReason, leftProcesses }: Exploration,
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
  format_version: FORMATS.reports,
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
  ...{ serial_reason: serialReason, left_processes: leftProcesses },
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
      took: sumOf(results, ({ tookMs }) => tookMs ?? 0),
      cases: results.map(
        (result): JunitCase => ({
          suite: result.point,
          name: result.class,
          took: result.derived ? 0 : (result.tookMs ?? 0),
          ...junitResult(result),
        }),
      ),
    },
  ])

function junitResult(result: CaseResult): Pick<JunitCase, 'failure' | 'output'> {
  const text = `${result.verdict}${result.derived ? ', derived' : ''}: ${result.why}`
  return isError(result) ? { failure: text, output: result.output ?? undefined } : { output: text }
}
