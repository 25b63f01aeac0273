// The time settings of sessions.
import type { Config } from '../config.ts'
import type { TimeSettings } from '../lib/clock.ts'
import type { TimeRules } from '../scenarios/runs.ts'
import { virtualClockProblem } from './providers.ts'

/** The time settings without a scenario. */
export const ownTime = ({ clock, skip_latency: skips }: Config): TimeSettings => ({
  clock,
  latency: skips ? 'skip' : 'real',
})

/** The time settings that take precedence over those of scenarios. */
export const timeRules = (
  { timeOverrides, forwarding }: Config,
  notice: TimeRules['notice'] = () => {},
): TimeRules => ({
  overrides: timeOverrides,
  noVirtualClock: virtualClockProblem(forwarding),
  notice,
})
