// Runs a scenario in a session. All mutable state of scenarios is here: counters, the state and what rules store.
import type {
  ActiveScenario,
  FaultFacts,
  FaultKind,
  FaultPassage,
  NextReply,
  WorkspaceCall,
} from '../contract/core/fault.ts'
import type { StreamRules } from '../contract/core/operation.ts'
import type { Reply } from '../contract/core/reply.ts'
import type { RuleReport } from '../contract/core/rule-report.ts'
import { faultKinds } from '../faults/index.ts'
import { unpacked } from '../faults/wire.ts'
import { byteCache, type CacheSize } from '../lib/byte-cache.ts'
import { chance } from '../lib/chance.ts'
import { fingerprint } from '../lib/ids.ts'
import { globRegex, inRange } from '../lib/match.ts'
import { sumOf } from '../lib/values.ts'
import type { Session } from '../sessions/session.ts'
import { matches, pointOf } from './rule-match.ts'
import type { Phase, Rule, ScenarioFile } from './schema.ts'

/** A loaded scenario. */
export interface Scenario extends ScenarioFile {
  /** The file or name that it was loaded from. */
  location: string
  /** Its YAML text, if it has one. */
  text?: string | undefined
}

/** A run of a scenario, with its counters and reports. */
export interface ScenarioRun extends ActiveScenario {
  readonly scenario: Scenario
  /** Start time in ms since the epoch. */
  readonly started: number
  /** Number of calls of the session that began before it. */
  readonly calls: number
  /** Its expectations for this session. Empty if all its rules are for other sessions. */
  readonly expect: Scenario['expect']
  state(): string
  rules(): RuleReport[]
  /** Workspace reads since its start. */
  readonly reads: RecordedReads
  /** Size of the counters of request bodies. */
  counterSize(): CacheSize
}

interface Counters extends Omit<RuleReport, 'not_triggered'> {
  memory: Map<string, unknown>
  /** Milliseconds from the start to the last attempt or call that matched. */
  latest: number
  /** Number of attempts or calls in which its fault was reached. */
  begun: number
}

const START_STATE = 'start'

/** Starts a run of a scenario. Its random numbers depend on the seed and the name of the session. */
export function startRun(
  scenario: Scenario,
  { name: session, seed, clock: sessionClock, calls }: Pick<Session, 'name' | 'seed' | 'clock' | 'calls'>,
): ScenarioRun {
  const rules = scenario.rules.filter(
    ({ match }) => match.session === undefined || globRegex(match.session).test(session),
  )
  const counters = new Map<Rule, Counters>(rules.map((rule) => [rule, countersOf(rule)]))
  // Counts each request body. The oldest are dropped, and start again from 0.
  const occurrences = byteCache<number>(8 << 20)
  const usedSeed = scenario.seed ?? seed
  const passed = sessionClock.passed()
  let state = START_STATE
  /** The first model that was called. */
  let firstModel: string | undefined

  const randomFor = (rule: Rule, facts: FaultFacts) => (purpose: string) =>
    chance(usedSeed, session, scenario.name, rule.name, facts.key, facts.position, facts.attempt, purpose)

  const fires = (rule: Rule, facts: FaultFacts, { counter, elapsed }: { counter: Counters; elapsed: number }) => {
    if (!matches(rule, facts, firstModel)) return false
    counter.matched++
    counter.latest = elapsed
    if (!isDue(rule, { matched: counter.matched, elapsed, state, random: randomFor(rule, facts) })) return false
    state = rule.when.sets ?? state
    counter.triggered++
    return true
  }
  const faultsOn = (facts: FaultFacts, elapsed: number): RuleFault[] => {
    if (facts.model !== '') firstModel ??= facts.model
    return [...counters].flatMap(([rule, counter]) =>
      fires(rule, facts, { counter, elapsed })
        ? ruleFault(rule, facts, { counter, random: randomFor(rule, facts) })
        : [],
    )
  }
  const run: ScenarioRun = {
    history: scenario.history,
    name: scenario.name,
    scenario,
    started: sessionClock.now(),
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
    // A session to which no rule applies has no expectations.
    expect: rules.length > 0 || scenario.rules.length === 0 ? scenario.expect : [],
    state: () => state,
    rules: () => [...counters].map(([rule, counter]) => reportOf(rule, counter)),
    reads: recordedReads(),
    counterSize: occurrences.size,
  }
  return run
}

/** Returns a number in [0, 1) for a purpose. */
type RandomSource = (purpose: string) => number

/** Whether the `when` conditions of a rule hold for a matching attempt or call. */
function isDue(
  { when }: Rule,
  { matched, elapsed, state, random }: { matched: number; elapsed: number; state: string; random: RandomSource },
): boolean {
  const { calls: range, every, first = every, after = 0, for: length, probability, requires, schedule } = when
  if (range && !inRange(matched, range)) return false
  if (every !== undefined && first !== undefined && (matched < first || (matched - first) % every !== 0)) return false
  if (elapsed < after || (length !== undefined && elapsed >= after + length)) return false
  if (requires !== undefined && requires !== state) return false
  if (probability !== undefined && random('fires') >= probability) return false
  return !schedule || random('phase') < probabilityAt(schedule, elapsed)
}

