// The content of a report: everything that the page shows of some calls without a server.

import type { CallRow } from '../contract/core/call-row.ts'
import type { Exchange } from '../contract/core/exchange.ts'
import type { ExplorationData } from '../contract/core/exploration.ts'
import type { StoredTrace } from '../contract/core/trace.ts'
import type { Verification } from '../contract/core/verification.ts'
import type { Waterfall } from '../contract/core/waterfall.ts'

/** A call with all details. */
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
  /** A title, such as the command of a run. */
  title: string
  rows: CallRow[]
  /** By trace id. Calls of which only the row is included are omitted; `left_out` is their number. */
  calls: Record<string, ReportCall>
  left_out: number
  /** Verdicts by session. */
  verdicts: Verification[]
  /** The result of `explore`; absent in other reports. */
  exploration?: ExplorationData
}
