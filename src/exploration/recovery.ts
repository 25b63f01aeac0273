// Whether a failure was recovered: the request itself succeeded later, or another one replaced it.
import type { ClientCall } from '../verdict/client-call.ts'
import { judgeClient } from '../verdict/findings.ts'
import { requestedDifferently } from '../verdict/settled.ts'
import { type Baseline, complains, countCalls, isAnswered, kindName, requestName } from './baseline.ts'
import type { ObservedCall } from './types.ts'

/** A run with a fault, as examined for one session. */
export interface BrokenRun {
  baseline: Baseline
  /** The calls of the session, in order of arrival. */
  calls: readonly ObservedCall[]
  /** The affected calls, in the same order. */
  hit: readonly ObservedCall[]
  /** Calls whose traces were dropped. */
  dropped: number
}

/** Maximum number of calls that are named as evidence. */
export const MAX_SHOWN = 20
/** Maximum number of later calls that are examined as corrections or parts of a failed one. */
const MAX_LOOKED_AT = 1_000

/**
 * How every affected request was recovered, with the calls that are the evidence, if they are not equal ones; undefined
 * if one of them got no response.
 */
export function recoveryOf(run: BrokenRun) {
  const counts = countsOf(run)
  const standIns = standInsOf(run)
  const found: ObservedCall[] = []
  let corrected = false
  /** Whether calls were only counted, because they cannot be distinguished, or the program never repeats a request. */
  let counted = false
  for (const hits of Map.groupBy(run.hit, requestName).values()) {
    const [first] = hits
    if (!first) continue
    // A program that takes another path because of the fault may need fewer calls.
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
  return { how: corrected ? ('corrected' as const) : ('repeated' as const), traces, counted }
}

/** Whether there were more calls of a kind, after the fault, than in the baseline. */
export function callsAgain({ baseline: { kinds }, calls, hit }: BrokenRun): boolean {
  const [first] = hit
  const counts = countCalls(calls, kindName)
  const isMore = (kind: string) => (counts.get(kind)?.made ?? 0) > (kinds.get(kind)?.made ?? 0)
  return calls.slice(first ? calls.indexOf(first) + 1 : calls.length).some((call) => isMore(kindName(call)))
}

/** Number of successful requests, compared with the baseline. */
function countsOf({ baseline, calls, dropped }: BrokenRun) {
  const requests = countCalls(calls, requestName)
  const kinds = countCalls(calls, kindName)
  // Calls whose traces were dropped are the oldest: they count as successful in all runs.
  const gone = dropped - baseline.dropped
  const usually = (call: ObservedCall) => baseline.requests.get(requestName(call))?.answered ?? 0
  return {
    /** Missing responses of a request. */
    missing(call: ObservedCall): number {
      const answered = requests.get(requestName(call))?.answered ?? 0
      const usual = usually(call)
      return usual > 1 ? Math.max(0, usual - answered - gone) : answered > 0 ? 0 : 1
    },
    /** Whether equal requests cannot be distinguished. */
    isAlike: (call: ObservedCall): boolean => usually(call) > 1,
    /**
     * For a program that never repeats a request, such as one that sends the time, only calls of the kind can be
     * counted.
     */
    perhaps(call: ObservedCall): boolean {
      if (baseline.requests.get(requestName(call))?.stable) return false
      const usual = baseline.kinds.get(kindName(call))
      const { made = 0, answered = 0 } = kinds.get(kindName(call)) ?? {}
      return usual !== undefined && made + gone > usual.made && answered + gone >= usual.answered
    },
  }
}

/** A replacement of an affected call. */
interface StandIn {
  /** The call; undefined if several calls replace it in parts. */
  call: ObservedCall | undefined
  /** Whether it tells the model about the error. */
  corrects: boolean
}

/** Calls that may replace affected ones: each for one of them. */
function standInsOf({ baseline, calls }: BrokenRun) {
  const answered = calls.filter(isAnswered)
  const extra = extraCalls(calls, baseline).filter(isAnswered)
  const byQuestion = Map.groupBy(extra, ({ client }) => client.question.id)
  const byClient = new Map(extra.map((call) => [call.client, call]))
  const free = new Set(answered)
  let pairs: ReadonlyMap<ClientCall, ClientCall> | undefined
  const isLater = (hit: ObservedCall) => (call: ObservedCall) =>
    free.has(call) && call.client.number > hit.client.number
  /** Paired as in verdicts on clients. */
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
    return requestedDifferently({ roots: clients, undeclared: clients, unresolved: [hit.client] }).size > 0
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

/** The calls that repeat others, or continue their text. */
function repetitionsIn(calls: readonly ObservedCall[]): Map<ClientCall, ClientCall> {
  const { pairs, settled } = judgeClient(calls.map(({ client }) => client)).pairing
  return new Map([...pairs, ...settled.continued].map(({ first, again }) => [first, again]))
}

/** Calls beyond those of the baseline: the latest of equal ones. */
function extraCalls(calls: readonly ObservedCall[], { requests }: Baseline): ObservedCall[] {
  const extra = new Set(
    [...Map.groupBy(calls, requestName)].flatMap(([name, same]) => same.slice(requests.get(name)?.made ?? 0)),
  )
  return calls.filter((call) => extra.has(call))
}

/** The first of some ordered calls after another one. */
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

/**
 * Whether a later call tells the model about its invalid response, in the same conversation and with a text that is not
 * in the baseline.
 */
function corrects(call: ObservedCall, broken: ObservedCall, { texts }: Baseline): boolean {
  const begun = broken.request.items
  const goesOn = begun.length > 0 && begun.every(({ json }, at) => call.request.items[at]?.json === json)
  if (!goesOn && !call.request.goesOn) return false
  const added = goesOn ? call.request.items.slice(begun.length) : call.request.items
  return added.some(({ text }) => text !== undefined && !texts.has(text) && complains(text))
}
