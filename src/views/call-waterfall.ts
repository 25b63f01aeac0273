// The waterfall of a call with everything around it: the steps of its agent, and the tries of its client.

import type { TraceRecord } from '../contract/trace.ts'
import type { Waterfall } from '../contract/waterfall.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import { clientRows } from './client-rows.ts'
import { type TraceFinder, taskRows } from './task-rows.ts'
import { gatewayRows } from './waterfall.ts'

/** What is known around a call. */
interface CallSurroundings {
  /** The calls around it in its session, in the order in which they were made. */
  calls: readonly TraceEvidence[]
  /** Finds the trace of a call that was made inside. */
  find: TraceFinder
}

/** What happened in a call, and around it. */
export function callWaterfall(trace: TraceRecord, { calls, find }: CallSurroundings): Waterfall {
  const rows = [...gatewayRows(trace), ...taskRows(trace, find), ...(trace.inner ? [] : clientRows(trace.id, calls))]
  const spans = rows.flatMap(({ span }) => span ?? [])
  return {
    trace: trace.id,
    from: spans.reduce((least, { from, wait }) => Math.min(least, from - wait), 0),
    to: spans.reduce((most, { to }) => Math.max(most, to), trace.duration_ms),
    rows,
  }
}
