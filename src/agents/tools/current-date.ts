// The tool that returns the date and time of the session's clock.
import { builtInTool } from './define.ts'

/** Returns the current time of the session's clock in UTC. */
export const currentDate = builtInTool({
  type: 'current_date',
  description: 'Tells the current date and time (UTC).',
  async run(_, { session }) {
    const now = new Date(session.clock.now()).toISOString()
    return { result: { date: now.slice(0, 10), time: now.slice(11, 19), iso: now, timezone: 'UTC' } }
  },
})
