// Collects the runs of exec for a page, before their servers end.
import type { Verification } from '../../contract/core/verification.ts'
import { operationNamed } from '../../endpoints/index.ts'
import { entriesOf, inFull, ofRun, type ReportEntry } from '../../inspector/report.ts'
import type { Session } from '../../sessions/sessions.ts'
import { writeReport } from '../commands/trace-export.ts'

/** The runs so far. */
export interface RunReport {
  /** Adds the calls of a run, in full, and its verdicts. */
  add(run: string, sessions: readonly Session[], verdicts: readonly Verification[]): Promise<void>
  write(file: string, title: string): Promise<void>
}

/** An empty report. */
export function runReport(): RunReport {
  const runs: { name: string; entries: ReportEntry[]; verdicts: readonly Verification[] }[] = []
  return {
    async add(name, sessions, verdicts) {
      // The databases are closed with their server.
      const calls = await inFull(sessions.flatMap(({ traces }) => entriesOf({ traces, operation: operationNamed })))
      runs.push({ name, entries: calls.map(({ row, call }) => ({ row, read: () => call })), verdicts })
    },
    write(file, title) {
      const parts = runs.length === 1 ? runs : runs.map(({ name, entries, verdicts }) => ofRun(name, entries, verdicts))
      return writeReport(file, {
        title,
        entries: parts.flatMap(({ entries }) => entries),
        verdicts: parts.flatMap(({ verdicts }) => verdicts),
      })
    },
  }
}
