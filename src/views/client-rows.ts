// What the client of a call saw: its own tries for the same, the waits between them, and what each was told.
import type { WaterfallRow } from '../contract/waterfall.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import { type ClientCall, clientCalls, pauseBetween } from '../verdict/client-call.ts'
import { judgeClient } from '../verdict/findings.ts'
import { plainRow, timeText, toneOf } from './waterfall.ts'

/** The rows of the tries that a call is one of, on the time of that call; it alone when it repeats and is repeated by none. */
export function clientRows(id: string, evidence: readonly TraceEvidence[]): WaterfallRow[] {
  const calls = clientCalls(evidence.filter(({ trace }) => !trace.inner))
  const chain = judgeClient(calls).pairing.chains.find((tries) => tries.some(({ trace }) => trace === id)) ?? []
  const own = chain.findIndex(({ trace }) => trace === id)
  const begins = startsOf(chain)
  const zero = begins[own] ?? 0
  return chain.map((call, index) => {
    const before = chain[index - 1]
    const row = tryRow(call, { from: (begins[index] ?? 0) - zero, pause: before ? pauseBetween(before, call) : 0 })
    return { ...row, title: index === 0 ? 'call' : 'again', trace: call.trace === id ? null : call.trace }
  })
}

/** When each try began: pauses of clients pass on their own clock or on that of the session, whichever went on. */
function startsOf(chain: readonly ClientCall[]): number[] {
  const starts: number[] = []
  let at = 0
  for (const [index, call] of chain.entries()) {
    const before = chain[index - 1]
    if (before) at += before.ended - before.began + pauseBetween(before, call)
    starts.push(at)
  }
  return starts
}

function tryRow(call: ClientCall, { from, pause }: { from: number; pause: number }): WaterfallRow {
  const { outcome, status, began, ended, wait, disturbed } = call
  return plainRow({
    lane: 'client',
    kind: 'call',
    title: 'call',
    subject: 'client',
    detail: `${outcome} ${status} in ${timeText(ended - began)}`,
    notes: [
      ...(pause > 0 ? [`after ${timeText(Math.round(pause))}`] : []),
      ...(wait === null ? [] : [`told to wait ${timeText(wait)}`]),
      ...(disturbed ? ['disturbed by a fault on the way'] : []),
    ],
    tone: toneOf(outcome),
    span: { from, to: from + (ended - began), first: null, wait: Math.max(0, pause) },
  })
}
