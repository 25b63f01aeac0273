// The files of an exploration: scenarios of failed cases, JSON and JUnit, and a page that works without a server.
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { stringify } from 'yaml'
import {
  type CaseResult,
  type CoverageNumbers,
  caseName,
  type ExplorationData,
  type ReportedCase,
} from '../../contract/core/exploration.ts'
import { FORMATS } from '../../contract/core/formats.ts'
import type { StoredTrace } from '../../contract/core/trace.ts'
import type { TraceStore } from '../../db/trace-store.ts'
import { operationNamed } from '../../endpoints/index.ts'
import { faultsIn, printedLines } from '../../exploration/baseline.ts'
import type { ShownRun } from '../../exploration/baseline-runs.ts'
import { failureModes } from '../../exploration/failure-modes.ts'
import { pointParts } from '../../exploration/injection-points.ts'
import { isError, problemKindOf } from '../../exploration/problems.ts'
import { entriesOfRun } from '../../inspector/report.ts'
import { printable, printableLine } from '../../lib/printable.ts'
import { sumOf } from '../../lib/values.ts'
import { type ComparedCall, runDifference } from '../../views/run-difference.ts'
import { writeReport } from '../commands/trace-export.ts'
import { openTraces } from '../run/trace-source.ts'
import { type ExploreReport, problemCommand } from './explore-matrix.ts'
import { isJudgedAlone } from './explore-repeat.ts'
import { type JunitCase, junitXml } from './junit.ts'
import { writeOutputFile } from './output-file.ts'
import { notEmulatedLines } from './report.ts'
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
  { found, cases, coverage, problems, repeat, judgement, notEmulated }: Omit<ExploreReport, 'width'>,
  files: ReadonlyMap<string, string>,
): ExploreJson => ({
  format_version: FORMATS.reports,
  ...judgement,
  problems: problems.map((problem) => ({
    ...{ kind: problem.kind, severity: problem.severity, message: problem.why },
    ...{ calls: problem.calls, failure_modes: problem.classes },
    cases: problem.cases.map((one) => ({ injection_point: one.point, failure_mode: one.class })),
    command: problemCommand(problem, repeat),
  })),
  injection_points: found.points.map(
    ({ id, label, operation, stream, model, session, turn, nth, unstable, discovered }) => ({
      ...{ id, label, operation, stream, model, session, turn, occurrence: nth, unstable, discovered },
    }),
  ),
  cases: cases.map((result) => ({
    ...{ injection_point: result.point, failure_mode: result.class, result: result.verdict, reason: result.why },
    traces: result.traces,
    scenario: files.get(caseName(result)) ?? null,
    derived: result.derived,
  })),
  not_run: found.skipped.map(({ point, class: mode, why }) => ({
    injection_point: point,
    failure_mode: mode,
    reason: why,
  })),
  coverage: coverageAsJson(coverage),
  ...{ recovery_paths: found.recoveryPaths, routes: found.routes, not_emulated: [...notEmulated] },
  ...{ dropped: found.dropped, runs: found.runs, runs_saved: found.saved },
  ...{ serial_reason: found.serialReason, left_processes: found.leftProcesses },
})

