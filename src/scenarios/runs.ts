// Which scenario is played in which session: the one chosen for the session, and those that single calls name.
import { ApiError } from '../contract/core/error.ts'
import { addSizes, type CacheSize } from '../lib/byte-cache.ts'
import type { TimeSettings } from '../lib/clock.ts'
import { lazy } from '../lib/lazy.ts'
import { FileError } from '../schema/source.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Scenario, ScenarioRun } from './engine.ts'
import type { ScenarioSource } from './load.ts'
import { scenarioTime, type TimeRules } from './time.ts'

// Loaded when the first scenario is asked for: calls without one need nothing of it.
const engine = lazy<typeof import('./engine.ts')>(() => require('./engine.ts'))
const files = lazy<typeof import('./load.ts')>(() => require('./load.ts'))

/** The active scenarios: each belongs to one generation of its session. Those of files begin anew when the file changes. */
export interface ScenarioRuns {
  /** The generation of a session that a call begins in, after what became of its scenario file and of the clock that this wants. */
  enter(session: Session): Session
  /** Whether any session has had a scenario since the start. */
  readonly begun: boolean
  /** The scenario of a session, undefined when none was chosen. */
  current(session: Session): ScenarioRun | undefined
  /** Why the scenario of a session is not as its file says now. */
  problem(session: Session): string | undefined
  /** Begins a scenario in a session, in a new generation: with counters at nothing and on the scenario's clock. */
  start(session: Session, source: ScenarioSource): ScenarioRun
  /** Ends it, in a new generation. */
  stop(session: Session): void
  /** Every scenario that was played since: the session's, and those that single calls have named. */
  played(session: Session): ScenarioRun[]
  /** How much the scenarios of these sessions remember; begins none. */
  sizes(sessions: readonly Session[]): { counters: CacheSize; reads: CacheSize }
  /** The scenario of a call: the one its header names, which counts on from call to call, else the session's. */
  ofCall(session: Session, named: string | null): ScenarioRun | undefined
  /** How time passes under a scenario; what it leaves out is as the session has it. */
  timeOf(scenario: Scenario): Partial<TimeSettings>
  /** A scenario by name: one that was given at the start, or a shipped one; a 400 that lists all names otherwise. */
  find(name: string): ScenarioSource
  /** All of those. */
  all(): Scenario[]
}

/** An active scenario, and where it comes from. */
interface SourcedRun {
  source: ScenarioSource
  run: ScenarioRun
}
/** The scenarios of one generation of a session. */
interface GenerationRuns {
  current?: SourcedRun
  /** Those that single calls have named. */
  named: Map<string, SourcedRun>
}

const beginIn = ({ name, seed, clock, calls }: Session, scenario: Scenario): ScenarioRun =>
  engine().startRun(scenario, { seed, session: name, now: clock.now(), passed: clock.passed(), calls })

/**
 * Active scenarios; `given` are those that the program was started with, the first of which every session begins with.
 * @throws FileError when two of them have the same name.
 */
