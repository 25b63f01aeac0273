// Traces in a form that is the same in each run, for snapshots.
import type { Trace } from './types.ts'

/** What a snapshot of a trace has: nothing that depends on the run. */
export interface StableTrace {
  operation: string
  model: string | null
  status: number
  outcome: string
  fixture: string | null
  faults: string[]
  attempts: { target: string; reason: string; status: number; outcome: string; faults: string[] }[]
  request: unknown
  response: unknown
  error: unknown
}

/** Keys whose values are times, wherever they stand. */
const TIME = /^(?:created|date)$|_(?:at|ms|seconds)$/
/** Ids as they are made: of 26 characters, or of hexadecimal ones with or without dashes, with the kind before them. */
const ID = /\b(?:[a-z]+[_-])*(?:[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24,64})\b/g
const ADDRESS = /https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+(?:\/s\/[\w.-]+)?/g

/** Traces without ids, times and addresses that differ from run to run; equal ids stay equal, as `<id 1>`. */
export function stableTraces(traces: readonly Trace[]): StableTrace[] {
  const ids = new Map<string, string>()
  const idOf = (id: string) => {
    const known = ids.get(id) ?? `<id ${ids.size + 1}>`
    ids.set(id, known)
    return known
  }
  const text = (value: string) => value.replace(ADDRESS, '<understudy>').replace(ID, idOf)
  const stable = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) return value.map(stable)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, TIME.test(key) && one !== null ? '<time>' : stable(one)]),
    )
  }
  return traces.map((trace) => ({
    operation: trace.operation,
    model: trace.model,
    status: trace.status,
    outcome: trace.outcome,
    fixture: trace.fixture,
    faults: trace.faults,
    attempts: trace.attempts.map(({ target, reason, status, outcome, faults }) => ({
      target,
      reason,
      status,
      outcome,
      faults,
    })),
    request: stable(trace.request),
    response: stable(trace.response),
    error: stable(trace.error),
  }))
}
