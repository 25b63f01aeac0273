// Plays a scenario in a session: counts, states and chance; the only part of scenarios that changes while it runs.
import type { ActiveScenario, FaultFacts, FaultKind } from '../contract/core/fault.ts'
import type { RuleReport } from '../contract/core/verification.ts'
import { faultKinds } from '../faults/index.ts'
import { byteCache, type CacheSize } from '../lib/byte-cache.ts'
import { chance } from '../lib/chance.ts'
import { fingerprint } from '../lib/ids.ts'
import { globRegex, inRange } from '../lib/match.ts'
import { type RecordedReads, recordedReads } from './recorded-reads.ts'
import { matches, pointOf } from './rule-match.ts'
import type { Phase, Rule, ScenarioFile } from './schema.ts'
import { type RuleFault, replyThroughFaults } from './through.ts'

/** A scenario as it was loaded. */
export interface Scenario extends ScenarioFile {
  /** Where it was read. */
  location: string
  /** As it was written, in YAML, where it was. */
  text?: string | undefined
}

/** A scenario being played, with what it has to tell. */
export interface ScenarioRun extends ActiveScenario {
  readonly scenario: Scenario
  /** Milliseconds since the epoch at which it began. */
  readonly started: number
  /** Calls of the session that had begun before it. */
  readonly calls: number
  /** What must have happened in this session: nothing when no rule is about it. */
  readonly expect: Scenario['expect']
  state(): string
  rules(): RuleReport[]
  /** What was read of the workspace since it began. */
  readonly reads: RecordedReads
  /** How much is known of which bodies came how often. */
  counterSize(): CacheSize
}

interface Counters extends Omit<RuleReport, 'not_triggered'> {
  memory: Map<string, unknown>
  /** Milliseconds from the start to the last attempt or call that matched. */
  latest: number
  /** How often its fault was reached. */
  begun: number
}

const START_STATE = 'start'

/** Where and when a scenario begins. */
export interface ScenarioStart {
  /** With the session's name, the key of its chance. */
  seed: number
  session: string
  /** The instant of the session's clock, in ms since the epoch. */
  now: number
  /** Milliseconds of the session's clock that have passed. */
  passed: number
  /** How many calls of the session have begun. */
  calls: number
}

/** Starts a run of a scenario. */
export function startRun(scenario: Scenario, { seed, session, now, passed, calls }: ScenarioStart): ScenarioRun {
  const rules = scenario.rules.filter(
    ({ match }) => match.session === undefined || globRegex(match.session).test(session),
  )
  const counters = new Map<Rule, Counters>(rules.map((rule) => [rule, countersOf(rule)]))
  // One for each different body: those that came longest ago are forgotten, and would count from nothing again.
  const occurrences = byteCache<number>(8 << 20)
  const chosen = scenario.seed ?? seed
  let state = START_STATE
  /** The model that was called first. */
  let first: string | undefined

  const luckOf = (rule: Rule, facts: FaultFacts) => (purpose: string) =>
    chance(chosen, session, scenario.name, rule.name, facts.key, facts.position, facts.attempt, purpose)

  const fires = (rule: Rule, facts: FaultFacts, { counter, elapsed }: { counter: Counters; elapsed: number }) => {
    if (!matches(rule, facts, first)) return false
    counter.matched++
    counter.latest = elapsed
    if (!isDue(rule, { matched: counter.matched, elapsed, state, luck: luckOf(rule, facts) })) return false
    state = rule.when.sets ?? state
    counter.triggered++
    return true
  }
  const faultsOn = (facts: FaultFacts, elapsed: number): RuleFault[] => {
    if (facts.model !== '') first ??= facts.model
    return [...counters].flatMap(([rule, counter]) =>
      fires(rule, facts, { counter, elapsed }) ? ruleFault(rule, facts, { counter, luck: luckOf(rule, facts) }) : [],
    )
  }
  const run: ScenarioRun = {
    history: scenario.history,
    name: scenario.name,
    scenario,
    started: now,
    calls,
    keyOf(text) {
      const print = fingerprint(text)
      const before = occurrences.get(print) ?? 0
      occurrences.set(print, before + 1, 8)
      return `${print}:${before}`
    },
    faults(clock, ...places) {
      const elapsed = clock.passed() - passed
      const found = places.flatMap((facts) => faultsOn(facts, elapsed))
      if (found.length === 0) return undefined
      return { through: (passage, next) => replyThroughFaults(found, { ...passage, clock }, next) }
    },
    through: (facts, { clock, ...passage }, next) => run.faults(clock, facts)?.through(passage, next) ?? next(),
    // A session that no rule of a scenario is about has nothing to meet.
    expect: rules.length > 0 || scenario.rules.length === 0 ? scenario.expect : [],
    state: () => state,
    rules: () => [...counters].map(([rule, counter]) => reportOf(rule, counter)),
    reads: recordedReads(),
    counterSize: occurrences.size,
  }
  return run
}

/** A number in [0, 1) for a purpose. */
type Luck = (purpose: string) => number

