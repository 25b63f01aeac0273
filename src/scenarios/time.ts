// The time settings under a scenario: those of its file, unless a flag overrides them or calls are forwarded.
import type { TimeSettings } from '../lib/clock.ts'
import type { ScenarioFile } from './schema.ts'

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
export function scenarioTime({ overrides, noVirtualClock, notice }: TimeRules) {
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
