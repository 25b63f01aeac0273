// Creates a report: summaries of the calls of one or more runs, details of as many as fit, and verdicts.

import type { CallRow } from '../contract/core/call-row.ts'
import type { ExplorationData } from '../contract/core/exploration.ts'
import type { Verification } from '../contract/core/verification.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import { realClock } from '../lib/clock.ts'
import { VERSION } from '../version.ts'
import { rowOf } from '../views/calls-page.ts'
import { type CallReader, exchangeOf } from '../views/exchange.ts'
import { REQUEST_HEAD } from '../views/sayings.ts'
import { callWaterfall } from '../views/waterfall.ts'
import type { ReportCall, ReportData, ReportedExecution } from './report-data.ts'

/** Maximum size of the details in characters: larger pages open slowly in a browser. */
const MAX_CHARACTERS = 30_000_000
/** Neighboring calls among which other attempts of the client are searched. */
const AROUND = 200
const PAGE = 1_000

/** A call, and how its details are read. */
export interface ReportEntry {
  row: CallRow
  /** Undefined if there is no room for it. */
  read(): ReportCall | undefined | Promise<ReportCall | undefined>
}

/** The inputs of a report. */
export interface ReportParts {
  title: string
  entries: readonly ReportEntry[]
  verdicts: readonly Verification[]
  execution?: ReportedExecution | undefined
  exploration?: ExplorationData | undefined
}

/** The data of a report. */
export async function reportOf(parts: ReportParts): Promise<ReportData> {
  const { title, entries, verdicts, execution, exploration } = parts
  const read = await inFull(entries)
  const calls = Object.fromEntries(read.flatMap(({ row, call }) => (call ? [[row.id, call] as const] : [])))
  return {
    made: new Date(realClock.now()).toISOString(),
    version: VERSION,
    title,
    rows: entries.map(({ row }) => row),
    calls,
    left_out: entries.length - Object.keys(calls).length,
    verdicts: [...verdicts],
    ...(execution && { execution }),
    ...(exploration && { exploration }),
  }
}

/** The details of as many calls as fit: failed ones first, then the newest. */
export async function inFull(entries: readonly ReportEntry[]) {
  const rank = ({ row }: ReportEntry) => (row.outcome === 'succeeded' ? 0 : 1)
  const ordered = entries.toSorted((one, other) => rank(other) - rank(one) || other.row.arrived - one.row.arrived)
  let remaining = MAX_CHARACTERS
  const found: { row: CallRow; call: ReportCall | undefined }[] = []
  for (const { row, read } of ordered) {
    const call = remaining > 0 ? await read() : undefined
    if (call) remaining -= JSON.stringify(call).length
    found.push({ row, call: remaining >= 0 ? call : undefined })
  }
  return found
}

/** The calls of a session's traces, newest first; `session` selects one of several in a file. */
export function entriesOf(source: CallReader, session?: string): ReportEntry[] {
  const { traces } = source
  const entries: ReportEntry[] = []
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const { found, looked, last } = traces.span({ before, above: 0, limit: PAGE, head: REQUEST_HEAD })
    for (const one of found) {
      if (session !== undefined && one.trace.session !== session) continue
      entries.push({ row: rowOf(one), read: () => fullCall(source, one.trace.id) })
    }
    if (looked < PAGE) return entries
    before = last
  }
}

/** The calls of one of several runs in a file, by their ids. The run replaces the session's name. */
export function entriesOfRun(source: CallReader, ids: readonly string[], run: string): ReportEntry[] {
  const { traces } = source
  const own = ids.flatMap((id) => traces.around(id, 0))
  const bySession = Map.groupBy(own, ({ trace }) => trace.session)
  return own
    .flatMap(({ seq }) => traces.span({ before: seq + 1, above: seq - 1, limit: 1, head: REQUEST_HEAD }).found)
    .map((one) => ({
      row: { ...rowOf(one), session: run },
      read: () => fullCall(source, one.trace.id, bySession.get(one.trace.session)),
    }))
}

/** `own` are the calls of its session among which other attempts of the client are searched; default: its neighbors. */
function fullCall(source: CallReader, id: string, own?: readonly TraceEvidence[]): ReportCall {
  const { traces } = source
  const trace = traces.get(id)
  if (!trace) throw new Error(`the trace ${id} is gone`)
  const calls = own ?? traces.around(id, AROUND).filter((one) => one.trace.session === trace.session)
  const waterfall = callWaterfall(trace, { calls, find: (one) => traces.get(one) })
  return { trace, waterfall, exchange: exchangeOf(trace, source) }
}

/** The entries and verdicts of one of several runs, whose sessions and traces may have equal names. */
export function ofRun(run: string, entries: readonly ReportEntry[], verdicts: readonly Verification[]) {
  const session = (name: string) => `${run}: ${name}`
  const id = (one: string) => `${one}@${run}`
  return {
    entries: entries.map(({ row, read }): ReportEntry => {
      const parent = row.parent === null ? null : id(row.parent)
      return { row: { ...row, id: id(row.id), session: session(row.session), parent }, read }
    }),
    verdicts: verdicts.map((verdict) => ({
      ...verdict,
      session: session(verdict.session),
      findings: verdict.findings.map((finding) => ({ ...finding, traces: finding.traces.map(id) })),
    })),
  }
}
