// Which scenario is played in which session: the one chosen for the session, and those that single calls name.
import { ApiError } from '../contract/error.ts'
import { FileError } from '../contract/source.ts'
import { lazy } from '../lib/lazy.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Scenario, ScenarioRun } from './engine.ts'
import type { ScenarioSource } from './load.ts'

// Loaded when the first scenario is asked for: calls without one need nothing of it.
const engine = lazy<typeof import('./engine.ts')>(() => require('./engine.ts'))
const files = lazy<typeof import('./load.ts')>(() => require('./load.ts'))

/** The scenarios in play. Those of files begin anew when the file changes. */
export interface ScenarioRuns {
  /** The scenario of a session, undefined when none was chosen. */
  current(session: Session): ScenarioRun | undefined
  /** Why the scenario of a session is not as its file says now. */
  problem(session: Session): string | undefined
  /** Begins a scenario in a session, with counters at nothing and on the scenario's clock. */
  start(session: Session, source: ScenarioSource): ScenarioRun
  stop(session: Session): void
  /** Begins the scenario of a session anew, and forgets what single calls have named. */
  restart(session: Session): void
  /** Every scenario that was played since: the session's, and those that single calls have named. */
  played(session: Session): ScenarioRun[]
  /** The scenario of a call: the one its header names, which counts on from call to call, else the session's. */
  ofCall(session: Session, named: string | null): ScenarioRun | undefined
  /** A scenario by name: one that was given at the start, or a shipped one; a 400 that lists all names otherwise. */
  find(name: string): ScenarioSource
}

interface Playing {
  source: ScenarioSource
  run: ScenarioRun
}
interface Played {
  current?: Playing
  named: Map<string, Playing>
}

const beginIn = (session: Session, scenario: Scenario): ScenarioRun =>
  engine().play(scenario, { seed: session.seed, session: session.name, now: session.clock.now(), calls: session.calls })

/**
 * Scenarios in play; `given` are those that the program was started with, the first of which every session begins with.
 * @throws FileError when two of them have the same name.
 */
export function createRuns(given: readonly ScenarioSource[]): ScenarioRuns {
  refuseEqualNames(given)
  const played = new WeakMap<Session, Played>()
  const begin = (session: Session, { scenario }: ScenarioSource): ScenarioRun => {
    session.useClock(scenario.clock)
    return beginIn(session, scenario)
  }
  const of = (session: Session): Played => {
    let found = played.get(session)
    if (!found) {
      const [first] = given
      found = { named: new Map(), ...(first && { current: { source: first, run: begin(session, first) } }) }
      played.set(session, found)
    }
    return found
  }
  const current = (session: Session): ScenarioRun | undefined => {
    const playing = of(session).current
    if (!playing) return undefined
    playing.source.refresh()
    if (playing.source.scenario !== playing.run.scenario) playing.run = begin(session, playing.source)
    return playing.run
  }
  const named = (session: Session, name: string): ScenarioRun => {
    const playing = of(session).named.get(name)
    playing?.source.refresh()
    if (playing && playing.source.scenario === playing.run.scenario) return playing.run
    const source = playing?.source ?? find(name)
    const run = beginIn(session, source.scenario)
    of(session).named.set(name, { source, run })
    return run
  }
  const find = (name: string): ScenarioSource => {
    for (const source of given) source.refresh()
    const source = given.find((one) => one.scenario.name === name)
    if (source) return source
    const shipped = files().loadShipped(name)
    if (shipped) return files().fixedSource(shipped)
    const names = [...new Set([...given.map((one) => one.scenario.name), ...files().shippedScenarios()])]
    throw new ApiError(
      400,
      'unknown_scenario',
      `there is no scenario ${JSON.stringify(name)}; known: ${names.join(', ') || 'none'}`,
      { param: 'scenario' },
    )
  }
  const start = (session: Session, source: ScenarioSource): ScenarioRun => {
    const run = begin(session, source)
    of(session).current = { source, run }
    return run
  }
  return {
    current,
    problem: (session) => of(session).current?.source.problem,
    start,
    stop(session) {
      delete of(session).current
      session.useClock(undefined)
    },
    restart(session) {
      const { current: playing, named: byName } = of(session)
      byName.clear()
      if (playing) start(session, playing.source)
    },
    played(session) {
      const run = current(session)
      return [...(run ? [run] : []), ...[...of(session).named.values()].map((playing) => playing.run)]
    },
    ofCall: (session, name) => {
      const run = current(session)
      return name === null || run?.name === name ? run : named(session, name)
    },
    find,
  }
}

function refuseEqualNames(given: readonly ScenarioSource[]): void {
  for (const [index, { scenario }] of given.entries()) {
    const first = given.findIndex((other) => other.scenario.name === scenario.name)
    if (first === index) continue
    const { name, place } = scenario
    throw new FileError(
      `${place}: ${given[first]?.scenario.place} has a scenario named ${JSON.stringify(name)} already`,
    )
  }
}
