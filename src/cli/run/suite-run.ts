// What came of a command that exec ran, over all sessions that it used.
import type { Finding } from '../../contract/core/finding.ts'
import type { EarlierVerdict, VerdictResult, Verification } from '../../contract/core/verification.ts'
import type { CallTimes } from '../../db/trace-writes.ts'
import type { RecoveryPathCounts } from '../../exploration/recovery-paths.ts'
import { PART_ENDS } from '../../verdict/notices.ts'
import type { ExecRun } from '../print/report-schemas.ts'
import type { SessionTime } from './session-time.ts'

/** The verdict on a session, or on a part of it that ended before the command did. */
export type RunSession = Verification & Partial<Pick<EarlierVerdict, 'part' | 'ended_by' | 'ended_at'>>

/** The name of a session, and which part of it is meant. */
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
  /** Whether somebody has asked for the end before the command came to it. */
  stopped: boolean
  took_ms: number
  /** How the time of each session passed. */
  clocks: SessionTime[]
  /** Whether warnings count as errors. */
  strict: boolean
  /** `fail` as well when the command failed. */
  verdict: VerdictResult
  /** Why the run proves nothing: the reasons of its sessions, where each of them has one. */
  inconclusive: readonly string[]
  /** The verdict is `pass`. */
  ok: boolean
  /** What is found of the run as a whole. */
  findings: Finding[]
  /** Rules of the scenario that are about none of the sessions. */
  unmatched_rules: string[]
  /** The sessions that were used, each part of one by itself, those that broke first. */
  sessions: RunSession[]
  /** Ways through the gateway that the calls configure, with how often they were taken. */
  recovery_paths: RecoveryPathCounts
  /** The address that the command was given. */
  url: string
  /** The file that keeps the calls. */
  db: string | null
  /** The times of the calls by trace, by session. */
  times: ReadonlyMap<string, ReadonlyMap<string, CallTimes>>
}

/** The verdict is not a pass, although the command ended with 0. */
export const NOT_PASSED = 3
/** Ended by Ctrl-C. */
export const STOPPED = 130

/** The exit code for the runs together: that of the first command that failed, else what the judge says. */
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
