// The result of a run of exec, over all sessions that it used.
import type { CassetteReport } from '../../contract/core/cassette-report.ts'
import type { Finding } from '../../contract/core/finding.ts'
import type { EarlierVerdict, VerdictResult, Verification } from '../../contract/core/verification.ts'
import type { CallTimes } from '../../db/trace-writes.ts'
import type { RecoveryPathCounts } from '../../exploration/recovery-paths.ts'
import { PART_ENDS } from '../../verdict/notices.ts'
import type { ExecRun } from '../print/report-schemas.ts'
import type { NotEmulatedCalls } from './not-emulated.ts'
import type { SessionTime } from './session-time.ts'

/** The verdict on a session, or on a part of it that ended before the command did. */
export type RunSession = Verification & Partial<Pick<EarlierVerdict, 'part' | 'ended_by' | 'ended_at'>>

/** The name of a session, and the part of it, if it is not the whole. */
export const sessionLabel = ({ session, part, ended_by }: RunSession): string =>
  part === undefined || ended_by === undefined ? session : `${session} (part ${part}, before ${PART_ENDS[ended_by]})`

/** One run of the command. */
export interface SuiteRun {
  /** Its scenario and seed. */
  name: string
  scenario: string | null
  /** Exit code of the command. */
  code: number
  timed_out: boolean
  /** Whether a stop was requested before the command ended. */
  stopped: boolean
  took_ms: number
  /** How the time of each session passed. */
  clocks: SessionTime[]
  /** Whether warnings count as errors. */
  strict: boolean
  /** Also `fail` if the command failed. */
  verdict: VerdictResult
  /** Why the run is inconclusive: the reasons of its sessions, if each of them has one, and calls of APIs that are not emulated. */
  inconclusive: readonly string[]
  /** Whether the verdict is `pass`. */
  ok: boolean
  /** Findings about the run as a whole. */
  findings: Finding[]
  /** Rules of the scenario that match no session. */
  unmatched_rules: string[]
  /** The sessions that were used, each part by itself, failed ones first. */
  sessions: RunSession[]
  /** Configured recovery paths, with how often each was exercised. */
  recovery_paths: RecoveryPathCounts
  /** Calls of APIs that are not emulated. */
  not_emulated: NotEmulatedCalls[]
  /** The URL that the command received. */
  url: string
  /** The file with the calls. */
  db: string | null
  /** What was recorded and replayed; null if nothing was. */
  cassettes: CassetteReport | null
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
export function runAsJson({ times: _, ...run }: SuiteRun): ExecRun {
  return run
}
