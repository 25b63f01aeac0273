// The content of a report: everything that the page shows of some calls without a server.

import type { CallRow } from '../contract/core/call-row.ts'
import type { Exchange } from '../contract/core/exchange.ts'
import type { ExplorationData } from '../contract/core/exploration.ts'
import type { Finding } from '../contract/core/finding.ts'
import type { StoredTrace } from '../contract/core/trace.ts'
import type { VerdictResult, Verification } from '../contract/core/verification.ts'
import type { Waterfall } from '../contract/core/waterfall.ts'

/** A comment in the page that a report replaces by its data. */
export const DATA_MARK = '<!-- data -->'

/** A call with all details. */
export interface ReportCall {
  trace: StoredTrace
  waterfall: Waterfall
  exchange: Exchange
}

/** A run of the command of `exec`. */
export interface ReportedRun {
  /** Its scenario and seed. */
  name: string
  verdict: VerdictResult
  /** Why it is inconclusive; empty if it is conclusive. */
  inconclusive: readonly string[]
  /** Exit code of the command. */
  code: number
  /** Whether `--timeout` ended the command. */
  timedOut: boolean
  tookMs: number
  /** Findings about the run as a whole. */
  findings: readonly Finding[]
  /** Why the run fails because of cassettes, as lines: misses, for example. */
  cassetteProblems: readonly string[]
  /** The calls of APIs that are not emulated, as lines. */
  notEmulated: readonly string[]
  /** The places of its sessions in `verdicts`, failed ones first. */
  sessions: readonly number[]
}

/** What `exec` ran. */
export interface ReportedExecution {
  /** The command line. */
  command: string
  runs: readonly ReportedRun[]
}

/** The data of a report. */
export interface ReportData {
  /** When it was written, ISO 8601. */
  made: string
  version: string
  /** A title, such as the command of a run. */
  title: string
  rows: CallRow[]
  /** By trace id. Calls of which only the row is included are omitted; `left_out` is their number. */
  calls: Record<string, ReportCall>
  left_out: number
  /** Verdicts by session. */
  verdicts: Verification[]
  /** The runs of `exec`; absent in other reports. */
  execution?: ReportedExecution
  /** The result of `explore`; absent in other reports. */
  exploration?: ExplorationData
}
