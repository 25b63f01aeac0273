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
  name: z.string().describe('Display name given by the call, else the operation.'),
  model: z.string().describe('The model that answered; null when none did.').nullable(),
  stream: z.boolean(),
  status: z.int().describe('The status of the answer.'),
  outcome: OutcomeKind,
  attempts: z.int().describe('Attempts at providers.'),
  waited: z.number().describe('Milliseconds that the gateway waited between them.'),
  faults: z.array(z.string()).describe('Scenario rules whose faults were injected.'),
  fixture: z.string().describe('The fixture that answered; null when none did.').nullable(),
  synthesized: z.boolean().describe('Whether no fixture matched, so that the answer was made up.'),
  cached: z.boolean().describe('Whether a stored answer was given.'),
  inner: z.boolean().describe('Whether it was made from inside, such as by an evaluator.'),
  parent: z.string().describe('The trace of the call from inside which it was made; null when none did.').nullable(),
  thread: z.string().describe('That of the request.').nullable(),
  task: z.string().nullable().describe('The task of an agent whose turn it is.'),
  tokens: z.number().nullable().describe('All tokens together.'),
  cost: z.number().describe('What it would have cost in USD at list price; null when that is not known.').nullable(),
  error: z.string().describe('Why it failed, or null.').nullable(),
})
export type CallRow = z.infer<typeof CallRow>

/** Which calls have changed, for a list that then asks for them. */
export interface CallsChanged {
  /** How many have begun since somebody watches, and have not ended. */
  under_way: number
  /** By name of the session: calls of a higher number have ended, or are gone. */
  above: Record<string, number>
}
