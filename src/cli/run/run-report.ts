// Collects the runs of exec for a page, before their servers end.
import type { VerdictResult, Verification } from '../../contract/core/verification.ts'
import { operationNamed } from '../../endpoints/index.ts'
import { entriesOf, inFull, ofRun, type ReportEntry } from '../../inspector/report.ts'
import type { ReportedRun } from '../../inspector/report-data.ts'
import type { Session } from '../../sessions/sessions.ts'
import { writeReport } from '../commands/trace-export.ts'
import { cassetteProblems } from '../print/cassette-lines.ts'
import { notEmulatedLines } from '../print/report.ts'
import type { SuiteRun } from './suite-run.ts'

/** The runs so far. */
export type RunReport = ReturnType<typeof runReport>

/** The places of some verdicts among all, failed ones first. */
function failedFirst(some: readonly Verification[], all: readonly Verification[]): number[] {
  const rank = ({ verdict }: Verification) => ORDER.indexOf(verdict)
  return some.toSorted((one, other) => rank(one) - rank(other)).map((one) => all.indexOf(one))
}
const ORDER: readonly VerdictResult[] = ['fail', 'inconclusive', 'pass']

function reportedRun(run: SuiteRun, sessions: readonly number[]): ReportedRun {
  const { name, verdict, inconclusive, code, timed_out: timedOut, took_ms: tookMs, findings, not_emulated } = run
  return {
    ...{ name, verdict, inconclusive, code, timedOut, tookMs, findings, sessions },
    cassetteProblems: (run.cassettes?.sessions ?? []).flatMap((one) =>
      cassetteProblems(one, run.strict).map((problem) => `${one.session}: ${problem}`),
    ),
    notEmulated: notEmulatedLines(not_emulated),
  }
}

/** An empty report. */
export function runReport() {
  const runs: { name: string; entries: ReportEntry[]; verdicts: readonly Verification[] }[] = []
  return {
    /** Adds the calls of a run, in full, and its verdicts. */
    async add(name: string, sessions: readonly Session[], verdicts: readonly Verification[]): Promise<void> {
      // The databases are closed with their server.
      const calls = await inFull(sessions.flatMap(({ traces }) => entriesOf({ traces, operation: operationNamed })))
      runs.push({ name, entries: calls.map(({ row, call }) => ({ row, read: () => call })), verdicts })
    },
    /** Writes the page of these runs. */
    write(file: string, command: string, results: readonly SuiteRun[]): Promise<void> {
      const parts = runs.length === 1 ? runs : runs.map(({ name, entries, verdicts }) => ofRun(name, entries, verdicts))
      const verdicts = parts.flatMap((part) => part.verdicts)
      return writeReport(file, {
        ...{ title: `understudy exec -- ${command}`, verdicts },
        entries: parts.flatMap(({ entries }) => entries),
        execution: {
          command,
          runs: results.map((run, index) => reportedRun(run, failedFirst(parts[index]?.verdicts ?? [], verdicts))),
        },
      })
    },
  }
}
