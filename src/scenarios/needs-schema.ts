// What a program under test must do for a conclusive verdict.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'

/** The needs of a scenario. A run that does not meet them is inconclusive. */
export const Needs = z
  .strictObject({
    calls: z.int().min(2).optional().describe('At least this many calls in a session.'),
    elapsed: Duration.optional().describe("At least this much time on the session's clock, up to its last call."),
    stream: z.literal(true).optional().describe('At least one streamed call.'),
    agent: z.literal(true).optional().describe('At least one agent task.'),
    gateway: z
      .literal(true)
      .optional()
      .describe('At least one call through the gateway: with an option such as `retry` or `fallbacks` in its body.'),
  })
  .refine((needs) => Object.values(needs).some((need) => need !== undefined), {
    error: 'must contain at least one of calls, elapsed, stream, agent, gateway',
  })
  .describe(
    'Calls that the program under test must make for a conclusive verdict. Without them, the verdict is inconclusive.',
  )
