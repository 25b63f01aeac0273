// Writes an exploration as a page that works without a server: its matrix, and the runs of each case.
import { stripVTControlCharacters } from 'node:util'
import { stringify } from 'yaml'
import { type CaseResult, caseName, type ExplorationData, type ReportedCase } from '../../contract/core/exploration.ts'
import type { StoredTrace } from '../../contract/core/trace.ts'
import { openReadOnly } from '../../db/open.ts'
import { type TraceStore, traceStore } from '../../db/trace-store.ts'
import { READ_ONLY } from '../../db/writer.ts'
import { operationNamed } from '../../endpoints/index.ts'
import { faultsIn, printedLines } from '../../exploration/baseline.ts'
import type { ShownRun } from '../../exploration/baseline-runs.ts'
import { failureModes } from '../../exploration/failure-modes.ts'
import { pointParts } from '../../exploration/injection-points.ts'
import { entriesOfRun } from '../../inspector/report.ts'
import { printable } from '../../lib/printable.ts'
import { type ComparedCall, runDifference } from '../../views/run-difference.ts'
import { writeReport } from '../commands/trace-export.ts'
import type { ExploreReport } from './explore-matrix.ts'
import { problemCommand } from './explore-problems.ts'
import { notEmulatedLines } from './report.ts'

type PageReport = Omit<ExploreReport, 'width'> & {
  /** The command line. */
  command: string
  /** The command that reproduces a case by its scenario file; null if none does. */
  scenarioCommand(cell: CaseResult): string | null
}

/** Writes the page; `db` is the file with the calls of all runs. */
export async function writeExploration(file: string, db: string, report: PageReport): Promise<void> {
  const store = traceStore(openReadOnly(db), READ_ONLY)
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
    ...{
      problems: problems.map((problem) => ({ ...problem, command: problemCommand(problem, repeat) })),
      command,
      ...judgement,
      notEmulated: notEmulatedLines(notEmulated),
      baseline: baselineRun && {
        output: shownOutput(baselineRun.output),
        code: baselineRun.code,
        tookMs: baselineRun.tookMs,
      },
      skipped,
      similar: found.skipped.length - skipped.length,
      dropped,
      coverage,
      routes,
      runs,
      saved,
      quietMs,
      limitMs,
    },
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
