// Whether what a fault has broken was made good: the request itself was answered later, or one that stands in for it.
import type { ClientCall } from '../verdict/client-call.ts'
import { judgeClient } from '../verdict/findings.ts'
import { requestedDifferently } from '../verdict/settled.ts'
import { type Baseline, complains, countCalls, isAnswered, kindName, requestName } from './baseline.ts'
import type { ObservedCall } from './types.ts'

/** A run under a fault, as it is looked at for one session. */
export interface BrokenRun {
  baseline: Baseline
  /** Those of the session, in the order in which they came. */
  calls: readonly ObservedCall[]
  /** Those that the fault has met, in the same order. */
  hit: readonly ObservedCall[]
  /** Calls whose traces were dropped. */
  dropped: number
}

/** How broken requests were made good. */
interface Recovery {
  how: 'repeated' | 'corrected'
  /** The calls that show it, where others than equal ones do. */
  traces: string[]
  /** Whether calls were only counted: they cannot be told apart, or the program never asks the same twice. */
  counted: boolean
}

/** So many calls are named to show something. */
export const MAX_SHOWN = 20
/** Later calls than these are not looked at for those that correct another or are parts of it. */
const MAX_LOOKED_AT = 1_000

/** What has made good every request that the fault has met; undefined when one of them was left without a response. */
export function recoveryOf(run: BrokenRun): Recovery | undefined {
  const counts = countsOf(run)
  const standIns = standInsOf(run)
  const found: ObservedCall[] = []
  let corrected = false
  let counted = false
  for (const hits of Map.groupBy(run.hit, requestName).values()) {
    const [first] = hits
    if (!first) continue
    // A program that goes another way because of the fault may need less than without it.
    let missing = Math.min(hits.length, counts.missing(first))
    if (counts.isAlike(first)) counted = true
    for (const hit of hits) {
      const standIn = missing > 0 ? standIns.take(hit) : undefined
      if (!standIn) continue
      missing--
      if (standIn.call) found.push(standIn.call)
      corrected ||= standIn.corrects
    }
    if (missing === 0) continue
    if (!counts.perhaps(first)) return undefined
    counted = true
  }
  const traces = [...new Set(found.map(({ trace }) => trace.id))].slice(0, MAX_SHOWN)
  return { how: corrected ? 'corrected' : 'repeated', traces, counted }
}

/** Whether more calls of a kind came, after the fault, than in the quiet runs. */
export function callsAgain({ baseline: { kinds }, calls, hit }: BrokenRun): boolean {
  const [first] = hit
  const counts = countCalls(calls, kindName)
  const isMore = (kind: string) => (counts.get(kind)?.made ?? 0) > (kinds.get(kind)?.made ?? 0)
  return calls.slice(first ? calls.indexOf(first) + 1 : calls.length).some((call) => isMore(kindName(call)))
}

/** How often requests were answered, beside the quiet runs. */
function countsOf({ baseline, calls, dropped }: BrokenRun) {
  const requests = countCalls(calls, requestName)
  const kinds = countCalls(calls, kindName)
  // Calls whose traces were dropped are the oldest: they are taken for answered in all runs alike.
  const gone = dropped - baseline.dropped
  const usually = (call: ObservedCall) => baseline.requests.get(requestName(call))?.answered ?? 0
  return {
    /** Responses that are missing for a request. */
    missing(call: ObservedCall): number {
      const answered = requests.get(requestName(call))?.answered ?? 0
      const usual = usually(call)
      return usual > 1 ? Math.max(0, usual - answered - gone) : answered > 0 ? 0 : 1
    },
    /** Whether equal requests cannot be told apart. */
    isAlike: (call: ObservedCall): boolean => usually(call) > 1,
    /** Of a program that never asks the same twice, such as one that tells the time, only calls of the kind can be counted. */
    perhaps(call: ObservedCall): boolean {
      if (baseline.requests.get(requestName(call))?.stable) return false
      const usual = baseline.kinds.get(kindName(call))
      const { made = 0, answered = 0 } = kinds.get(kindName(call)) ?? {}
      return usual !== undefined && made + gone > usual.made && answered + gone >= usual.answered
    },
  }
}

