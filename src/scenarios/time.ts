// How time passes under a scenario: as its file says, unless a flag says otherwise or calls are forwarded.
import type { TimeSettings } from '../lib/clock.ts'
import type { ScenarioFile } from './schema.ts'

/** What is stronger than the file of a scenario. */
export interface TimeRules {
  /** What flags or variables say. */
  overrides: Partial<TimeSettings>
  /** Why no session can have a virtual clock; undefined when each can. */
  noVirtualClock?: string | undefined
  /** Prints a line about what is not as the file says. */
  notice(line: string): void
}

/** How time passes in sessions, given what the settings say and what the scenario says that each begins with. */
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

/** How time passes under a scenario; what it leaves out is as the session has it. What a file says in vain is printed once. */
export function scenarioTime({ overrides, noVirtualClock, notice }: TimeRules) {
  const printed = new Set<string>()
  const print = (line: string) => {
    if (!printed.has(line)) notice(line)
    printed.add(line)
  }
  return ({ name, clock, latency }: TimedScenario): Partial<TimeSettings> => {
    const time = { ...(clock && { clock }), ...(latency && { latency }), ...overrides }
    const lines = [
      ...(clock && clock !== time.clock ? [`--clock ${time.clock} overrides 'clock: ${clock}'`] : []),
      ...(latency && latency !== time.latency ? [`--skip-latency overrides 'latency: ${latency}'`] : []),
    ]
    if (lines.length > 0) print(`${lines.join(' and ')} of the scenario ${JSON.stringify(name)}`)
    if (time.clock !== 'virtual' || noVirtualClock === undefined) return time
    print(`the scenario ${JSON.stringify(name)} runs on a real clock: ${noVirtualClock}`)
    return { ...time, clock: 'real' }
  }
}
