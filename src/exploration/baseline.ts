// The baseline of a program, with which every other run is compared.
import type { TraceRecord } from '../contract/core/trace.ts'
import type { ObservedCall, ObservedRun } from './types.ts'

/** The number of calls of one name. */
interface CallCount {
  /** The maximum of all runs. */
  made: number
  /** Calls that succeeded without a fault: the minimum of all runs. */
  answered: number
  /** Whether it occurred in every run. */
  stable: boolean
}

/** The runs without faults. */
export type Baseline = ReturnType<typeof baselineOf>

/** The baseline of these runs. */
export function baselineOf(runs: readonly ObservedRun[]) {
  const calls = runs.flatMap((run) => run.calls)
  return {
    /** Duration of the slowest one, in milliseconds. */
    tookMs: Math.max(...runs.map(({ tookMs }) => tookMs)),
    /** Milliseconds of the longest time without any activity of the client. */
    longestPauseMs: Math.max(...runs.map(({ longestPauseMs }) => longestPauseMs)),
    /** Number of calls by kind. */
    kinds: mergedCounts(runs.map((run) => countCalls(run.calls, kindName))),
    /** Number of calls by request. */
    requests: mergedCounts(runs.map((run) => countCalls(run.calls, requestName))),
    /** Number of tool executions with the same arguments, by session. */
    tools: mostOf(runs.map((run) => toolCounts(run.calls))),
    /** Texts that it sends to models: none of them is a reaction to a fault. */
    texts: new Set(calls.flatMap(({ request }) => request.items.flatMap(({ text }) => text ?? []))),
    models: new Set(calls.flatMap(({ trace }) => trace.plan)),
    /** Lines that it prints without a fault. */
    printed: new Set(runs.flatMap(printedLines)),
    /** Errors that occur without a fault. */
    refused: new Set(calls.flatMap(({ trace }) => (trace.outcome === 'http_error' ? [refusalName(trace)] : []))),
    /** Findings that occur without a fault. */
    findings: new Set(runs.flatMap(({ findings }) => findings.map(({ finding }) => finding.kind))),
    /** Calls of a run whose traces were dropped or deleted, about which nothing else is known. */
    dropped: Math.min(...runs.map(({ dropped }) => dropped)),
  }
}

/** A time of day, a duration, and what test runners print of one. */
const TIME =
  /\d+:\d\d(?::\d\d)?(?:[.,]\d+)?|\d+(?:[.,]\d+)?\s?(?:[mµun]?s|sec(?:onds?)?|min)\b|(?<=duration_ms )[\d.]+/g

/** The lines that a run prints, without times, which differ in every run. */
export const printedLines = ({ output }: Pick<ObservedRun, 'output'>): string[] => output.replace(TIME, '').split('\n')

/** Identifies an error response. */
export const refusalName = ({ session, operation, model, status }: ObservedCall['trace']): string =>
  `${session} ${operation} ${model} ${status}`

/** The name that calls of a kind share. */
export const kindName = ({ point }: ObservedCall): string => point.kind
/** The name that calls with the same request share. */
export const requestName = ({ point, client }: ObservedCall): string =>
  `${point.session} ${client.operation} ${client.request}`

/** The rules whose faults were injected into a call, its attempts or the steps of its task. */
export const faultsIn = ({ faults, attempts, task }: Pick<TraceRecord, 'faults' | 'attempts' | 'task'>): string[] => [
  ...faults,
  ...attempts.flatMap((attempt) => attempt.faults),
  ...(task?.steps ?? []).flatMap((step) => step.faults ?? []),
]

/** Whether a call succeeded without a fault. */
export const isAnswered = ({ trace }: ObservedCall): boolean =>
  trace.outcome === 'succeeded' && faultsIn(trace).length === 0

/** Number of calls by name in one run. */
export function countCalls(
  calls: readonly ObservedCall[],
  nameOf: (call: ObservedCall) => string,
): Map<string, Pick<CallCount, 'made' | 'answered'>> {
  const byName = Map.groupBy(calls, nameOf)
  return new Map(
    [...byName].map(([name, same]) => [name, { made: same.length, answered: same.filter(isAnswered).length }]),
  )
}

function mergedCounts(runs: readonly ReturnType<typeof countCalls>[]): Map<string, CallCount> {
  const names = new Set(runs.flatMap((counts) => [...counts.keys()]))
  const countOf = (name: string): CallCount => {
    const each = runs.map((counts) => counts.get(name))
    return {
      made: Math.max(...each.map((count) => count?.made ?? 0)),
      answered: Math.min(...each.map((count) => count?.answered ?? 0)),
      stable: each.every((count) => count !== undefined),
    }
  }
  return new Map([...names].map((name) => [name, countOf(name)]))
}

/** Whether a tool result reports a failure or invalid arguments. */
export const complains = (text: string): boolean =>
  /\b(?:errors?|fail(?:ed|s|ure)?|invalid|not valid|wrong|missing|required|unknown|must|expected|cannot|can't|could not|unable|refused|denied|no json|not (?:a|an|json|found|allowed))\b/i.test(
    text,
  )

/** Number of tool executions with the same arguments: each result in a request has the id of its own call. */
export function toolCounts(calls: readonly ObservedCall[]): Map<string, number> {
  const done = new Map<string, Set<string>>()
  for (const { point, request } of calls)
    for (const { id, call, text } of request.results) {
      if (call === undefined || complains(text)) continue
      const name = `${point.session}\n${call}`
      done.getOrInsertComputed(name, () => new Set()).add(id)
    }
  return new Map([...done].map(([name, ids]) => [name, ids.size]))
}

function mostOf(counts: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const most = new Map<string, number>()
  for (const one of counts) for (const [name, count] of one) most.set(name, Math.max(most.get(name) ?? 0, count))
  return most
}

// When a run counts as hung, derived from the baseline.

/** The limits of a run. */
export type RunLimits = ReturnType<typeof limitsOf>

/**
 * A run hangs after five times the longest pause of the baseline, but not before 6 s: `httpx` gives up after 5 s without
 * declaring it.
 */
const PAUSES = 5
const MIN_SILENCE_MS = 6_000
/** The longest timeout that is waited for, in ms. */
export const MAX_TIMEOUT_MS = 120_000
/** How often a request may be repeated beyond the baseline: no backoff that grows comes that far. */
const MAX_REPEATS = 30

/** The limits of all runs with a fault; `silenceMs` replaces the derived one. */
export function limitsOf(
  { longestPauseMs, tookMs, requests }: Pick<Baseline, 'longestPauseMs' | 'tookMs' | 'requests'>,
  { silenceMs, timeoutMs = MAX_TIMEOUT_MS }: { silenceMs?: number | undefined; timeoutMs?: number | undefined },
) {
  let most = 0
  for (const { made } of requests.values()) most = Math.max(most, made)
  return {
    /** Milliseconds without any activity of the client, beside what it was asked to wait and the timeouts it declares. */
    silenceMs: silenceMs ?? Math.max(MIN_SILENCE_MS, PAUSES * longestPauseMs),
    /** Milliseconds of the longest declared timeout that is waited for. */
    timeoutMs,
    /** Milliseconds of the whole run. */
    totalMs: PAUSES * tookMs + timeoutMs,
    /** How often it may make one request. */
    repeats: MAX_REPEATS + most,
  }
}
