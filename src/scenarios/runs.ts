// Which scenario is played in which session: the one chosen for the session, and those that single calls name.
import { ApiError } from '../contract/error.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Run, Scenario } from './engine.ts'

// Loaded when the first scenario is asked for: calls without one need nothing of it.
const engine = () => require('./engine.ts') as typeof import('./engine.ts')
const files = () => require('./load.ts') as typeof import('./load.ts')

/** The scenarios in play. */
export interface Runs {
  /** The scenario of a session, undefined when none was chosen. */
  current(session: Session): Run | undefined
  /** Begins a scenario in a session, with counters at nothing. */
  start(session: Session, scenario: Scenario): Run
  stop(session: Session): void
  /** The scenario of a call: the one its header names, which counts on from call to call, else the session's. */
  ofCall(session: Session, named: string | null): Run | undefined
  /** A scenario by name: one that was given at the start, or a shipped one; a 400 that lists all names otherwise. */
  find(name: string): Scenario
}

interface Played {
  current?: Run
  named: Map<string, Run>
}

/** Scenarios in play; `given` are those that the program was started with, the first of which every session begins with. */
export function createRuns(given: readonly Scenario[]): Runs {
  const played = new WeakMap<Session, Played>()
  const begin = (session: Session, scenario: Scenario) =>
    engine().play(scenario, { seed: session.seed, session: session.name, now: session.clock.now() })
  const of = (session: Session): Played => {
    let found = played.get(session)
    if (!found) {
      found = { named: new Map(), ...(given[0] && { current: begin(session, given[0]) }) }
      played.set(session, found)
    }
    return found
  }
  const find = (name: string): Scenario => {
    const scenario = given.find((one) => one.name === name) ?? files().loadShipped(name)
    if (scenario) return scenario
    const names = [...new Set([...given.map((one) => one.name), ...files().shippedScenarios()])]
    throw new ApiError(
      400,
      'unknown_scenario',
      `there is no scenario ${JSON.stringify(name)}; known: ${names.join(', ') || 'none'}`,
      { param: 'scenario' },
    )
  }
  return {
    current: (session) => of(session).current,
    start(session, scenario) {
      const run = begin(session, scenario)
      of(session).current = run
      return run
    },
    stop(session) {
      delete of(session).current
    },
    ofCall(session, named) {
      const { current, named: byName } = of(session)
      if (named === null) return current
      if (current?.name === named) return current
      let run = byName.get(named)
      if (!run) {
        run = begin(session, find(named))
        byName.set(named, run)
      }
      return run
    },
    find,
  }
}
