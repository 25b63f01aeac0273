// Types and helpers of rules for parameters that providers reject.
import type { RequestForm, RequestRejection } from './rule.ts'

/** The limits of the requested model. Omitted fields do not limit anything. */
interface ModelLimits {
  context?: number
  maxInput?: number
  maxOutput?: number
}

/** What a rule knows besides the request. */
export interface ParameterFacts {
  /** The model's name without its provider. */
  model: string
  limits?: ModelLimits | undefined
  /** Counts the input tokens. Slow, so it is only called if a request may exceed a limit. */
  inputTokens?: () => number
}

/** A rule for parameters that a provider rejects. */
export interface ParameterRule {
  id: string
  api: RequestForm
  /** Matches the models of the source, with and without dates. */
  models: RegExp
  /** URL of documentation or of a thread that quotes the error. */
  source: string
  /** Whether it needs the number of input tokens, which are only counted when the response is created. */
  countsInput?: true
  /** @param request The body as the provider receives it. */
  check(request: Readonly<Record<string, unknown>>, facts: ParameterFacts): RequestRejection | false | undefined
}

/** A rule in the list of a provider. */
export type ListedParameterRule = Omit<ParameterRule, 'api'>

/** The rules of a provider for one API. */
export const parameterRules = (
  api: ParameterRule['api'],
  rules: readonly ListedParameterRule[],
): readonly ParameterRule[] => rules.map((rule) => ({ ...rule, api }))

/** The first rule that a request breaks, with the provider's error. Undefined if it breaks none. */
export function brokenParameterRule(
  rules: readonly ParameterRule[],
  api: ParameterRule['api'],
  request: Readonly<Record<string, unknown>>,
  facts: ParameterFacts,
): { rule: ParameterRule; rejection: RequestRejection } | undefined {
  for (const rule of rules) {
    if (rule.api !== api || !rule.models.test(facts.model)) continue
    const rejection = rule.check(request, facts)
    if (rejection) return { rule, rejection }
  }
  return undefined
}

/** The number of input tokens if they exceed `limit`. Undefined if they do not, or are not counted. */
export function tokensBeyond(
  limit: number | undefined,
  request: Readonly<Record<string, unknown>>,
  { inputTokens }: ParameterFacts,
): number | undefined {
  if (limit === undefined || !inputTokens || maxTokens(request, limit) <= limit) return undefined
  const tokens = inputTokens()
  return tokens > limit ? tokens : undefined
}

/** Maximum tokens per UTF-16 unit, which has at most three bytes. */
const TOKENS_PER_UNIT = 3
/** Maximum tokens for the frame of a message, tool or part. */
const TOKENS_PER_VALUE = 16
/** Maximum tokens of an image, which may exceed the length of its URL. */
const TOKENS_PER_ADDRESS = 3_000
const ADDRESS = /^(?:data|https?):/

/** An upper bound of the tokens of a value. Stops counting above `enough`. */
function maxTokens(value: unknown, enough: number): number {
  if (typeof value === 'string') return value.length * TOKENS_PER_UNIT + (ADDRESS.test(value) ? TOKENS_PER_ADDRESS : 0)
  if (typeof value !== 'object' || value === null) return TOKENS_PER_VALUE
  let total = TOKENS_PER_VALUE
  if (Array.isArray(value)) {
    for (const item of value) if ((total += maxTokens(item, enough - total)) > enough) break
    return total
  }
  for (const key in value) {
    total += key.length * TOKENS_PER_UNIT + maxTokens((value as Record<string, unknown>)[key], enough - total)
    if (total > enough) break
  }
  return total
}

/** The models of these names, with and without the suffix of a date. */
export const modelsNamed = (names: readonly string[], date: RegExp): RegExp =>
  new RegExp(`^(?:${names.map(RegExp.escape).join('|')})(?:${date.source})?$`)

/** A number other than 1, the default of `temperature` and `top_p`, which every model takes. Undefined otherwise. */
export const changedNumber = (value: unknown): number | undefined => (value === 1 ? undefined : numberIn(value))

/** A field if it is a number, else undefined. */
export const numberIn = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
