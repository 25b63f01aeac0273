// The tool that returns the date and time of the session's clock.
import type { ToolKind } from './define.ts'
import { argumentsSchema } from './schema.ts'

/** Returns the current time of the session's clock in UTC. */
export const currentDate: ToolKind = {
  types: ['current_date'],
  definitions: () => [
    {
      name: 'current_date',
      description: 'Tells the current date and time (UTC).',
      parameters: argumentsSchema({}),
    },
  ],
  async run(_, { session }) {
    const now = new Date(session.clock.now()).toISOString()
    return { result: { date: now.slice(0, 10), time: now.slice(11, 19), iso: now, timezone: 'UTC' } }
  },
}
