// Writes an exploration as a page that works without a server: its matrix, and the runs of each case.

import { stringify } from 'yaml'
import { caseName, type ExplorationData } from '../../contract/core/exploration.ts'
import { openReadOnly } from '../../db/open.ts'
import { traceStore } from '../../db/trace-store.ts'
import { READ_ONLY } from '../../db/writer.ts'
import { operationNamed } from '../../endpoints/index.ts'
import { failureModes } from '../../exploration/failure-modes.ts'
import { entriesOfRun } from '../../inspector/report.ts'
import { writeReport } from '../commands/trace-export.ts'
import type { ExploreReport } from './explore-matrix.ts'
import { problemCommand } from './explore-problems.ts'

type PageReport = Omit<ExploreReport, 'width'> & {
  /** The command line. */
  command: string
}

/** Writes the page; `db` is the file with the calls of all runs. */
export async function writeExploration(file: string, db: string, report: PageReport): Promise<void> {
  const store = traceStore(openReadOnly(db), READ_ONLY)
  const source = { traces: store, operation: operationNamed }
  // Cases with the evidence of another run share its calls.
  const runs = new Map(report.cases.map(({ calls }) => [calls[0], calls]))
  const entries = [...runs.values()].flatMap((ids, index) => entriesOfRun(source, ids, `run ${index + 1}`))
  await writeReport(file, {
    title: `understudy explore -- ${report.command}`,
    entries,
    verdicts: [],
    exploration: explorationData(report),
  })
}

function explorationData({ found, cases, problems, fixed, coverage, command, repeat }: PageReport): ExplorationData {
  const { points, dropped, routes, runs, saved, quietMs, limitMs } = found
  const skipped = found.skipped.filter(({ why }) => why === 'time')
  const similar = new Set(found.skipped.flatMap(({ point, why }) => (why === 'similar' ? [point] : [])))
  return {
    ...{
      problems: problems.map((problem) => ({ ...problem, command: problemCommand(problem, repeat) })),
      command,
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
    cells: cases.map(({ scenario, mistake: _, ...result }) => ({
      ...result,
      scenario: scenario && stringify(scenario),
      repeat: repeat(caseName(result)),
    })),
  }
}
