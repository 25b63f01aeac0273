// Requests that a client has given up by ending each of its calls itself, as one with a timeout does.
import { type ClientCall, lengthOfCall, natureOf } from './client-call.ts'
import { stepsOf } from './lanes.ts'
import type { Pairing } from './pairing.ts'

/** So many calls are a timeout's, of one request that says so itself and of equal ones; fewer may be a person's who has seen enough. */
const DECLARED_CALLS = 2
const ALIKE_CALLS = 3
/** A timer's calls are as long as each other, or ever longer. */
const SHARE = 0.8
const JITTER_MS = 50

/** The requests whose calls the client has all ended itself, before anything came of them, and whose question nobody answered. */
export function hungUpOn({ pairs, chains }: Pairing): { chain: readonly ClientCall[]; declared: boolean }[] {
  const declaring = new Set(pairs.filter((pair) => pair.declared).map(({ again }) => again))
  // A race has one winner, and another model may have said what this one did not.
  const answered = Map.groupBy(
    chains.flat().filter(({ outcome }) => outcome === 'answered'),
    ({ question }) => question.id,
  )
  return chains.flatMap((chain) => {
    const [first, ...more] = chain
    if (first === undefined || natureOf(more.at(-1) ?? first) !== 'cancelled') return []
    const left = chain.filter((call) => natureOf(call) === 'cancelled')
    const declared = more.every((call) => declaring.has(call))
    if (left.length < (declared ? DECLARED_CALLS : ALIKE_CALLS) || left.some(({ begun }) => begun)) return []
    if (!stepsOf(left).every(([one, next]) => isTimed(one, next, declared))) return []
    const helped = answered.get(first.question.id)?.some(({ until }) => until >= first.number)
    return helped ? [] : [{ chain, declared }]
  })
}

function isTimed(one: ClientCall, next: ClientCall, mayGrow: boolean): boolean {
  const [before, after] = [lengthOfCall(one), lengthOfCall(next)]
  return after >= SHARE * before - JITTER_MS && (mayGrow || before >= SHARE * after - JITTER_MS)
}
