// The comparison of a text in fixtures and scenarios, whose regular expressions take a limited number of steps.
import { type RegexBudget, RegexLimit, regexBudget } from '../../lib/bounded-regex.ts'
import { matchText, type TextMatch } from '../../lib/match.ts'
import { ApiError } from './error.ts'

/** The remaining steps of regular expressions for a call or an attempt, shared by all of them. */
const budgets = new WeakMap<object, RegexBudget>()

/**
 * The captures of a text that matches; undefined if it does not.
 * @param call what it is matched for: its expressions share a number of steps
 * @throws ApiError 400 if they take more
 */
export function matchedText(match: TextMatch, text: string, call: object): Record<string, string> | undefined {
  try {
    return matchText(match, text, () => budgets.getOrInsertComputed(call, regexBudget))
  } catch (error) {
    if (!(error instanceof RegexLimit)) throw error
    const source = typeof match === 'object' ? (match.regex ?? '') : ''
    const shown = source.length > MAX_SHOWN ? `${source.slice(0, MAX_SHOWN)}...` : source
    throw new ApiError(
      400,
      'pattern_limit',
      `the regular expression /${shown}/ is given up on a text of ${text.length} characters: with those tried before it, ${error.message}; make it simpler, or anchor it with ^`,
    )
  }
}
const MAX_SHOWN = 200
