// Failed requests without a retry that the client handled in another way: by a race, by continuing the text of a truncated stream, or
// by a shorter or split request.
import { groupBy } from '../lib/group-by.ts'
import {
  arrivedSeparately,
  brokeOff,
  type ClientCall,
  CONVERSATIONS,
  canReplace,
  endedAfter,
  isAfter,
  isFallback,
  natureOf,
  type Pair,
} from './client-call.ts'

const fails = (call: ClientCall): boolean => natureOf(call) === 'retryable'

/** Finds losers of races and continued streams. Calls are given in order of arrival. */
export function settledByOthers(calls: readonly ClientCall[]) {
  const continued = continuedIn(calls)
  const certain = new Set(continued.map(({ first }) => first))
  const possible = new Set<ClientCall>()
  for (const group of groupBy(calls, ({ question }) => question.template)) {
    for (const [index, call] of group.entries()) {
      if (!fails(call) || certain.has(call)) continue
      const end = raceOf(call, overlapping(group, index))
      if (end === 'lost') certain.add(call)
      if (end === 'open') possible.add(call)
    }
  }
  return {
    /** Failed calls that other calls certainly made up for. */
    certain: certain as ReadonlySet<ClientCall>,
    /** Those that other calls may have made up for. */
    possible: possible as ReadonlySet<ClientCall>,
    /** Truncated streams with the calls that continued their text. */
    continued,
  }
}

/** Maximum copies in a race. More equal calls at once are separate requests or several races. */
const MAX_COPIES = 4
/** Maximum time between simultaneous calls or responses, on a busy machine too. */
const AT_ONCE_MS = 50
/** Number of calls to consider before and after one. */
const MAX_LOOKED = 100

/** The calls of a group that overlap a call. */
function overlapping(group: readonly ClientCall[], index: number): ClientCall[] {
  const call = group[index]
  if (!call) return []
  const before = group.slice(Math.max(0, index - MAX_LOOKED), index).filter(({ until }) => until >= call.number)
  const after = group.slice(index + 1, index + 1 + MAX_LOOKED).filter(({ number }) => number <= call.until)
  return [...before, ...after]
}

/**
 * Whether a failed call lost a race: to another model, or to a copy that was sent later or answered long before. Two simultaneous
 * equal calls, one of which fails at once, are separate requests.
 */
function raceOf(call: ClientCall, others: readonly ClientCall[]): 'lost' | 'open' | 'none' {
  const answered = others.filter((other) => other.outcome === 'succeeded')
  if (answered.some((other) => isFallback(call, other) && canReplace(call, other))) return 'lost'
  const copies = others.filter((other) => !isFallback(call, other) && canReplace(call, other))
  const winners = copies.filter(({ outcome }) => outcome === 'succeeded')
  const isLate = winners.some((winner) => endedAfter(call, winner) >= AT_ONCE_MS)
  if (copies.length >= MAX_COPIES) return isLate ? 'open' : 'none'
  if (isLate) return 'lost'
  return winners.some((winner) => arrivedSeparately(call, winner) >= AT_ONCE_MS) ? 'open' : 'none'
}

/** Truncated streams, each with the call that asks a model to continue its text. */
function continuedIn(calls: readonly ClientCall[]): Pair[] {
  if (!calls.some(({ question }) => question.continues)) return []
  const broken = Map.groupBy(
    calls.filter(brokeOff),
    ({ question }) => question.continues?.dialogue ?? question.dialogue,
  )
  // A stream that is a continuation itself may also be continued from its own dialogue.
  for (const call of calls) {
    const { continues, dialogue } = call.question
    if (continues && brokeOff(call)) broken.set(dialogue, [...(broken.get(dialogue) ?? []), call])
  }
  const taken = new Set<ClientCall>()
  return calls.flatMap((again) => {
    const { continues } = again.question
    const first =
      continues &&
      broken
        .get(continues.dialogue)
        ?.findLast((one) => !taken.has(one) && isAfter(again, one) && isContinuedBy(one, continues))
    if (!first) return []
    taken.add(first)
    return [{ first, again, declared: true }]
  })
}

/** Whether a request contains the received text of a truncated stream, after the text that this stream continued itself. */
function isContinuedBy(
  first: ClientCall,
  { dialogue, text }: NonNullable<ClientCall['question']['continues']>,
): boolean {
  const own = first.question.continues
  const before = own?.dialogue === dialogue ? own.text : ''
  const received = first.responseText()
  return (
    text.startsWith(before) &&
    text.length > before.length &&
    (received === '' || received.startsWith(text.slice(before.length)))
  )
}

