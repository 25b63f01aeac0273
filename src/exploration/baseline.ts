// What the quiet runs say of a program, against which every other run is held.
import type { FindingKind } from '../contract/finding.ts'
import type { ObservedCall, ObservedRun } from './types.ts'

/** The runs without faults. */
export interface Baseline {
  /** Milliseconds that the slower one took. */
  tookMs: number
  /** How many calls of each kind there are. */
  kinds: ReadonlyMap<string, number>
  /** How often each tool was done with the same arguments, by session. */
  tools: ReadonlyMap<string, number>
  /** What it tells models: nothing of that is the answer to a fault. */
  texts: ReadonlySet<string>
  models: ReadonlySet<string>
  /** Refusals that come although nothing is broken. */
  refused: ReadonlySet<string>
  /** What was found although nothing was broken. */
  findings: ReadonlySet<FindingKind>
}

/** The baseline of the quiet runs. */
export function baselineOf(runs: readonly ObservedRun[]): Baseline {
  const calls = runs.flatMap((run) => run.calls)
  return {
    tookMs: Math.max(...runs.map(({ tookMs }) => tookMs)),
    kinds: mostOf(runs.map((run) => kindCounts(run.calls))),
    tools: mostOf(runs.map((run) => toolCounts(run.calls))),
    texts: new Set(calls.flatMap(({ request }) => request.items.flatMap(({ text }) => text ?? []))),
    models: new Set(calls.flatMap(({ trace }) => trace.plan)),
    refused: new Set(calls.flatMap(({ trace }) => (trace.outcome === 'refused' ? [refusalName(trace)] : []))),
    findings: new Set(runs.flatMap(({ findings }) => findings.map(({ finding }) => finding.kind))),
  }
}

/** What tells a refusal from others. */
export const refusalName = ({ session, operation, model, status }: ObservedCall['trace']): string =>
  `${session} ${operation} ${model} ${status}`

/** How many calls of each kind there are. */
export const kindCounts = (calls: readonly ObservedCall[]): Map<string, number> =>
  new Map([...Map.groupBy(calls, ({ point }) => point.kind)].map(([kind, same]) => [kind, same.length]))

/** A tool says that it could not do what it was asked for, or was asked in the wrong way. */
export const complains = (text: string): boolean =>
  /\b(?:errors?|fail(?:ed|s|ure)?|invalid|not valid|wrong|missing|required|unknown|must|expected|cannot|can't|could not|unable|refused|denied|no json|not (?:a|an|json|found|allowed))\b/i.test(
    text,
  )

/** How often each tool was done with the same arguments: each result that was told a model has the id of a call of its own. */
export function toolCounts(calls: readonly ObservedCall[]): Map<string, number> {
  const done = new Map<string, Set<string>>()
  for (const { point, request } of calls)
    for (const { id, call, text } of request.results) {
      if (call === undefined || complains(text)) continue
      const name = `${point.session}\n${call}`
      done.set(name, (done.get(name) ?? new Set()).add(id))
    }
  return new Map([...done].map(([name, ids]) => [name, ids.size]))
}

function mostOf(counts: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const most = new Map<string, number>()
  for (const one of counts) for (const [name, count] of one) most.set(name, Math.max(most.get(name) ?? 0, count))
  return most
}
