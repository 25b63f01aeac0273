// A call as one row of a list: what is shown of thousands at a time.
import { z } from 'zod'
import { OutcomeKind } from './trace.ts'

/** One call in brief. */
export const CallRow = z.object({
  seq: z.int().describe('Its number in its session.'),
  id: z.string().describe('Id of its trace.'),
  session: z.string(),
  arrived: z.number().describe("When it came, in ms since the epoch by the machine's clock; 0 when that is not known."),
  started: z.number().describe("When it began, in ms since the epoch by the session's clock."),
  duration: z.number().describe("Milliseconds of the session's clock."),
  operation: z.string(),
  name: z.string(),
  model: z.string().nullable(),
  stream: z.boolean(),
  status: z.int(),
  outcome: OutcomeKind,
  attempts: z.int().describe('Attempts at providers.'),
  waited: z.number().describe('Milliseconds that the gateway waited between them.'),
  faults: z.array(z.string()).describe('Rules of the scenario whose faults have acted.'),
  fixture: z.string().nullable(),
  synthesized: z.boolean(),
  cached: z.boolean(),
  inner: z.boolean(),
  parent: z.string().nullable(),
  thread: z.string().nullable(),
  task: z.string().nullable().describe('The task of an agent whose turn it is.'),
  tokens: z.number().nullable().describe('All tokens together.'),
  cost: z.number().nullable(),
  error: z.string().nullable(),
})
export type CallRow = z.infer<typeof CallRow>

/** Which calls have changed, for a list that then asks for them. */
export interface CallsChanged {
  /** How many have begun since somebody watches, and have not ended. */
  under_way: number
  /** By name of the session: calls of a higher number have ended, or are gone. */
  above: Record<string, number>
}