/** The fault of a rule for one attempt or call, with its counting. Empty if the rule only changes the state. */
function ruleFault(
  { name, fault }: Rule,
  facts: FaultFacts,
  { counter, random }: { counter: Counters; random: RandomSource },
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
    const context = { ...about, random, memory: counter.memory, triggered, skipped }
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
  const settled = report.applied + sumOf(Object.values(report.skipped), Number)
  const skipped = { ...report.skipped }
  if (report.fault !== null && begun < report.triggered) skipped[NOT_REACHED] = report.triggered - begun
  if (settled < begun) skipped[NOT_YET] = begun - settled
  return { ...report, skipped, not_triggered: notActiveReason(rule, report, latest) ?? notTriggeredReason(report) }
}

/** Explains that no request matched while a timed rule was active. */
function notActiveReason(
  { when }: Rule,
  { triggered, matched }: Omit<RuleReport, 'not_triggered'>,
  latest: number,
): string | undefined {
  const activeFrom = (when.after ?? 0) + beginOf(when.schedule ?? [])
  if (triggered > 0 || matched === 0 || latest > activeFrom || activeFrom === 0) return undefined
  return `active from t=${seconds(activeFrom)}, last matching request at t=${seconds(latest)}`
}

const seconds = (ms: number) => `${Number((ms / 1000).toFixed(1))} s`

/** Time before the first phase with a probability above 0, in ms. */
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

/** A fault that replies itself prevents the faults inside it. */
const NOT_REACHED = 'overridden by an earlier rule'
/** The response has not yet reached the position of the fault. */
const NOT_YET = 'not injected yet'

const RAMPS: Record<Phase['phase'], [number, number]> = {
  healthy: [0, 0],
  degrading: [0, 1],
  down: [1, 1],
  recovering: [1, 0],
}

/** Probability of a schedule at a time in ms since its start: 0 after its last phase. */
function probabilityAt(schedule: readonly Phase[], elapsed: number): number {
  let begins = 0
  for (const { phase, for: length = Number.POSITIVE_INFINITY, ...ramp } of schedule) {
    const { from = RAMPS[phase][0], to = RAMPS[phase][1] } = ramp
    if (elapsed < begins + length) {
      return Number.isFinite(length) ? from + (to - from) * ((elapsed - begins) / length) : to
    }
    begins += length
  }
  return 0
}

// Faults are nested around a call: the first is outermost, and each one wraps the next.

/** What a fault receives for one call, including the response format of its client. */
interface RulePassage extends Omit<FaultPassage, 'form'> {
  words?: string | undefined
  /** The rules for streams of that format, if they differ from the operation's. */
  events?: StreamRules | undefined
}

/** A fault of a rule for one attempt or call. */
interface RuleFault {
  /** The `inAnswer` of its fault type. */
  inAnswer: boolean
  apply(next: NextReply, passage: RulePassage): Promise<Reply>
}

/**
 * The reply through faults. With a form, faults that change the content of a response apply before the conversion, all others after it.
 * @throws ConnectionFailure if a fault ends the connection, and what `next` throws.
 */
function replyThroughFaults(
  faults: readonly RuleFault[],
  { form, ...passage }: FaultPassage,
  next: NextReply,
): Promise<Reply> {
  if (!form) return nested(faults, passage, next)
  const { words, events } = form
  const contentFaults = faults.filter(({ inAnswer }) => inAnswer)
  const transportFaults = faults.filter(({ inAnswer }) => !inAnswer)
  const changed = () => nested(contentFaults, { ...passage, words }, next)
  const put = async () => form.put(contentFaults.length > 0 ? await unpacked(await changed()) : await next())
  return nested(transportFaults, { ...passage, words, events }, put)
}

const nested = (faults: readonly RuleFault[], passage: RulePassage, next: NextReply): Promise<Reply> =>
  faults.reduceRight<NextReply>((inner, fault) => () => fault.apply(inner, passage), next)()

/** Reads, oldest first. */
type RecordedReads = ReturnType<typeof recordedReads>

/** Maximum number of reads and their total size. */
const LIMITS = { count: 200, bytes: 8 << 20 }

/** The workspace reads of one active scenario, for faults that return earlier data. The oldest are dropped first. */
export function recordedReads({ count, bytes: limit } = LIMITS) {
  const list: { url: string; reply: Reply }[] = []
  const sizes: number[] = []
  let bytes = 0
  return {
    list: list as WorkspaceCall['reads'],
    /** Records a read. Files and reads above the limit are not recorded. */
    add(url: string, reply: Reply): void {
      // Files never change, so their bytes are not needed.
      if (reply.body.kind !== 'value') return
      const size = url.length + (JSON.stringify(reply.body.value)?.length ?? 0)
      list.push({ url, reply })
      sizes.push(size)
      bytes += size
      while (list.length > count || bytes > limit) {
        list.shift()
        bytes -= sizes.shift() ?? 0
      }
    },
    size: (): CacheSize => ({ entries: list.length, bytes, limit }),
  }
}