export function createRuns(given: readonly ScenarioSource[], rules: TimeRules): ScenarioRuns {
  refuseEqualNames(given)
  const timeOf = scenarioTime(rules)
  const find = (name: string) => sourceNamed(name, given)
  const { sourceOf, known, of, choose } = generationRuns(given[0], timeOf)
  let begun = given.length > 0
  const current = (session: Session): ScenarioRun | undefined => of(session).current?.run
  const named = (session: Session, name: string): ScenarioRun => {
    const before = of(session).named.get(name)
    before?.source.refresh()
    if (before && before.source.scenario === before.run.scenario) return before.run
    const source = before?.source ?? find(name)
    const run = beginIn(session, source.scenario)
    of(session).named.set(name, { source, run })
    return run
  }
  return {
    enter(session) {
      const source = sourceOf(session)
      if (!source) return session
      source.refresh()
      const { scenario } = source
      if (known(session)?.current?.run.scenario === scenario) return session
      const time = timeOf(scenario)
      if ((time.clock ?? session.slot.ownTime.clock) !== session.clock.kind) return session.slot.renew(time)
      const before = of(session).current
      if (before && before.run.scenario !== scenario) before.run = beginIn(session, scenario)
      return session
    },
    get begun() {
      return begun
    },
    current,
    problem: (session) => of(session).current?.source.problem,
    start(session, source) {
      begun = true
      const next = choose(session, source)
      return current(next) ?? beginIn(next, source.scenario)
    },
    stop: (session) => void choose(session, null),
    played: (session) => runsOf(of(session)).map(({ run }) => run),
    sizes(sessions) {
      const runs = sessions.flatMap((session) => known(session) ?? []).flatMap(runsOf)
      return {
        counters: addSizes(runs.map(({ run }) => run.counterSize())),
        reads: addSizes(runs.map(({ run }) => run.reads.size())),
      }
    },
    ofCall(session, name) {
      const run = current(session)
      return name === null || run?.name === name ? run : named(session, name)
    },
    timeOf,
    find,
    all: () => knownNames(given).map((name) => find(name).scenario),
  }
}

const runsOf = ({ current, named }: GenerationRuns): SourcedRun[] => [...(current ? [current] : []), ...named.values()]

/** The scenarios of each generation; `first` is what a session begins with. */
function generationRuns(first: ScenarioSource | undefined, timeOf: ScenarioRuns['timeOf']) {
  const runs = new WeakMap<Session, GenerationRuns>()
  // What was chosen for a session through all its generations; null for none.
  const chosen = new WeakMap<Session['slot'], ScenarioSource | null>()
  const sourceOf = ({ slot }: Session): ScenarioSource | undefined => {
    const source = chosen.get(slot)
    return source === undefined ? first : (source ?? undefined)
  }
  /** Begins the session's scenario when that has not begun. */
  const of = (session: Session): GenerationRuns => {
    let found = runs.get(session)
    if (!found) {
      const source = sourceOf(session)
      found = { named: new Map(), ...(source && { current: { source, run: beginIn(session, source.scenario) } }) }
      runs.set(session, found)
    }
    return found
  }
  return {
    sourceOf,
    of,
    /** Those that have begun. */
    known: (session: Session) => runs.get(session),
    /** Chooses another scenario or none, in a new generation; what single calls have named goes on. */
    choose({ slot }: Session, source: ScenarioSource | null): Session {
      const { named } = of(slot.current)
      const next = slot.renew(source ? timeOf(source.scenario) : {})
      chosen.set(slot, source)
      runs.delete(next)
      for (const [name, run] of named) of(next).named.set(name, run)
      return next
    },
  }
}

/** A scenario by name: one of those given, or a shipped one; a 400 that lists all names otherwise. */
function sourceNamed(name: string, given: readonly ScenarioSource[]): ScenarioSource {
  for (const source of given) source.refresh()
  const source = given.find((one) => one.scenario.name === name)
  if (source) return source
  const shipped = files().loadShipped(name)
  if (shipped) return files().fixedSource(shipped)
  const names = knownNames(given)
  throw new ApiError(
    400,
    'unknown_scenario',
    `there is no scenario ${JSON.stringify(name)}; known: ${names.join(', ') || 'none'}`,
    { param: 'scenario' },
  )
}

const knownNames = (given: readonly ScenarioSource[]): string[] => [
  ...new Set([...given.map((one) => one.scenario.name), ...files().shippedScenarios()]),
]

function refuseEqualNames(given: readonly ScenarioSource[]): void {
  for (const [index, { scenario }] of given.entries()) {
    const first = given.findIndex((other) => other.scenario.name === scenario.name)
    if (first === index) continue
    const { name, location } = scenario
    throw new FileError(
      `${location}: the scenario name ${JSON.stringify(name)} is already used in ${given[first]?.scenario.location}`,
    )
  }
}
