// Which scenario is played in which session: the one chosen for the session, and those that single calls name.
import { ApiError } from '../contract/error.ts'
import { FileError } from '../contract/source.ts'
import { addSizes, type CacheSize } from '../lib/byte-cache.ts'
import { lazy } from '../lib/lazy.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Scenario, ScenarioRun } from './engine.ts'
import type { ScenarioSource } from './load.ts'

// Loaded when the first scenario is asked for: calls without one need nothing of it.
const engine = lazy<typeof import('./engine.ts')>(() => require('./engine.ts'))
const files = lazy<typeof import('./load.ts')>(() => require('./load.ts'))

/** The scenarios in play: each belongs to one generation of its session. Those of files begin anew when the file changes. */
export interface ScenarioRuns {
  /** The generation of a session that a call begins in, after what became of its scenario file and of the clock that this wants. */
  enter(session: Session): Session
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
  // What was chosen for a session through all its generations; null for none.
  const chosen = new WeakMap<Session['slot'], ScenarioSource | null>()
  const sourceOf = ({ slot }: Session): ScenarioSource | undefined => {
    const source = chosen.get(slot)
    return source === undefined ? given[0] : (source ?? undefined)
  }
  const of = (session: Session): Played => {
    let found = played.get(session)
    if (!found) {
      const source = sourceOf(session)
      found = { named: new Map(), ...(source && { current: { source, run: beginIn(session, source.scenario) } }) }
      played.set(session, found)
    }
    return found
  }
  const current = (session: Session): ScenarioRun | undefined => of(session).current?.run
  const enter = (session: Session): Session => {
    const source = sourceOf(session)
    if (!source) return session
    source.refresh()
    const { scenario } = source
    if (played.get(session)?.current?.run.scenario === scenario) return session
    const kind = scenario.clock ?? session.slot.ownClock
    if (kind !== session.clock.kind) return session.slot.renew(kind)
    const playing = of(session).current
    if (playing && playing.run.scenario !== scenario) playing.run = beginIn(session, scenario)
    return session
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
  const find = (name: string) => sourceNamed(name, given)
  /** What single calls have named goes on. */
  const change = ({ slot }: Session, source: ScenarioSource | null): Session => {
    const { named: byName } = of(slot.current)
    const next = slot.renew(source?.scenario.clock)
    chosen.set(slot, source)
    played.delete(next)
    for (const [name, playing] of byName) of(next).named.set(name, playing)
    return next
  }
  return {
    enter,
    current,
    problem: (session) => of(session).current?.source.problem,
    start(session, source) {
      const next = change(session, source)
      return current(next) ?? beginIn(next, source.scenario)
    },
    stop: (session) => void change(session, null),
    played(session) {
      const run = current(session)
      return [...(run ? [run] : []), ...[...of(session).named.values()].map((playing) => playing.run)]
    },
    sizes(sessions) {
      const known = sessions.flatMap((session) => played.get(session) ?? [])
      const all = known.flatMap(({ current: chosen, named }) => [...(chosen ? [chosen] : []), ...named.values()])
      return {
        counters: addSizes(all.map(({ run }) => run.counterSize())),
        reads: addSizes(all.map(({ run }) => run.reads.size())),
      }
    },
    ofCall: (session, name) => {
      const run = current(session)
      return name === null || run?.name === name ? run : named(session, name)
    },
    find,
  }
}

/** A scenario by name: one of those given, or a shipped one; a 400 that lists all names otherwise. */
function sourceNamed(name: string, given: readonly ScenarioSource[]): ScenarioSource {
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
