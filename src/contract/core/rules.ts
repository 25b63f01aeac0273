// The rules and conversions of schemas that are functions, by name: a compiled schema in the executable can only refer
// to these. Others work as well, but load zod for the first value that they apply to.
import { boundedRegex, RegexLimit } from '../../lib/bounded-regex.ts'
import { parseDuration, parseSize } from '../../lib/units.ts'
import { chatProblems } from '../router/chat-tools.ts'
import { parseFieldPath } from './volatile-rule.ts'

/** Maximum number of pairs in a call's metadata. */
export const MAX_METADATA_PAIRS = 16

/** The value of a rule, and its problems. */
interface Payload<T> {
  value: T
  issues: object[]
}

/** A rule that finds problems by path. */
const finding =
  <T>(problemsOf: (value: T) => [path: string | (string | number)[], message: string][]) =>
  ({ value, issues }: Payload<T>): void => {
    for (const [path, message] of problemsOf(value))
      issues.push({
        code: 'custom',
        path: typeof path !== 'string' ? path : path === '' ? [] : [path],
        message,
        input: value,
        continue: true,
      })
  }

/** Why a text is not a regular expression. */
function regexProblems(source: string): [string, string][] {
  try {
    boundedRegex(source)
    return []
  } catch (error) {
    if (error instanceof RegexLimit) return [['', `is too large: ${error.message}`]]
    const wrong = (error as Error).message.replace(/^Invalid regular expression: /, '')
    return [['', `must be a regular expression: ${wrong}`]]
  }
}

/** Names that stand for an earlier item, too. */
const nameProblems = (items: readonly { name: string }[]): [(string | number)[], string][] =>
  items.flatMap(({ name }, index) =>
    items.findIndex((item) => item.name === name) < index ? [[[index, 'name'], 'must be unique']] : [],
  )

type WithFields<Names extends string> = { readonly [Name in Names]?: unknown }
const countOf = (values: readonly unknown[]) => values.filter((one) => one !== undefined).length

/**
 * All rules by name.
 * @example
 * rules.isDuration('2s') // => true
 * rules.milliseconds('2s') // => 2000
 */
export const rules = {
  chat: finding(chatProblems),
  regex: finding(regexProblems),
  names: finding(nameProblems),
  isInteger: (value: unknown) => Number.isInteger(value),
  isFieldPath: (path: string) => parseFieldPath(path) !== undefined,
  isNothing: (value: unknown) => value == null,
  hasFewPairs: (pairs: object) => Object.keys(pairs).length <= MAX_METADATA_PAIRS,
  hasContent: (file: WithFields<'file_data' | 'uri' | 'file_id'>) =>
    (file.file_data ?? file.uri ?? file.file_id) != null,
  saysSomething: (script: WithFields<'content' | 'tool_calls' | 'refusal'>) =>
    script.content !== undefined || Boolean(script.tool_calls) || script.refusal !== undefined,
  hasOneReply: ({ reply, replies }: WithFields<'reply' | 'replies'>) =>
    (reply === undefined) !== (replies === undefined),
  hasOneComparison: (match: WithFields<'equals' | 'contains' | 'regex'>) =>
    countOf([match.equals, match.contains, match.regex]) === 1,
  isDuration: (value: string | number) => parseDuration(value) !== undefined,
  milliseconds: (value: string | number) => parseDuration(value) ?? 0,
  bytes: (value: string | number) => parseSize(value),
  number: (text: string) => Number(text),
  text: (value: string | number) => String(value),
  isOrigin: (text: string) => text === '*' || URL.parse(text)?.origin === text,
  isCollector: (text: string) => text === 'env' || /^https?:$/.test(URL.parse(text)?.protocol ?? ''),
  isTrue: (text: string) => text === 'true' || text === '1',
} as const

/** The name of a rule. */
export type RuleName = keyof typeof rules
