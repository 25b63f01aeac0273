// Plays a scenario in a session: counts, states and chance; the only part of scenarios that changes while it runs.
import { globRegex, matchText, valueAtPath } from '../backends/fixture/fixture.ts'
import type { FaultFacts, FaultKind, FaultPoint, Injected, Playing } from '../contract/fault.ts'
import type { RuleReport } from '../contract/verification.ts'
import { faultKinds } from '../faults/index.ts'
import { chance } from '../lib/chance.ts'
import { fingerprint } from '../lib/ids.ts'
import type { Phase, Rule, ScenarioFile } from './schema.ts'

/** A scenario as it was loaded. */
export interface Scenario extends ScenarioFile {
  /** Where it was read. */
  place: string
}

/** A scenario being played, with what it has to tell. */
export interface Run extends Playing {
  readonly scenario: Scenario
  /** Milliseconds since the epoch at which it began. */
  readonly started: number
  /** Calls of the session that had begun before it. */
  readonly calls: number
  state(): string
  rules(): RuleReport[]
}

interface Counters extends Omit<RuleReport, 'idle'> {
  memory: Map<string, unknown>
}

export const START_STATE = 'start'

/** Where and when a scenario begins. */
export interface Beginning {
  /** With the session's name, the key of its chance. */
  seed: number
  session: string
  /** The instant of the session's clock, in ms since the epoch. */
  now: number
  /** How many calls of the session have begun. */
  calls: number
}

/** Begins to play a scenario. */
export function play(scenario: Scenario, { seed, session, now, calls }: Beginning): Run {
  const counters = new Map<Rule, Counters>(scenario.rules.map((rule) => [rule, countersOf(rule)]))
  const occurrences = new Map<string, number>()
  const chosen = scenario.seed ?? seed
  let state = START_STATE

  const luckOf = (rule: Rule, facts: FaultFacts) => (purpose: string) =>
    chance(chosen, session, scenario.name, rule.name, facts.key, facts.position, facts.attempt, purpose)

  const fires = (rule: Rule, facts: FaultFacts): boolean => {
    if (!matches(rule, facts)) return false
    const counter = counters.get(rule)
    if (!counter) return false
    counter.matched++
    const { calls: range, every, after = 0, for: length, probability, requires, schedule, sets } = rule.when
    const elapsed = facts.now - now
    const luck = luckOf(rule, facts)
    if (range && !inRange(counter.matched, range)) return false
    if (every !== undefined && counter.matched % every !== 0) return false
    if (elapsed < after || (length !== undefined && elapsed >= after + length)) return false
    if (requires !== undefined && requires !== state) return false
    if (probability !== undefined && luck('fires') >= probability) return false
    if (schedule && luck('phase') >= probabilityAt(schedule, elapsed)) return false
    if (sets !== undefined) state = sets
    counter.fired++
    return true
  }
  const injected = (rule: Rule, facts: FaultFacts, counter: Counters): Injected[] => {
    const { fault } = rule
    const kind = faultKinds.find((one) => one.type === fault?.type)
    if (!fault || !kind) return []
    const { type: _, ...options } = fault
    return [
      {
        rule: rule.name,
        apply(next, { skipped: told, ...given }) {
          let skipped = false
          counter.applied++
          const skip = (reason: string) => {
            if (skipped) return
            skipped = true
            counter.applied--
            told()
            counter.skipped[reason] = (counter.skipped[reason] ?? 0) + 1
          }
          const provider = given.model.slice(0, given.model.indexOf('/'))
          const context = { ...given, at: facts.at, provider, luck: luckOf(rule, facts), memory: counter.memory, skip }
          return (kind as FaultKind<object>).apply(options, next, context)
        },
      },
    ]
  }
  return {
    name: scenario.name,
    scenario,
    started: now,
    calls,
    keyOf(text) {
      const print = fingerprint(text)
      const before = occurrences.get(print) ?? 0
      occurrences.set(print, before + 1)
      return `${print}:${before}`
    },
    faults: (facts) =>
      [...counters].flatMap(([rule, counter]) => (fires(rule, facts) ? injected(rule, facts, counter) : [])),
    state: () => state,
    rules: () => [...counters.values()].map(reportOf),
  }
}