/** The three coverage numbers as `--json` prints them. */
const coverageAsJson = ({ delivered, tolerated, recoveryPaths }: CoverageNumbers) => ({
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

type PageReport = Omit<ExploreReport, 'width'> & {
  /** The command line. */
  command: string
  /** The command that reproduces a case by its scenario file; null if none does. */
  scenarioCommand(cell: CaseResult): string | null
}

/** Writes the page; `db` is the file with the calls of all runs. */
export async function writeExploration(file: string, db: string, report: PageReport): Promise<void> {
  const { store } = openTraces(db, undefined)
  const source = { traces: store, operation: operationNamed }
  // Cases with the evidence of another run share its calls.
  const runs = new Map(report.cases.map(({ calls }) => [calls[0], calls]))
  const baseline = report.found.baselineRun?.calls.map(({ id }) => id) ?? []
  await writeReport(file, {
    title: `understudy explore -- ${report.command}`,
    entries: [
      ...entriesOfRun(source, baseline, 'baseline run'),
      ...[...runs.values()].flatMap((ids, index) => entriesOfRun(source, ids, `run ${index + 1}`)),
    ],
    verdicts: [],
    exploration: explorationData(report, callComparer(store, report.found.baselineRun)),
  })
}

/** The calls of a case, as its report has them. */
type ComparedCase = Pick<ReportedCase, 'broken' | 'difference'>

/** Compares the calls of cases with those of the baseline run. */
function callComparer(
  store: TraceStore,
  baseline: ShownRun | null,
): (run: Pick<CaseResult, 'calls' | 'unstored'>) => ComparedCase {
  const read = (id: string) => {
    const trace = store.get(id)
    return trace ? [comparedCall(trace)] : []
  }
  const bySession = Map.groupBy(baseline?.calls ?? [], ({ session }) => session)
  const own = new Map([...bySession].map(([session, calls]) => [session, calls.flatMap(({ id }) => read(id))]))
  return ({ calls, unstored }) => {
    const run = calls.flatMap(read)
    const session = calls[0] === undefined ? undefined : store.get(calls[0])?.session
    const isWhole = baseline?.whole === true && unstored === 0
    return {
      broken: run.filter(({ broken }) => broken).map(({ id }) => id),
      difference: session !== undefined && isWhole ? runDifference(own.get(session) ?? [], run) : null,
    }
  }
}

function comparedCall({ id, call_site: site, operation, request, ...trace }: StoredTrace): ComparedCall {
  const { outcome, status, model } = trace
  return {
    ...{ id, outcome, status, model },
    kind: site === undefined ? operation : pointParts(site).kind,
    request: JSON.stringify(request),
    broken: faultsIn(trace).length > 0,
  }
}

const hasSameLines = (...runs: readonly Pick<ShownRun, 'output'>[]): boolean =>
  new Set(runs.map((run) => printedLines(run).join('\n'))).size === 1

/** A text of a command as the page shows it: without colors, and with every other control character visible. */
const shownOutput = (output: string): string =>
  printable(stripVTControlCharacters(output).replaceAll('\r\n', '\n')).trimEnd()

function explorationData(
  { found, cases, problems, fixed, coverage, command, repeat, judgement, notEmulated, scenarioCommand }: PageReport,
  compare: ReturnType<typeof callComparer>,
): ExplorationData {
  const { points, dropped, routes, runs, saved, quietMs, limitMs, baselineRun } = found
  const skipped = found.skipped.filter(({ why }) => why === 'time')
  const similar = new Set(found.skipped.flatMap(({ point, why }) => (why === 'similar' ? [point] : [])))
  return {
    problems: problems.map((problem) => ({ ...problem, command: problemCommand(problem, repeat) })),
    command,
    ...judgement,
    notEmulated: notEmulatedLines(notEmulated),
    baseline: baselineRun && {
      output: shownOutput(baselineRun.output),
      ...{ code: baselineRun.code, tookMs: baselineRun.tookMs },
    },
    ...{ skipped, similar: found.skipped.length - skipped.length },
    ...{ dropped, coverage, routes, runs, saved, quietMs, limitMs },
    fixed: fixed.map((known) => ({ point: known.injection_point, class: known.failure_mode })),
    classes: failureModes.map(({ name }) => name),
    points: points
      .filter(({ id }) => !similar.has(id))
      .map(({ id, operation, stream, model, session, turn, nth, unstable, discovered, label }) => ({
        ...{ id, operation, stream, model, session, turn, nth, unstable, discovered, label },
      })),
    cells: cases.map((cell) => {
      const { scenario, mistake: _, output, ...result } = cell
      return {
        ...result,
        ...compare(result),
        output: output && shownOutput(output),
        sameOutput: output !== null && baselineRun !== null && hasSameLines({ output }, baselineRun),
        scenario: scenario && stringify(scenario),
        repeat: repeat(caseName(result)),
        repeatScenario: scenarioCommand(cell),
      }
    }),
  }
}
