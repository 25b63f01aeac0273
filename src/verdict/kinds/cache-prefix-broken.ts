// cache-prefix-broken: what a prompt begins with changes from call to call of a conversation, so that no prompt cache can hit.
import { groupBy } from '../../lib/group-by.ts'
import { fingerprint } from '../../lib/ids.ts'
import { wordsPrint } from '../../lib/question.ts'
import { type ClientCall, CONVERSATIONS, isAfter } from '../client-call.ts'
import type { Behaviour, FindingDefinition } from './define.ts'

/** A conversation may change once, as with the date at midnight; more often is a habit. */
const MIN_BREAKS = 2
/** What is sent again behind the change, in characters: providers cache nothing below 1,024 tokens. */
const MIN_LOST = 4_096
/** A part that becomes shorter than this was shortened on purpose, such as old results of tools. */
const SHORTENED = 0.9

/** How many calls before one are looked at. */
const MAX_CANDIDATES = 8

/** Two calls of a conversation of which the second begins in another way. */
interface Break {
  first: ClientCall
  again: ClientCall
  /** Where: the instructions, or a turn from 1. */
  place: string
  /** Characters that are the same behind it. */
  lost: number
}

export const cachePrefixBroken: FindingDefinition = {
  kind: 'cache-prefix-broken',
  find: (behaviour) =>
    groupBy(habitsIn(behaviour), ([one]) => `${one?.again.operation} ${one?.place}`).map((habits) => {
      const breaks = habits.flat()
      const longest = Math.max(...breaks.map(({ lost }) => lost))
      const [first] = breaks
      return {
        severity: 'warning' as const,
        message: `the prompts of a conversation change in ${first?.place} from call to call (${breaks.length} times), so up to ${longest} characters behind that cannot come from a prompt cache`,
        calls: breaks.flatMap(({ first: one, again }) => [one, again]),
        count: breaks.length,
        figures: { changes: breaks.length, characters: longest },
      }
    }),
}

/** Breaks that follow each other in one conversation. */
function habitsIn({ calls }: Behaviour): Break[][] {
  const conversations = calls.filter(
    ({ operation, question }) => CONVERSATIONS.has(operation) && question.turns.length > 0,
  )
  // Calls with an equal end, whatever they begin with.
  const byEnd = Map.groupBy(
    conversations.filter(({ outcome }) => outcome === 'succeeded'),
    (call) => endKey(call, call.question.turns.length),
  )
  const chains = new Map<ClientCall, Break[]>()
  for (const again of conversations) {
    const before = (byEnd.get(endKey(again, again.question.turns.length - 2)) ?? []).filter((first) =>
      isAfter(again, first),
    )
    // Where any of them is the beginning of this one as it is, this may be the conversation.
    if (before.some((first) => changedPart(first, again) === undefined)) continue
    const found = before
      .slice(-MAX_CANDIDATES)
      .flatMap((first) => breakBetween(first, again))
      .at(-1)
    if (!found) continue
    const chain = [...(chains.get(found.first) ?? []), found]
    chains.delete(found.first)
    chains.set(again, chain)
  }
  return [...chains.values()].filter(({ length }) => length >= MIN_BREAKS)
}

/** Equal for calls of one model with these instructions and tools whose first turns, without the very first, are equal. */
const endKey = ({ operation, model, question }: ClientCall, length: number): string =>
  fingerprint(
    JSON.stringify([
      ...[operation, model, question.exact.tools.print, question.instructions, length],
      question.turns.slice(1, Math.max(1, length)),
    ]),
  )

/** The first part of a call that another one, which goes on with it, has not as it is: -1 the instructions, 0 the first turn. */
function changedPart({ question: one }: ClientCall, { question: other }: ClientCall): number | undefined {
  if (one.exact.system.print !== other.exact.system.print) return -1
  const at = one.exact.turns.findIndex(({ print }, index) => print !== other.exact.turns[index]?.print)
  return at < 0 ? undefined : at
}

function breakBetween(first: ClientCall, again: ClientCall): Break[] {
  const at = changedPart(first, again)
  if (at === undefined || !continues(first, again)) return []
  const { system, turns } = first.question.exact
  const [before, after] = at < 0 ? [system, again.question.exact.system] : [turns[at], again.question.exact.turns[at]]
  if (!before || !after || after.size < SHORTENED * before.size) return []
  const lost = turns.slice(at + 1).reduce((sum, { size }) => sum + size, 0)
  if (lost < MIN_LOST) return []
  return [{ first, again, place: at < 0 ? 'the instructions' : `turn ${at + 1}`, lost }]
}

/**
 * Whether a call surely goes on with the conversation of another: it has its answer, and differs in nothing but times and ids, or the
 * answer is too long to be equal by chance. An answer without words calls tools.
 */
function continues({ question: one, words }: ClientCall, { question: other }: ClientCall): boolean {
  const isSame = one.turns.length > 1 && one.turns.every((turn, index) => turn === other.turns[index])
  const answer = words()
  if (answer === '') return isSame
  return (isSame || answer.length >= MIN_ANSWER) && other.said === wordsPrint(answer)
}

/** Shorter answers are equal by chance, such as "Done." */
const MIN_ANSWER = 40