/** Calls that may repeat failed requests in another form. */
interface Chains {
  /** Calls that repeat no other, in order of arrival. */
  roots: readonly ClientCall[]
  /** Calls that do not declare that they are retries. */
  undeclared: readonly ClientCall[]
  /** Failed calls without a retry. */
  unresolved: readonly ClientCall[]
}

/** Requests that were repeated in parts, in a larger batch, or with a shorter conversation. */
export function requestedDifferently({ roots, undeclared, unresolved }: Chains): Set<ClientCall> {
  if (unresolved.length === 0) return new Set()
  const batches = batchesOf(undeclared)
  const shorter = laterTest(roots, isShorter)
  // The last calls come first, since the fewest calls follow them.
  const byEnd = unresolved.toSorted((one, other) => other.until - one.until)
  return new Set(byEnd.filter((call) => requestsEntries(call, batches) || shorter(call)))
}

/** Requests whose conversation was sent again with other tools or another response format. These may be the same request. */
export const requestedWithOtherTools = ({ roots, unresolved }: Pick<Chains, 'roots' | 'unresolved'>): Set<ClientCall> =>
  new Set(unresolved.length === 0 ? [] : unresolved.filter(laterTest(roots, hasOtherTools)))

/** Tests whether a later call that ends with the same turn passes a test. Each later call is used once. */
function laterTest(roots: readonly ClientCall[], passes: (first: ClientCall, later: ClientCall) => boolean) {
  const used = new Set<ClientCall>()
  const sameEnd = Map.groupBy(roots, ({ question }) => question.turns.at(-1))
  return (call: ClientCall): boolean => {
    const end = call.question.turns.at(-1)
    const found =
      end !== undefined &&
      sameEnd
        .get(end)
        ?.find((root) => !used.has(root) && isAfter(root, call) && isComparable(call, root) && passes(call, root))
    if (found) used.add(found)
    return Boolean(found)
  }
}

const isComparable = (one: ClientCall, other: ClientCall) => one.operation === other.operation || isFallback(one, other)

/** Whether a call has the same conversation with some turns left out. */
function isShorter(whole: ClientCall, part: ClientCall): boolean {
  const [turns, kept] = [whole.question.turns, part.question.turns]
  if (kept.length === 0 || kept.length >= turns.length) return false
  let at = 0
  for (const turn of turns) if (turn === kept[at]) at++
  return at === kept.length
}

/** Whether a call has the same conversation with other tools or another response format. */
const hasOtherTools = ({ question: one }: ClientCall, { question: other }: ClientCall): boolean =>
  one.instructions === other.instructions && one.dialogue === other.dialogue && one.template !== other.template

/** A call that requests an entry, and how often that is not yet used. */
interface EntryCalls {
  root: ClientCall
  remaining: number
}

const isBatch = ({ operation, question }: ClientCall): boolean =>
  question.entries.length > 0 && !CONVERSATIONS.has(operation)

/** Each entry of a batch with how often it occurs. */
const countsOf = ({ question }: ClientCall): [entry: string, count: number][] =>
  groupBy(question.entries, (entry) => entry).map((same) => [same[0] ?? '', same.length])

/** The calls that request each entry of a batch, by operation and entry. */
function batchesOf(roots: readonly ClientCall[]): Map<string, EntryCalls[]> {
  const batches = new Map<string, EntryCalls[]>()
  for (const root of roots.filter(isBatch))
    for (const [entry, remaining] of countsOf(root))
      batches.getOrInsertComputed(`${root.operation} ${entry}`, () => []).push({ root, remaining })
  return batches
}

/** Whether later calls request all entries of a batch. Each requested entry is used once. */
function requestsEntries(call: ClientCall, batches: ReadonlyMap<string, EntryCalls[]>): boolean {
  if (!isBatch(call)) return false
  const takes: (() => void)[] = []
  for (const [entry, count] of countsOf(call)) {
    let missing = count
    for (const one of batches.get(`${call.operation} ${entry}`) ?? []) {
      // Retries of the whole batch were paired before.
      if (missing === 0 || !isAfter(one.root, call) || one.root.question.template === call.question.template) continue
      const taken = Math.min(missing, one.remaining)
      missing -= taken
      takes.push(() => (one.remaining -= taken))
    }
    if (missing > 0) return false
  }
  for (const take of takes) take()
  return true
}
