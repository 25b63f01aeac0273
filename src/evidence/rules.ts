// From attempts to rules: first a rule for each stretch of equal failures, then as few as still fail the same attempts.
import { type EvidenceAttempt, type EvidenceOutcome, outcomeName } from './evidence.ts'

/** A rule for attempts that failed. */
export interface EvidenceRule extends Partial<Pick<EvidenceAttempt, (typeof CONDITIONS)[number]>> {
  /** The time in ms in which it applies, `to` excluded; for evidence with times. */
  window?: { from: number; to: number } | undefined
  /** The numbers of the matching attempts, from 1; for evidence without times. */
  calls?: { from: number; to: number } | undefined
  outcome: Exclude<EvidenceOutcome, { kind: 'succeeded' }>
  /** Whether a later attempt shows when it ended. */
  hasEnd: boolean
}

/** The names of the conditions on an attempt. */
const CONDITIONS = ['stream', 'operation', 'model', 'provider'] as const

/** Comparisons of a rule with an attempt, less than a second of them. After it, the rules found so far are the result. */
const MAX_STEPS = 10_000_000

/** The rules under which the attempts have the recorded outcomes, as few as were found. */
export function rulesOf(attempts: readonly EvidenceAttempt[]): EvidenceRule[] {
  const expected = attempts.map(({ outcome }) => outcomeName(outcome)).join()
  let steps = 0
  const isSame = (rules: readonly EvidenceRule[]) => {
    steps += attempts.length * rules.length
    return steps <= MAX_STEPS && predicted(attempts, rules).join() === expected
  }
  const isExact = (rule: EvidenceRule) =>
    predicted(attempts, [rule]).every((name, index) => name === 'succeeded' || name === nameOf(attempts[index]))
  return reduced(firstRules(attempts), { isSame, isExact })
}

const nameOf = (attempt: EvidenceAttempt | undefined) => attempt && outcomeName(attempt.outcome)

/** Whether rules may take the place of others. */
interface Checks {
  /** Whether every attempt keeps its outcome. */
  isSame(rules: readonly EvidenceRule[]): boolean
  /** Whether a rule alone fails no attempt in another way than recorded. */
  isExact(rule: EvidenceRule): boolean
}

/** The outcome of each attempt under the rules; the first that applies decides. */
function predicted(attempts: readonly EvidenceAttempt[], rules: readonly EvidenceRule[]): string[] {
  const matched = rules.map(() => 0)
  return attempts.map((attempt) => {
    let found: string | undefined
    for (const [index, rule] of rules.entries()) {
      if (!isMatch(rule, attempt)) continue
      const number = (matched[index] ?? 0) + 1
      matched[index] = number
      if (found === undefined && isActive(rule, attempt, number)) found = outcomeName(rule.outcome)
    }
    return found ?? 'succeeded'
  })
}

const isMatch = (rule: EvidenceRule, attempt: EvidenceAttempt) =>
  CONDITIONS.every((name) => rule[name] === undefined || rule[name] === attempt[name])

const isActive = ({ window, calls }: EvidenceRule, { at = 0 }: EvidenceAttempt, number: number) =>
  (!window || (at >= window.from && at < window.to)) && (!calls || (number >= calls.from && number <= calls.to))

/** A rule for each stretch of equal failures of one kind of call. */
function firstRules(attempts: readonly EvidenceAttempt[]): EvidenceRule[] {
  const rules: EvidenceRule[] = []
  const kinds = Map.groupBy(attempts, ({ provider, model, operation, stream }) =>
    JSON.stringify([provider, model, operation, stream]),
  )
  for (const group of kinds.values()) {
    let current: EvidenceRule | undefined
    for (const [index, attempt] of group.entries()) {
      const { provider, model, operation, stream, outcome, at } = attempt
      if (current && outcomeName(current.outcome) === outcomeName(outcome)) {
        extend(current, index + 1, at)
        current.outcome = longerSilence(current.outcome, outcome)
        continue
      }
      if (current?.window && at !== undefined) {
        current.window.to = at
        current.hasEnd = true
      }
      if (current) current.hasEnd = true
      current = undefined
      if (outcome.kind === 'succeeded') continue
      current = { provider, model, operation, stream, outcome, hasEnd: false, ...begun(index + 1, at) }
      rules.push(current)
    }
  }
  return rules.sort((one, other) => (one.window?.from ?? 0) - (other.window?.from ?? 0))
}

