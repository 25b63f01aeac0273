// What a scenario needs of the program under test before its verdict can prove anything.
import { z } from 'zod'
import { Duration } from '../contract/duration.ts'

/** Options of a request that only a gateway acts on. */
export const GATEWAY_OPTIONS = [
  'retry',
  'fallbacks',
  'load_balancer',
  'cache',
  'timeout',
  'guardrails',
  'knowledge_bases',
] as const

/** What a run needs; one that lacks any of it is inconclusive. */
export const Needs = z
  .strictObject({
    calls: z.int().min(2).optional().describe('At least this many calls in a session.'),
    elapsed: Duration.optional().describe("At least this much time on the session's clock, up to its last call."),
    stream: z.literal(true).optional().describe('At least one streamed call.'),
    agent: z.literal(true).optional().describe('At least one task of an agent.'),
    gateway: z
      .array(z.enum(GATEWAY_OPTIONS))
      .min(1)
      .optional()
      .describe('At least one call with these gateway options in its body.'),
  })
  .refine((needs) => Object.values(needs).some((need) => need !== undefined), {
    error: 'must name at least one of calls, elapsed, stream, agent, gateway',
  })
  .describe(
    'What the program under test must do, so that the scenario can prove anything. Without it, the verdict is inconclusive.',
  )
export type Needs = z.infer<typeof Needs>