/** Whether the conditions of a rule hold for an attempt or call that is like its match. */
function isDue(
  { when }: Rule,
  { matched, elapsed, state, luck }: { matched: number; elapsed: number; state: string; luck: Luck },
): boolean {
  const { calls: range, every, first = every, after = 0, for: length, probability, requires, schedule } = when
  if (range && !inRange(matched, range)) return false
  if (every !== undefined && first !== undefined && (matched < first || (matched - first) % every !== 0)) return false
  if (elapsed < after || (length !== undefined && elapsed >= after + length)) return false
  if (requires !== undefined && requires !== state) return false
  if (probability !== undefined && luck('fires') >= probability) return false
  return !schedule || luck('phase') < probabilityAt(schedule, elapsed)
}

/** The fault of a rule, ready for one attempt or call, which it counts; none when the rule only changes the state. */
function ruleFault(
  { name, fault }: Rule,
  facts: FaultFacts,
  { counter, luck }: { counter: Counters; luck: Luck },
): RuleFault[] {
  const kind = faultKinds.find((one) => one.type === fault?.type)
  if (!fault || !kind) return []
  const { type: _, ...options } = fault
  const apply: RuleFault['apply'] = (next, { onTriggered, events, ...passage }) => {
    counter.begun++
    let settled = false
    const triggered = () => {
      if (settled) return
      settled = true
      counter.applied++
      onTriggered(name)
    }
    const skipped = (reason: string) => {
      if (settled) return
      settled = true
      counter.skipped[reason] = (counter.skipped[reason] ?? 0) + 1
    }
    const provider = facts.model.slice(0, facts.model.indexOf('/'))
    const operation = events ? { ...facts.operation, events } : facts.operation
    const about = { ...facts, ...passage, operation, provider }
    const context = { ...about, luck, memory: counter.memory, triggered, skipped }
    return (kind as FaultKind<object>).apply(options, next, context)
  }
  return [{ inAnswer: kind.inAnswer === true, apply }]
}

const countersOf = (rule: Rule): Counters => ({
  name: rule.name,
  fault: rule.fault?.type ?? null,
  at: pointOf(rule),
  matched: 0,
  triggered: 0,
  applied: 0,
  skipped: {},
  memory: new Map(),
  latest: 0,
  begun: 0,
})

function reportOf(rule: Rule, { memory: _, latest, begun, ...report }: Counters): RuleReport {
  const settled = Object.values(report.skipped).reduce((sum, count) => sum + count, report.applied)
  const skipped = { ...report.skipped }
  if (report.fault !== null && begun < report.triggered) skipped[NOT_REACHED] = report.triggered - begun
  if (settled < begun) skipped[NOT_YET] = begun - settled
  return { ...report, skipped, not_triggered: neverDue(rule, report, latest) ?? notTriggeredReason(report) }
}

/** That a rule by time has not fired because nothing was called when its time had come. */
function neverDue(
  { when }: Rule,
  { triggered, matched }: Omit<RuleReport, 'not_triggered'>,
  latest: number,
): string | undefined {
  const due = (when.after ?? 0) + beginOf(when.schedule ?? [])
  if (triggered > 0 || matched === 0 || latest > due || due === 0) return undefined
  return `active from t=${seconds(due)}, last matching request at t=${seconds(latest)}`
}

const seconds = (ms: number) => `${Number((ms / 1000).toFixed(1))} s`

/** Milliseconds before the first phase in which anything can happen. */
function beginOf(schedule: readonly Phase[]): number {
  let begins = 0
  for (const { phase, for: length = 0, from = RAMPS[phase][0], to = RAMPS[phase][1] } of schedule) {
    if (from > 0 || to > 0) return begins
    begins += length
  }
  return 0
}

/** Why a rule was not triggered. */
function notTriggeredReason({ triggered, matched }: Omit<RuleReport, 'not_triggered'>): string | null {
  if (triggered > 0) return null
  if (matched === 0) return 'no request matched'
  if (matched === 1) return 'its conditions were not met for the one matching request'
  return `its conditions were not met for any of the ${matched} matching requests`
}

/** A fault may answer by itself; those inside it then have nothing to act on. */
const NOT_REACHED = 'overridden by an earlier rule'
/** It waits for its turn in an answer that still goes on. */
const NOT_YET = 'not injected yet'

const RAMPS: Record<Phase['phase'], [number, number]> = {
  healthy: [0, 0],
  degrading: [0, 1],
  down: [1, 1],
  recovering: [1, 0],
}

/** Probability of a schedule at a time in ms since its start; after its last phase all is well. */
function probabilityAt(schedule: readonly Phase[], elapsed: number): number {
  let begins = 0
  for (const {
    phase,
    for: length = Number.POSITIVE_INFINITY,
    from = RAMPS[phase][0],
    to = RAMPS[phase][1],
  } of schedule) {
    if (elapsed < begins + length) {
      return Number.isFinite(length) ? from + (to - from) * ((elapsed - begins) / length) : to
    }
    begins += length
  }
  return 0
}
