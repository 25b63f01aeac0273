// What a report holds: everything that the page shows of some calls without a server.

import type { CallRow } from '../contract/core/call-row.ts'
import type { Exchange } from '../contract/core/exchange.ts'
import type { ExplorationData } from '../contract/core/exploration.ts'
import type { StoredTrace } from '../contract/core/trace.ts'
import type { Verification } from '../contract/core/verification.ts'
import type { Waterfall } from '../contract/core/waterfall.ts'

/** A call with everything beside its row. */
export interface ReportCall {
  trace: StoredTrace
  waterfall: Waterfall
  exchange: Exchange
}

/** The data of a report. */
export interface ReportData {
  /** When it was written, ISO 8601. */
  made: string
  version: string
  /** What was done, such as the command of a run. */
  title: string
  rows: CallRow[]
  /** By id of the trace; those of which only the row is there are left out, and `left_out` says how many. */
  calls: Record<string, ReportCall>
  left_out: number
  /** Verdicts by session. */
  verdicts: Verification[]
  /** What `explore` found; absent of other reports. */
  exploration?: ExplorationData
}
