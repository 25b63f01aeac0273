// Requests that failed and that no call repeats, though the client has seen to them: by a race, by going on with the words of a
// broken stream, by asking for less or in parts.
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
} from './client-call.ts'
import type { Pair } from './matcher.ts'

/** Failed calls that were seen to by others. */
export interface SettledCalls {
  /** Those of which that is known. */
  surely: ReadonlySet<ClientCall>
  /** Those of which it may be so. */
  perhaps: ReadonlySet<ClientCall>
  /** Broken streams with the calls that went on with their words. */
  continued: readonly Pair[]
}

const fails = (call: ClientCall): boolean => natureOf(call) === 'retryable'

/** The losers of races, and broken streams that went on; calls come in the order in which they were made. */
export function settledByOthers(calls: readonly ClientCall[]): SettledCalls {
  const continued = continuedIn(calls)
  const surely = new Set(continued.map(({ first }) => first))
  const perhaps = new Set<ClientCall>()
  for (const group of groupBy(calls, ({ question }) => question.template)) {
    for (const [index, call] of group.entries()) {
      if (!fails(call) || surely.has(call)) continue
      const end = raceOf(call, beside(group, index))
      if (end === 'lost') surely.add(call)
      if (end === 'open') perhaps.add(call)
    }
  }
  return { surely, perhaps, continued }
}

/** A race has few copies; more equal calls at once are requests of their own, or of several races. */
const MAX_COPIES = 4
/** Calls that are made at once, and answers that come at once, on a busy machine too. */
const AT_ONCE_MS = 50
/** How many calls are looked at before and after one. */
const MAX_LOOKED = 100

/** The calls of a group that were under way together with one. */
function beside(group: readonly ClientCall[], index: number): ClientCall[] {
  const call = group[index]
  if (!call) return []
  const before = group.slice(Math.max(0, index - MAX_LOOKED), index).filter(({ until }) => until >= call.number)
  const after = group.slice(index + 1, index + 1 + MAX_LOOKED).filter(({ number }) => number <= call.until)
  return [...before, ...after]
}

/**
 * Whether a call that failed lost a race: to another model, or to a copy that was sent later or answered long before. Two equal
 * calls at once, one of which fails at once, are two requests.
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

/** Broken streams, each with the call that has a model go on with its words. */
function continuedIn(calls: readonly ClientCall[]): Pair[] {
  if (!calls.some(({ question }) => question.continues)) return []
  const broken = Map.groupBy(
    calls.filter(brokeOff),
    ({ question }) => question.continues?.dialogue ?? question.dialogue,
  )
  // One that went on itself may be gone on with from its own dialogue as well.
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
        ?.findLast((one) => !taken.has(one) && isAfter(again, one) && goesOn(one, continues))
    if (!first) return []
    taken.add(first)
    return [{ first, again, declared: true }]
  })
}

/** Whether a request has the words of a broken stream, as far as they came, behind those that this went on with itself. */
function goesOn(first: ClientCall, { dialogue, words }: NonNullable<ClientCall['question']['continues']>): boolean {
  const own = first.question.continues
  const before = own?.dialogue === dialogue ? own.words : ''
  const said = first.words()
  return (
    words.startsWith(before) &&
    words.length > before.length &&
    (said === '' || said.startsWith(words.slice(before.length)))
  )
}

/** The calls by which requests that failed may have been asked in another form. */
interface Chains {
  /** Those that repeat nothing, in the order in which they came. */
  roots: readonly ClientCall[]
  /** Those that do not say that they repeat another. */
  silent: readonly ClientCall[]
  /** Those that nothing repeats, though it is held against the client. */
  lacking: readonly ClientCall[]
}

/** Requests that were asked again in parts, together with others, or with a shorter conversation. */
export function requestedDifferently({ roots, silent, lacking }: Chains): Set<ClientCall> {
  if (lacking.length === 0) return new Set()
  const batches = batchesOf(silent)
  const shorter = laterTest(roots, isShorter)
  // What comes late has the fewest calls after it, and what is free for it is free for all before it.
  const byEnd = lacking.toSorted((one, other) => other.until - one.until)
  return new Set(byEnd.filter((call) => asksEntries(call, batches) || shorter(call)))
}

/** Requests after which the same conversation was asked with other tools, or for another form of the answer: it may be the same. */
export const requestedWithOtherTools = ({ roots, lacking }: Pick<Chains, 'roots' | 'lacking'>): Set<ClientCall> =>
  new Set(lacking.length === 0 ? [] : lacking.filter(laterTest(roots, hasOtherTools)))

/** Whether a later call that ends with the same turn passes a test; each is taken once. */
function laterTest(roots: readonly ClientCall[], passes: (first: ClientCall, later: ClientCall) => boolean) {
  const used = new Set<ClientCall>()
  const sameEnd = Map.groupBy(roots, ({ question }) => question.turns.at(-1))
  return (call: ClientCall): boolean => {
    const end = call.question.turns.at(-1)
    const found =
      end !== undefined &&
      sameEnd
        .get(end)
        ?.find((root) => !used.has(root) && isAfter(root, call) && isFamily(call, root) && passes(call, root))
    if (found) used.add(found)
    return Boolean(found)
  }
}

const isFamily = (one: ClientCall, other: ClientCall) => one.operation === other.operation || isFallback(one, other)

/** Whether a call asks the same at the end of a conversation from which turns were left out. */
function isShorter(whole: ClientCall, part: ClientCall): boolean {
  const [turns, kept] = [whole.question.turns, part.question.turns]
  if (kept.length === 0 || kept.length >= turns.length) return false
  let at = 0
  for (const turn of turns) if (turn === kept[at]) at++
  return at === kept.length
}

/** Whether a call asks the same with other tools, or for another form of the answer. */
const hasOtherTools = ({ question: one }: ClientCall, { question: other }: ClientCall): boolean =>
  one.instructions === other.instructions && one.dialogue === other.dialogue && one.template !== other.template

/** A call that asks for an entry, and how often nothing has been made of that yet. */
interface EntryCalls {
  root: ClientCall
  left: number
}

const isBatch = ({ operation, question }: ClientCall): boolean =>
  question.entries.length > 0 && !CONVERSATIONS.has(operation)

function countsOf(entries: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const entry of entries) counts.set(entry, (counts.get(entry) ?? 0) + 1)
  return counts
}

/** The calls that ask for each entry of a batch, by operation and entry. */
function batchesOf(roots: readonly ClientCall[]): Map<string, EntryCalls[]> {
  const batches = new Map<string, EntryCalls[]>()
  for (const root of roots.filter(isBatch)) {
    for (const [entry, left] of countsOf(root.question.entries)) {
      const key = `${root.operation} ${entry}`
      const same = batches.get(key)
      if (same) same.push({ root, left })
      else batches.set(key, [{ root, left }])
    }
  }
  return batches
}

/** Whether later calls ask for all entries of a batch; what they ask for is used up then. */
function asksEntries(call: ClientCall, batches: ReadonlyMap<string, EntryCalls[]>): boolean {
  if (!isBatch(call)) return false
  const takes: (() => void)[] = []
  for (const [entry, wanted] of countsOf(call.question.entries)) {
    let missing = wanted
    for (const one of batches.get(`${call.operation} ${entry}`) ?? []) {
      // What asks the same as a whole was looked at before.
      if (missing === 0 || !isAfter(one.root, call) || one.root.question.template === call.question.template) continue
      const taken = Math.min(missing, one.left)
      missing -= taken
      takes.push(() => (one.left -= taken))
    }
    if (missing > 0) return false
  }
  for (const take of takes) take()
  return true
}
