// What a rule about parameters is: which request a provider rejects, in which words, and where it was seen to do so.
import type { RequestForm, RequestRejection } from './rule.ts'

/** What the table of models says of the requested one; what is left out restricts nothing. */
export interface ModelLimits {
  context?: number
  maxInput?: number
  maxOutput?: number
}

/** What a rule knows beside the request. */
export interface ParameterFacts {
  /** The model's name without its provider. */
  model: string
  limits?: ModelLimits | undefined
  /** Counts the input, which may take long: called only when a request is long enough to exceed a limit. */
  inputTokens?: () => number
}

/** One kind of request that a provider rejects because of its parameters. */
export interface ParameterRule {
  id: string
  api: RequestForm
  /** The models that the source is about, and their dated names. */
  models: RegExp
  /** URL of documentation, or of a thread that quotes the refusal. */
  source: string
  /** Whether it needs the number of input tokens, which are counted where the response is made. */
  countsInput?: true
  /** @param request the body as the provider receives it */
  check(request: Readonly<Record<string, unknown>>, facts: ParameterFacts): RequestRejection | undefined
}

/** A rule that a request breaks, with what the provider says. */
export interface BrokenParameterRule {
  rule: ParameterRule
  rejection: RequestRejection
}

/** The first of the rules that a request breaks; undefined when its provider would accept it, as far as is known. */
export function brokenParameterRule(
  rules: readonly ParameterRule[],
  api: ParameterRule['api'],
  request: Readonly<Record<string, unknown>>,
  facts: ParameterFacts,
): BrokenParameterRule | undefined {
  for (const rule of rules) {
    if (rule.api !== api || !rule.models.test(facts.model)) continue
    const rejection = rule.check(request, facts)
    if (rejection) return { rule, rejection }
  }
  return undefined
}

/** The tokens of an input that exceeds `limit`; undefined when it does not, or when nothing counts it. */
export function tokensBeyond(
  limit: number | undefined,
  request: Readonly<Record<string, unknown>>,
  { inputTokens }: ParameterFacts,
): number | undefined {
  if (limit === undefined || !inputTokens || maxTokens(request, limit) <= limit) return undefined
  const tokens = inputTokens()
  return tokens > limit ? tokens : undefined
}

/** A token is at least a byte, and a UTF-16 unit at most three of them. */
const TOKENS_PER_UNIT = 3
/** What frames a message, a tool or a part. */
const TOKENS_PER_VALUE = 16
/** A picture counts more tokens than its address has bytes. */
const TOKENS_PER_ADDRESS = 3_000
const ADDRESS = /^(?:data|https?):/

/** At least as many tokens as a value can have; no further than `enough`, so that it costs no more than the limit is long. */
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

/** A field that is a number; undefined for anything else. */
export const numberIn = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
