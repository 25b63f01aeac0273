// A call as one row of a list, which shows thousands at a time.
import { z } from 'zod'
import { OutcomeKind } from './outcome-kind.ts'

/** Summary of a call. */
export const CallRow = z.object({
  seq: z.int().describe('Sequence number in the session.'),
  id: z.string().describe('Id of the trace.'),
  session: z.string(),
  arrived: z.number().describe('Arrival time in ms since the Unix epoch, by the system clock. 0 if not known.'),
  started: z.number().describe("Start time in ms since the Unix epoch, by the session's clock."),
  duration: z.number().describe("Milliseconds of the session's clock."),
  operation: z.string(),
  name: z.string().describe('Display name from the request, or the operation.'),
  prompt: z
    .string()
    .nullable()
    .describe('The first words of the prompt: at most 120 characters, on one line. Null if none.'),
  requested_model: z
    .string()
    .nullable()
    .describe('The model as the request names it, or the first planned target if it names none. Null if neither.'),
  model: z.string().describe('The model that responded, or null.').nullable(),
  stream: z.boolean(),
  status: z.int().describe('Response status.'),
  outcome: OutcomeKind,
  attempts: z.int().describe('Number of attempts.'),
  waited: z.number().describe('Total wait of the gateway between attempts, in milliseconds.'),
  faults: z.array(z.string()).describe('Scenario rules whose faults were injected.'),
  fixture: z.string().describe('The matched fixture, or null.').nullable(),
  generated: z.boolean().describe('Whether no fixture matched, so that the response was generated.'),
  cached: z.boolean().describe('Whether the response came from the cache.'),
  internal: z.boolean().describe('Whether the call is internal, such as one made by an evaluator.'),
  parent: z.string().describe('The trace of the parent call, or null.').nullable(),
  thread: z.string().describe('Id of the request.').nullable(),
  task: z.string().nullable().describe('The agent task whose turn this call is.'),
  tokens: z.number().nullable().describe('Total number of tokens.'),
  cost: z.number().describe('Estimated cost in USD at list price. Null if not known.').nullable(),
  error: z.string().describe('Why it failed, or null.').nullable(),
})
export type CallRow = z.infer<typeof CallRow>

/** Notification that calls have changed, after which a list requests them. */
export interface CallsChanged {
  /** Number of calls in progress that began after the observer was added. */
  under_way: number
  /** By session name: calls with a higher number have ended, or are gone. */
  above: Record<string, number>
}
