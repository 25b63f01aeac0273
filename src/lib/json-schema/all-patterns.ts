// One automaton for several patterns at once, back references and all.
import { type NFA, TooManyNodesError } from 'refa'
import { chance } from '../chance.ts'
import { anything, automatonOf, both, either, MOST_STATES, PatternTooLarge } from './automaton.ts'
import { withoutReferences } from './back-references.ts'
import { samplerOf, TooMuchWork } from './walk.ts'

/** Texts that are tried for a group that something refers back to, and their greatest length. */
const TEXTS_OF_GROUP = 4
const LONGEST_GROUP = 50

/** Some texts of a part of a pattern, short ones; none when they cannot be had. */
function textsOfPart(source: string): string[] {
  try {
    const { text } = samplerOf(automatonOf(`^(?:${source})$`, false))
    const some = Array.from({ length: TEXTS_OF_GROUP }, (_, turn) =>
      text({ shortest: 0, longest: LONGEST_GROUP, room: turn, luck: (purpose) => chance(turn, source, purpose) }),
    )
    return [...new Set(some.filter((one) => one !== undefined))]
  } catch (error) {
    if (isTooLarge(error) || error instanceof TooMuchWork) return []
    throw error
  }
}

/** The automaton of a pattern, for some of the texts that its back references may mean. */
function readableAutomaton(source: string, narrow: boolean): NFA {
  const [widest = source, ...exact] = withoutReferences(source, textsOfPart)
  const some = either(exact.map((one) => automatonOf(one, narrow)))
  return some.isEmpty ? automatonOf(widest, narrow) : some
}

const isTooLarge = (error: unknown) => error instanceof PatternTooLarge || error instanceof TooManyNodesError

/**
 * The automaton of the texts that all patterns (of the unicode mode) are found in.
 * @throws PatternTooLarge when it would have too many states.
 */
export function automatonOfAll(patterns: readonly string[]): NFA {
  const build = (narrow: boolean) => patterns.map((one) => readableAutomaton(one, narrow)).reduce(both, anything())
  try {
    return build(false)
  } catch (error) {
    if (!isTooLarge(error)) throw error
  }
  let why = `it takes more than ${MOST_STATES} states`
  try {
    const some = build(true)
    if (!some.isEmpty) return some
  } catch (error) {
    if (!isTooLarge(error)) throw error
    if (error instanceof PatternTooLarge) why = error.message
  }
  throw new PatternTooLarge(why)
}
