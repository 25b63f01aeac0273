// Matches rules of a scenario with attempts and calls.
import type { FaultFacts, FaultPoint } from '../contract/core/fault.ts'
import { matchedText } from '../contract/core/text-match.ts'
import { lazy } from '../lib/lazy.ts'
import { globRegex, inRange, type TextMatch, valueAtPath } from '../lib/match.ts'
import type { Rule } from './schema.ts'

const faults = lazy<typeof import('../faults/index.ts')>(() => require('../faults/index.ts'))

/** The fault point of a rule. */
export const pointOf = ({ at, fault }: Rule): FaultPoint =>
  at ?? faults().faultKinds.find((kind) => kind.type === fault?.type)?.points[0] ?? 'provider'

/** Whether a rule applies to calls of the router's operations. */
export const isOfRouter = (rule: Rule): boolean => ['provider', 'gateway'].includes(pointOf(rule))

/** Whether a rule matches an attempt or call, given the model that the session called first. */
export function matches(rule: Rule, facts: FaultFacts, firstModel: string | undefined): boolean {
  const { operation, path, provider, model, called_first, target, attempt, stream, internal } = rule.match
  const { header, call_site: callSite, identity, thread, body, text } = rule.match
  if (facts.at !== pointOf(rule)) return false
  if (operation !== undefined && !globRegex(operation).test(facts.operation.name)) return false
  if (path !== undefined && !globRegex(path).test(facts.path ?? facts.operation.path)) return false
  if (provider !== undefined && !matchesProvider(provider, facts.model)) return false
  if (model !== undefined && !matchesModel(model, facts.model)) return false
  if (called_first !== undefined && !isCalledFirst(called_first, facts.model, firstModel)) return false
  if (target !== undefined && !matchesPosition(target, facts.position)) return false
  if (attempt !== undefined && !inRange(facts.attempt, attempt)) return false
  if (stream !== undefined && stream !== facts.stream) return false
  if (internal !== undefined && internal !== facts.inner) return false
  if (callSite !== undefined && !matchesCallSite(callSite, facts.point ?? '', facts)) return false
  if (identity !== undefined && !globRegex(identity).test(facts.identity ?? '')) return false
  if (thread !== undefined && !globRegex(thread).test(facts.thread ?? '')) return false
  if (text !== undefined && !matchedText(text, facts.text, facts)) return false
  if (!matchesAgent(rule, facts)) return false
  const headers = Object.entries(header ?? {}).every(([name, expected]) => {
    const actual = facts.headers.get(name)
    return actual !== null && matchedText(expected, actual, facts) !== undefined
  })
  return (
    headers &&
    Object.entries(body ?? {}).every(([path, expected]) => Bun.deepEquals(valueAtPath(facts.request, path), expected))
  )
}

const matchesCallSite = (expected: TextMatch, callSite: string, facts: FaultFacts): boolean =>
  typeof expected === 'string'
    ? globRegex(expected).test(callSite)
    : matchedText(expected, callSite, facts) !== undefined

/** Whether a rule matches the agent that makes a call and the tool that it calls. */
function matchesAgent(
  { match: { agent, task, iteration, tool } }: Rule,
  { agent: caller, tool: names = [] }: FaultFacts,
): boolean {
  if (tool !== undefined && !names.some((name) => globRegex(tool).test(name))) return false
  if (agent === undefined && task === undefined && iteration === undefined) return true
  if (!caller) return false
  if (agent !== undefined && !globRegex(agent).test(caller.agent)) return false
  if (task !== undefined && !globRegex(task).test(caller.task)) return false
  return iteration === undefined || inRange(caller.iteration, iteration)
}

/** Whether a model, or its provider, was the first one called. */
function isCalledFirst(part: 'provider' | 'model', model: string, first: string | undefined): boolean {
  const partOf = (name: string) => (part === 'model' ? name : name.slice(0, name.indexOf('/')))
  return first !== undefined && model !== '' && partOf(model) === partOf(first)
}

/** Whether a pattern matches the provider of a model. */
export const matchesProvider = (glob: string, model: string): boolean =>
  glob.includes('*') ? globRegex(`${glob}/*`).test(model) : model.startsWith(`${glob}/`)

/** Whether a pattern matches a model, with or without its provider. */
export const matchesModel = (glob: string, model: string): boolean =>
  globRegex(glob).test(model) || globRegex(glob).test(model.slice(model.indexOf('/') + 1))

/** Whether the position of a target matches a rule's `target`. */
export function matchesPosition(expected: string | number, position: number): boolean {
  if (typeof expected === 'number') return expected === position
  if (expected === 'primary') return position === 0
  const number = expected.split(' ')[1]
  return number === undefined ? position > 0 : position === Number(number)
}
