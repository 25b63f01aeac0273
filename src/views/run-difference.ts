// How the calls of a run differ from those of another one, as a report lists them.
import type { CallDifference } from '../contract/core/exploration.ts'
import type { OutcomeKind } from '../contract/core/outcome-kind.ts'
import { outcomeText } from '../contract/core/outcome-text.ts'

/** A call of a run. */
export interface ComparedCall {
  /** Id of its trace. */
  id: string
  /** What it shares with calls of its kind. */
  kind: string
  /** What it shares with equal requests. */
  request: string
  outcome: OutcomeKind
  status: number
  /** The model that responded; null if none did. */
  model: string | null
  /** Whether a fault was injected into it. */
  broken: boolean
}

/**
 * The calls of a run, each with the one of the baseline run that it corresponds to, and those of the baseline run that
 * are missing, at their place. Equal requests correspond first, then calls of a kind, in order.
 */
export function runDifference(baseline: readonly ComparedCall[], run: readonly ComparedCall[]): CallDifference[] {
  const pairs = new Map<ComparedCall, ComparedCall>()
  for (const keyOf of [({ kind, request }: ComparedCall) => `${kind}\n${request}`, ({ kind }: ComparedCall) => kind]) {
    const paired = new Set(pairs.values())
    const free = Map.groupBy(
      baseline.filter((call) => !paired.has(call)),
      keyOf,
    )
    for (const call of run) {
      const other = pairs.has(call) ? undefined : free.get(keyOf(call))?.shift()
      if (other) pairs.set(call, other)
    }
  }
  const paired = new Set(pairs.values())
  const missing = new Set(baseline.filter((call) => !paired.has(call)))
  const found: CallDifference[] = []
  const addMissing = (before: number) => {
    for (const call of baseline.slice(0, before))
      if (missing.delete(call)) found.push({ call: null, baseline: call.id, change: 'missing', details: [] })
  }
  for (const call of run) {
    const other = pairs.get(call)
    if (other) addMissing(baseline.indexOf(other))
    found.push(differenceOf(call, other))
  }
  addMissing(baseline.length)
  return found
}

function differenceOf(call: ComparedCall, other: ComparedCall | undefined): CallDifference {
  if (!other) return { call: call.id, baseline: null, change: 'added', details: [] }
  const [now, before] = [resultText(call), resultText(other)]
  const details = [
    ...(call.request === other.request ? [] : ['other request']),
    ...(now === before ? [] : [`${now}, not ${before}`]),
    ...(now === before && call.broken ? ['response changed by the fault'] : []),
    ...(call.model === other.model || call.model === null || other.model === null
      ? []
      : [`response from ${call.model}, not ${other.model}`]),
  ]
  return { call: call.id, baseline: other.id, change: details.length > 0 ? 'changed' : 'same', details }
}

const resultText = ({ outcome, status }: ComparedCall): string => `${outcomeText(outcome)} (${status})`
