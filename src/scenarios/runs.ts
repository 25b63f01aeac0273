// The active scenarios of sessions: the one chosen for a session, and those that single calls name.
import { ApiError } from '../contract/core/error.ts'
import { addSizes, type CacheSize } from '../lib/byte-cache.ts'
import type { TimeSettings } from '../lib/clock.ts'
import { lazy } from '../lib/lazy.ts'
import { FileError } from '../schema/source.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Scenario, ScenarioRun } from './engine.ts'
import type { ScenarioSource } from './load.ts'
import type { ScenarioFile } from './schema.ts'

// Loaded with the first scenario, since calls without one do not need it.
const engine = lazy<typeof import('./engine.ts')>(() => require('./engine.ts'))
const files = lazy<typeof import('./load.ts')>(() => require('./load.ts'))

/** The active scenarios, each in one generation of its session. A changed file restarts its scenario. */
export type ScenarioRuns = ReturnType<typeof createRuns>

/** An active scenario and its source. */
interface SourcedRun {
  source: ScenarioSource
  run: ScenarioRun
}
/** The scenarios of one generation of a session. */
interface GenerationRuns {
  current?: SourcedRun
  /** The scenarios that single calls named. */
  named: Map<string, SourcedRun>
}

const beginIn = (session: Session, scenario: Scenario): ScenarioRun => engine().startRun(scenario, session)

/**
 * Creates the active scenarios.
 * @param sources The scenarios that the program was started with. Sessions start with the first one.
 * @throws FileError if two of them have the same name.
 */
export function createRuns(sources: readonly ScenarioSource[], rules: TimeRules) {
  rejectEqualNames(sources)
  const timeOf = scenarioTime(rules)
  /**
   * A scenario by name: from the start of the program, or a shipped one.
   * @throws ApiError 400 with all names if there is none
   */
  const find = (name: string) => sourceNamed(name, sources)
  const { sourceOf, started, of, choose } = generationRuns(sources[0], timeOf)
  let begun = sources.length > 0
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
    /** Reloads the session's scenario file, and returns the generation for a call. A changed clock needs a new generation. */
    enter(session: Session): Session {
      const source = sourceOf(session)
      if (!source) return session
      source.refresh()
      const { scenario } = source
      if (started(session)?.current?.run.scenario === scenario) return session
      const time = timeOf(scenario)
      if ((time.clock ?? session.slot.ownTime.clock) !== session.clock.kind) return session.slot.renew(time)
      const before = of(session).current
      if (before && before.run.scenario !== scenario) before.run = beginIn(session, scenario)
      return session
    },
    /** Whether any session has had a scenario. */
    get begun() {
      return begun
    },
    /** The active scenario of a session. Undefined if it has none. */
    current,
    /** Why the current scenario file of a session is not used. */
    problem: (session: Session) => of(session).current?.source.problem,
    /** Starts a scenario in a new generation of a session, with counters at 0 and the scenario's clock. */
    start(session: Session, source: ScenarioSource): ScenarioRun {
      begun = true
      const next = choose(session, source)
      return current(next) ?? beginIn(next, source.scenario)
    },
    /** Ends the scenario, in a new generation. */
    stop: (session: Session) => void choose(session, null),
    /** All runs of a session: of its own scenario, and of those that single calls named. */
    played: (session: Session) => runsOf(of(session)).map(({ run }) => run),
    /** The memory use of the scenarios of sessions. Starts no scenario. */
    sizes(sessions: readonly Session[]): { counters: CacheSize; reads: CacheSize } {
      const runs = sessions.flatMap((session) => started(session) ?? []).flatMap(runsOf)
      return {
        counters: addSizes(runs.map(({ run }) => run.counterSize())),
        reads: addSizes(runs.map(({ run }) => run.reads.size())),
      }
    },
    /** The scenario of a call: the one that its header names, or the session's. */
    ofCall(session: Session, name: string | null): ScenarioRun | undefined {
      const run = current(session)
      return name === null || run?.name === name ? run : named(session, name)
    },
    /** The time settings of a scenario. Settings that it omits are those of the session. */
    timeOf,
    find,
    /** All known scenarios. */
    all: (): Scenario[] => knownNames(sources).map((name) => find(name).scenario),
  }
}

const runsOf = ({ current, named }: GenerationRuns): SourcedRun[] => [...(current ? [current] : []), ...named.values()]

