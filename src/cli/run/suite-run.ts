// The result of a run of exec, over all sessions that it used.
import type { CallTimes } from '../../db/trace-writes.ts'
import { PART_ENDS } from '../../verdict/notices.ts'
import type { ExecRun } from '../print/report-schemas.ts'

/** The verdict on a session, or on a part of it that ended before the command did. */
export type RunSession = ExecRun['sessions'][number]

/** The name of a session, and the part of it, if it is not the whole. */
export const sessionLabel = ({ session, part, ended_by }: RunSession): string =>
  part === undefined || ended_by === undefined ? session : `${session} (part ${part}, before ${PART_ENDS[ended_by]})`

/** One run of the command. */
export interface SuiteRun extends ExecRun {
  /** The times of the calls by trace, by session. */
  times: ReadonlyMap<string, ReadonlyMap<string, CallTimes>>
}

/** Exit code for a verdict that is not a pass, although the command ended with 0. */
export const NOT_PASSED = 3
/** Exit code after Ctrl-C. */
export const STOPPED = 130

/** The exit code of all runs: that of the first command that failed, otherwise from the verdicts. */
export function exitCodeOf(runs: readonly Pick<SuiteRun, 'code' | 'ok' | 'stopped'>[]): number {
  const failed = runs.find(({ code }) => code !== 0)
  if (failed) return failed.code
  if (runs.some(({ ok }) => !ok)) return NOT_PASSED
  return runs.some(({ stopped }) => stopped) ? STOPPED : 0
}

/** A run as JSON. */
export const runAsJson = ({ times: _, ...run }: SuiteRun): ExecRun => run