/** Where a rule acts. */
export const pointOf = ({ at, fault }: Rule): FaultPoint =>
  at ?? faultKinds.find((kind) => kind.type === fault?.type)?.points[0] ?? 'provider'

const countersOf = (rule: Rule): Counters => ({
  name: rule.name,
  fault: rule.fault?.type ?? null,
  at: pointOf(rule),
  matched: 0,
  fired: 0,
  applied: 0,
  skipped: {},
  memory: new Map(),
})

function reportOf({ memory: _, ...report }: Counters): RuleReport {
  const skipped = { ...report.skipped }
  const told = Object.values(skipped).reduce((sum, count) => sum + count, report.applied)
  if (report.fault !== null && told < report.fired) skipped[NOT_REACHED] = report.fired - told
  return { ...report, skipped, idle: idleReason(report) }
}

/** Why a rule has never fired. */
function idleReason({ at, fired, matched }: Omit<RuleReport, 'idle'>): string | null {
  if (fired > 0) return null
  const noun = at === 'provider' ? 'attempt' : 'call'
  if (matched === 0) return `no ${noun} was like its match`
  if (matched === 1) return `its conditions did not hold for the one ${noun} like its match`
  return `its conditions held for none of the ${matched} ${noun}s like its match`
}

/** A fault may answer by itself; those inside it then have nothing to act on. */
const NOT_REACHED = 'another fault acted before it'

/** Whether a number is one of those meant. */
export const inRange = (value: number, [first, last]: readonly [number, number]) => value >= first && value <= last

function matches(rule: Rule, facts: FaultFacts): boolean {
  const { operation, path, provider, model, target, attempt, stream, header, identity, thread, body, text } = rule.match
  if (facts.at !== pointOf(rule)) return false
  if (operation !== undefined && !globRegex(operation).test(facts.operation.name)) return false
  if (path !== undefined && !globRegex(path).test(facts.path ?? facts.operation.path)) return false
  if (provider !== undefined && !facts.model.startsWith(`${provider}/`)) return false
  if (model !== undefined && !matchesModel(model, facts.model)) return false
  if (target !== undefined && !matchesPosition(target, facts.position)) return false
  if (attempt !== undefined && !inRange(facts.attempt, attempt)) return false
  if (stream !== undefined && stream !== facts.stream) return false
  if (identity !== undefined && !globRegex(identity).test(facts.identity ?? '')) return false
  if (thread !== undefined && !globRegex(thread).test(facts.thread ?? '')) return false
  if (text !== undefined && !matchText(text, facts.text)) return false
  const headers = Object.entries(header ?? {}).every(([name, wanted]) => {
    const actual = facts.headers.get(name)
    return actual !== null && matchText(wanted, actual) !== undefined
  })
  return (
    headers &&
    Object.entries(body ?? {}).every(([path, wanted]) => Bun.deepEquals(valueAtPath(facts.request, path), wanted))
  )
}

/** Whether a pattern of a rule means a model. */
export const matchesModel = (glob: string, model: string): boolean =>
  globRegex(glob).test(model) || globRegex(glob).test(model.slice(model.indexOf('/') + 1))

/** Whether a target's position is the one wanted. */
export function matchesPosition(wanted: string | number, position: number): boolean {
  if (typeof wanted === 'number') return wanted === position
  if (wanted === 'primary') return position === 0
  const number = wanted.split(' ')[1]
  return number === undefined ? position > 0 : position === Number(number)
}

const RAMPS: Record<Phase['phase'], [number, number]> = {
  healthy: [0, 0],
  degrading: [0, 1],
  down: [1, 1],
  recovering: [1, 0],
}

/** Probability of a schedule at a time in ms since its start; after its last phase all is well. */
export function probabilityAt(schedule: readonly Phase[], elapsed: number): number {
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