/** Of two outcomes with the same name the first, or the longer silence: a client that waits longer must not see its end. */
const longerSilence = <One extends EvidenceOutcome>(one: One, other: EvidenceOutcome): One =>
  one.kind === 'silence' && other.kind === 'silence' ? { ...one, ms: Math.max(one.ms, other.ms) } : one

const begun = (number: number, at: number | undefined): Pick<EvidenceRule, 'window' | 'calls'> =>
  at === undefined ? { calls: { from: number, to: number } } : { window: { from: at, to: at + 1 } }

function extend(rule: EvidenceRule, number: number, at: number | undefined): void {
  if (rule.calls) rule.calls.to = number
  if (rule.window && at !== undefined) rule.window.to = at + 1
}

/** Above this many rules, only neighbors are joined. */
const MANY_RULES = 80

/** Fewer and simpler rules, as long as every attempt keeps its outcome. */
function reduced(rules: readonly EvidenceRule[], checks: Checks): EvidenceRule[] {
  let best = [...rules]
  for (let before = -1; before !== sizeOf(best); ) {
    before = sizeOf(best)
    best = joined(best, checks)
    best = without(best, checks)
    best = simpler(best, checks)
  }
  return best
}

/** Number of rules and their conditions. */
const sizeOf = (rules: readonly EvidenceRule[]) =>
  rules.length * 10 + rules.flatMap((rule) => CONDITIONS.filter((name) => rule[name] !== undefined)).length

/** Pairs of rules with the same failure as one. */
function joined(rules: readonly EvidenceRule[], { isSame }: Checks): EvidenceRule[] {
  const best = [...rules]
  for (let index = 0; index < best.length; index++) {
    const last = best.length > MANY_RULES ? Math.min(index + 4, best.length) : best.length
    for (let other = index + 1; other < Math.min(last, best.length); other++) {
      const pair = union(best[index], best[other])
      if (!pair) continue
      const candidate = best.with(index, pair).toSpliced(other, 1)
      // Where the joined rule covers others, they have to come first.
      const behind = candidate.toSpliced(index, 1).toSpliced(other - 1, 0, pair)
      const found = [candidate, behind, [...candidate.toSpliced(index, 1), pair]].find(isSame)
      if (!found) continue
      best.splice(0, best.length, ...found)
      other = index
    }
  }
  return best
}

function union(one: EvidenceRule | undefined, other: EvidenceRule | undefined): EvidenceRule | undefined {
  if (!one || !other || outcomeName(one.outcome) !== outcomeName(other.outcome)) return undefined
  const common = <Name extends (typeof CONDITIONS)[number]>(name: Name) =>
    one[name] === other[name] ? one[name] : undefined
  return {
    provider: common('provider'),
    model: common('model'),
    operation: common('operation'),
    stream: common('stream'),
    window: span(one.window, other.window),
    calls: span(one.calls, other.calls),
    outcome: longerSilence(one.outcome, other.outcome),
    hasEnd: one.window && other.window && one.window.to > other.window.to ? one.hasEnd : other.hasEnd,
  }
}

const span = <Range extends { from: number; to: number }>(one: Range | undefined, other: Range | undefined) =>
  one && other && { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) }

function without(rules: readonly EvidenceRule[], { isSame }: Checks): EvidenceRule[] {
  let best = [...rules]
  for (let index = best.length - 1; index >= 0; index--) {
    const candidate = best.toSpliced(index, 1)
    if (isSame(candidate)) best = candidate
  }
  return best
}

/**
 * Rules with fewer conditions: a model is left out when all models of the provider that were called failed. The provider
 * stays, since a scenario should say whom it concerns.
 */
function simpler(rules: readonly EvidenceRule[], { isSame, isExact }: Checks): EvidenceRule[] {
  let best = [...rules]
  for (const name of CONDITIONS.slice(0, -1)) {
    for (const [index, rule] of best.entries()) {
      if (rule[name] === undefined) continue
      const general = { ...rule, [name]: undefined }
      const candidate = best.with(index, general)
      if (isExact(general) && isSame(candidate)) best = candidate
    }
  }
  return best
}