/** The scenarios of each generation. Sessions start with `first`. */
function generationRuns(first: ScenarioSource | undefined, timeOf: ReturnType<typeof scenarioTime>) {
  const runs = new WeakMap<Session, GenerationRuns>()
  // The source that was chosen for a session, for all its generations. Null for none.
  const chosen = new WeakMap<Session['slot'], ScenarioSource | null>()
  const sourceOf = ({ slot }: Session): ScenarioSource | undefined => {
    const source = chosen.get(slot)
    return source === undefined ? first : (source ?? undefined)
  }
  /** The scenarios of a generation. Starts the session's scenario if necessary. */
  const of = (session: Session): GenerationRuns =>
    runs.getOrInsertComputed(session, () => {
      const source = sourceOf(session)
      return { named: new Map(), ...(source && { current: { source, run: beginIn(session, source.scenario) } }) }
    })
  return {
    sourceOf,
    of,
    /** The scenarios of a generation, if any have started. */
    started: (session: Session) => runs.get(session),
    /** Chooses another scenario or none, in a new generation. Scenarios that single calls named continue. */
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

/** A scenario by name: from the sources, or a shipped one. */
function sourceNamed(name: string, sources: readonly ScenarioSource[]): ScenarioSource {
  for (const source of sources) source.refresh()
  const source = sources.find((one) => one.scenario.name === name)
  if (source) return source
  const shipped = files().loadShipped(name)
  if (shipped) return files().fixedSource(shipped)
  const message = `there is no scenario ${JSON.stringify(name)}; known: ${knownNames(sources).join(', ') || 'none'}`
  throw new ApiError(400, 'unknown_scenario', message, { param: 'scenario' })
}

const knownNames = (sources: readonly ScenarioSource[]): string[] => [
  ...new Set([...sources.map((one) => one.scenario.name), ...files().shippedScenarios()]),
]

function rejectEqualNames(sources: readonly ScenarioSource[]): void {
  for (const [index, { scenario }] of sources.entries()) {
    const first = sources.findIndex((other) => other.scenario.name === scenario.name)
    if (first === index) continue
    const { name, location } = scenario
    throw new FileError(
      `${location}: the scenario name ${JSON.stringify(name)} is already used in ${sources[first]?.scenario.location}`,
    )
  }
}

/** What overrides the file of a scenario. */
export interface TimeRules {
  /** Settings by flags or environment variables. */
  overrides: Partial<TimeSettings>
  /** Why sessions cannot have a virtual clock. Undefined if they can. */
  noVirtualClock?: string | undefined
  /** Prints a line about an overridden setting. */
  notice(line: string): void
}

/** The time settings of new sessions, by the configuration and the scenario that they start with. */
export function startingTime(
  settings: TimeSettings,
  scenario: Partial<TimeSettings>,
  { noVirtualClock, notice }: Pick<TimeRules, 'noVirtualClock' | 'notice'>,
): TimeSettings {
  const time = { ...settings, ...scenario }
  if (time.clock !== 'virtual' || noVirtualClock === undefined) return time
  notice(`sessions use a real clock: ${noVirtualClock}`)
  return { ...time, clock: 'real' }
}

type TimedScenario = Pick<ScenarioFile, 'name' | 'clock' | 'latency'>

/** Creates a function for the time settings of a scenario. Each overridden setting is printed once. */
function scenarioTime({ overrides, noVirtualClock, notice }: TimeRules) {
  const printed = new Set<string>()
  const print = (line: string) => {
    if (!printed.has(line)) notice(line)
    printed.add(line)
  }
  return ({ name, clock, latency }: TimedScenario): Partial<TimeSettings> => {
    const time = { ...(clock && { clock }), ...(latency && { latency }), ...overrides }
    const isVirtual = time.clock === 'virtual' && noVirtualClock === undefined
    const lines = [
      ...(clock && clock !== time.clock ? [`--clock ${time.clock} overrides 'clock: ${clock}'`] : []),
      ...(latency && latency !== time.latency && isVirtual ? [`--skip-latency overrides 'latency: ${latency}'`] : []),
    ]
    const scenario = `the scenario ${JSON.stringify(name)}`
    if (lines.length > 0) print(`${lines.join(' and ')} of ${scenario}`)
    if (overrides.latency === 'skip' && !isVirtual)
      print(`--skip-latency has no effect under ${scenario}, which runs on a real clock`)
    if (time.clock !== 'virtual' || noVirtualClock === undefined) return time
    print(`${scenario} runs on a real clock: ${noVirtualClock}`)
    return { ...time, clock: 'real' }
  }
}
