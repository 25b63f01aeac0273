// How time passes in sessions, as the settings have it.
import type { Config } from '../config.ts'
import type { TimeSettings } from '../lib/clock.ts'
import type { TimeRules } from '../scenarios/time.ts'
import { virtualClockProblem } from './providers.ts'

/** How time passes where no scenario says otherwise. */
export const ownTime = ({ clock, skip_latency: skips }: Config): TimeSettings => ({
  clock,
  latency: skips ? 'skip' : 'real',
})

/** What is stronger than what scenarios say. */
export const timeRules = (
  { timeOverrides, forwarding }: Config,
  notice: TimeRules['notice'] = () => {},
): TimeRules => ({
  overrides: timeOverrides,
  noVirtualClock: virtualClockProblem(forwarding),
  notice,
})