/** What stands in for a broken call. */
interface StandIn {
  /** The call; undefined where several ask for it in parts. */
  call: ObservedCall | undefined
  /** Whether it tells the model what was wrong. */
  corrects: boolean
}

/** Calls that may stand in for broken ones: each for one of them. */
function standInsOf({ baseline, calls }: BrokenRun) {
  const answered = calls.filter(isAnswered)
  const extra = extraCalls(calls, baseline).filter(isAnswered)
  const byQuestion = Map.groupBy(extra, ({ client }) => client.question.id)
  const byClient = new Map(extra.map((call) => [call.client, call]))
  const free = new Set(answered)
  let pairs: ReadonlyMap<ClientCall, ClientCall> | undefined
  const isLater = (hit: ObservedCall) => (call: ObservedCall) =>
    free.has(call) && call.client.number > hit.client.number
  /** As the judge of clients pairs calls. */
  const repetitionOf = (hit: ObservedCall): ObservedCall | undefined => {
    pairs ??= repetitionsIn(calls)
    for (let again = pairs.get(hit.client); again; again = pairs.get(again)) {
      const call = byClient.get(again)
      if (call && free.has(call)) return call
    }
    return undefined
  }
  const inParts = (hit: ObservedCall): boolean => {
    const parts = nextAfter(extra, hit).filter(isLater(hit))
    const clients = parts.map(({ client }) => client)
    return requestedDifferently({ roots: clients, silent: clients, lacking: [hit.client] }).size > 0
  }
  const correctionOf = (hit: ObservedCall): ObservedCall | undefined =>
    nextAfter(answered, hit).find((call) => isLater(hit)(call) && corrects(call, hit, baseline))
  const take = (call: ObservedCall, isCorrection: boolean): StandIn => {
    free.delete(call)
    return { call, corrects: isCorrection }
  }
  return {
    take(hit: ObservedCall): StandIn | undefined {
      const same = byQuestion.get(hit.client.question.id)?.find(isLater(hit)) ?? repetitionOf(hit)
      if (same) return take(same, false)
      if (inParts(hit)) return { call: undefined, corrects: false }
      const correction = correctionOf(hit)
      return correction && take(correction, true)
    },
  }
}

/** The calls that repeat others, or go on with their words. */
function repetitionsIn(calls: readonly ObservedCall[]): Map<ClientCall, ClientCall> {
  const { pairs, settled } = judgeClient(calls.map(({ client }) => client)).pairing
  return new Map([...pairs, ...settled.continued].map(({ first, again }) => [first, again]))
}

/** Calls beyond those that the quiet runs make: of equal ones the latest. */
function extraCalls(calls: readonly ObservedCall[], { requests }: Baseline): ObservedCall[] {
  const extra = new Set(
    [...Map.groupBy(calls, requestName)].flatMap(([name, same]) => same.slice(requests.get(name)?.made ?? 0)),
  )
  return calls.filter((call) => extra.has(call))
}

/** The next of some calls, which are in the order in which they came, after one. */
function nextAfter(calls: readonly ObservedCall[], { client: { number } }: ObservedCall): ObservedCall[] {
  let low = 0
  let high = calls.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((calls[middle]?.client.number ?? 0) <= number) low = middle + 1
    else high = middle
  }
  return calls.slice(low, low + MAX_LOOKED_AT)
}

/** Whether a later call tells the model of its broken answer, in the same conversation and in words that no quiet run has. */
function corrects(call: ObservedCall, broken: ObservedCall, { texts }: Baseline): boolean {
  const begun = broken.request.items
  const goesOn = begun.length > 0 && begun.every(({ json }, at) => call.request.items[at]?.json === json)
  if (!goesOn && !call.request.goesOn) return false
  const added = goesOn ? call.request.items.slice(begun.length) : call.request.items
  return added.some(({ text }) => text !== undefined && !texts.has(text) && complains(text))
}
