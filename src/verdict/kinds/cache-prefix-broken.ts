// cache-prefix-broken: the beginning of the prompt changes from call to call of a conversation, so that a prompt cache cannot hit.
import { groupBy } from '../../lib/group-by.ts'
import { fingerprint } from '../../lib/ids.ts'
import { wordsPrint } from '../../lib/question.ts'
import { type ClientCall, CONVERSATIONS, isAfter } from '../client-call.ts'
import type { Behaviour, FindingDefinition } from './define.ts'

/** One change is allowed, such as a new date at midnight. */
const MIN_BREAKS = 2
/** Minimum number of equal characters after the change: providers cache nothing below 1,024 tokens. */
const MIN_LOST = 4_096
/** A part with less than this share of its length was shortened on purpose, such as an old tool result. */
const SHORTENED = 0.9

/** Maximum number of earlier calls that a call is compared with. */
const MAX_CANDIDATES = 8

/** Two consecutive calls of a conversation whose prompts begin differently. */
interface Break {
  first: ClientCall
  again: ClientCall
  /** The part that changed: the instructions, or a turn, counted from 1. */
  place: string
  /** Number of equal characters after it. */
  lost: number
}

/** Reports conversations whose instructions or early turns change with each call. */
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

/** Consecutive breaks of one conversation. */
function habitsIn({ calls }: Behaviour): Break[][] {
  const conversations = calls.filter(
    ({ operation, question }) => CONVERSATIONS.has(operation) && question.turns.length > 0,
  )
  // Calls that are equal apart from their first turn.
  const byEnd = Map.groupBy(
    conversations.filter(({ outcome }) => outcome === 'succeeded'),
    (call) => endKey(call, call.question.turns.length),
  )
  const chains = new Map<ClientCall, Break[]>()
  for (const again of conversations) {
    const before = (byEnd.get(endKey(again, again.question.turns.length - 2)) ?? []).filter((first) =>
      isAfter(again, first),
    )
    // An exact prefix may be the conversation that this call continues.
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

/** A key of the model, instructions, tools, and all turns up to `length` except the first. */
const endKey = ({ operation, model, question }: ClientCall, length: number): string =>
  fingerprint(
    JSON.stringify([
      ...[operation, model, question.exact.tools.print, question.instructions, length],
      question.turns.slice(1, Math.max(1, length)),
    ]),
  )

/** The first part that differs in a later call: -1 for the instructions, 0 for the first turn. Undefined if none differs. */
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
 * Whether a call certainly continues the conversation of another: it has that call's response, and its turns differ only in times and
 * ids, or the response is too long to be equal by chance. A response without text calls tools.
 */
function continues({ question: one, words }: ClientCall, { question: other }: ClientCall): boolean {
  const isSame = one.turns.length > 1 && one.turns.every((turn, index) => turn === other.turns[index])
  const answer = words()
  if (answer === '') return isSame
  return (isSame || answer.length >= MIN_ANSWER) && other.said === wordsPrint(answer)
}

/** Shorter responses may be equal by chance, such as "Done." */
const MIN_ANSWER = 40
