// The calls of a rehearsal: those that the rules of its scenario match, with all features of the gateway.
import { allOperations } from '../../endpoints/index.ts'
import { listedProvider } from '../../providers/index.ts'
import type { Scenario } from '../../scenarios/engine.ts'
import { pointOf } from '../../scenarios/rule-match.ts'
import type { Rule } from '../../scenarios/schema.ts'

/** One call to make. */
interface BuiltInCall {
  path: string
  headers: Record<string, string>
  body: Record<string, unknown>
}

const MODEL = 'openai/gpt-4o'
const OTHER_MODEL = 'anthropic/claude-sonnet-4'
const RETRIED = [408, 429, 500, 502, 503, 504, 529]
const CALL_TIMEOUT_MS = 10_000

/** The rule for a call of a scenario that has only expectations. */
const NO_RULE: Rule = { name: 'no rule', match: {}, when: {} }

/** The rule for a call: calls take turns with the rules. */
export const ruleFor = ({ rules }: Pick<Scenario, 'rules'>, index: number): Rule =>
  rules[index % rules.length] ?? NO_RULE

/** So many calls, which take turns with the rules. */
export const builtInCalls = (scenario: Pick<Scenario, 'rules'>, count: number): BuiltInCall[] =>
  Array.from({ length: count }, (_, index) => callFor(ruleFor(scenario, index), index))

function callFor(rule: Rule, index: number): BuiltInCall {
  const { match } = rule
  const named = allOperations().find(({ name, body }) => name === match.operation && body === 'json')
  const operation = named ?? allOperations().find(({ name }) => name === 'chat.completions')
  if (!operation) throw new Error('there are chat completions')
  const example = Object.values(operation.examples)[0] as Record<string, unknown>
  const text = typeof match.text === 'string' ? match.text : `Rehearsal, call ${index + 1}`
  const has = (field: string) => field in operation.request.shape
  const { model, fallback } = modelsFor(rule, String(example.model ?? MODEL))
  return {
    path: operation.path,
    headers: Object.fromEntries(
      Object.entries(match.header ?? {}).flatMap(([name, pattern]) =>
        typeof pattern === 'string' ? [[name, pattern]] : [],
      ),
    ),
    body: {
      ...example,
      model,
      ...(has('messages') && { messages: [{ role: 'user', content: text }] }),
      ...(has('stream') && { stream: match.stream ?? index % 2 === 1 }),
      ...(has('retry') && { retry: { count: 2, on_codes: RETRIED } }),
      ...(has('fallbacks') && operation.name === 'chat.completions' && { fallbacks: [{ model: fallback }] }),
      ...(has('timeout') && { timeout: { call_timeout: CALL_TIMEOUT_MS } }),
      ...(match.identity !== undefined && has('identity') && { identity: { id: exact(match.identity) } }),
      ...(match.thread !== undefined && has('thread') && { thread: { id: exact(match.thread) } }),
    },
  }
}

/** A text that matches a pattern. */
const exact = (pattern: string) => pattern.replaceAll('*', '')

/** The models of a call for a rule: its own as the primary one, or as the fallback if the rule matches fallbacks. */
function modelsFor(rule: Rule, standard: string): { model: string; fallback: string } {
  const { provider, model: pattern, target } = rule.match
  const named = exact(pattern ?? '')
  const whole = named.includes('/') ? named : named && `${provider ?? standard.split('/')[0]}/${named}`
  const ofProvider = `${provider}/${Object.keys(listedProvider(provider ?? '')?.models ?? {})[0] ?? 'model'}`
  const matching = whole && !whole.endsWith('/') ? whole : provider === undefined ? standard : ofProvider
  const ofFallback = target !== undefined && target !== 'primary' && target !== 0 && pointOf(rule) === 'provider'
  const other = matching.startsWith('anthropic/') ? MODEL : OTHER_MODEL
  return ofFallback
    ? { model: matching === standard ? standard : other, fallback: matching === standard ? OTHER_MODEL : matching }
    : { model: matching, fallback: other }
}

/** How far to advance a virtual clock between two calls, in ms, so that they cover the times in the rules. */
export function stepOf({ rules }: Pick<Scenario, 'rules'>, count: number): number {
  const ends = rules.map(({ when: { after = 0, for: length = 0, schedule = [] } }) =>
    Math.max(
      after + length,
      schedule.reduce((sum, phase) => sum + (phase.for ?? 0), 0),
    ),
  )
  return Math.ceil(Math.max(0, ...ends) / Math.max(1, count - 1))
}
