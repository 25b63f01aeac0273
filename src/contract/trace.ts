// The record of one call, as it is stored and shown.
import { z } from 'zod'

/** How a call or an attempt ended. */
export const OutcomeKind = z.enum(['answered', 'refused', 'timed out', 'disconnected', 'unreadable', 'cancelled'])
export type OutcomeKind = z.infer<typeof OutcomeKind>

const milliseconds = z.number().describe("Milliseconds of the session's clock.")

/** One try of one target. */
export const AttemptRecord = z.object({
  target: z.string(),
  number: z.int().min(1),
  outcome: OutcomeKind,
  status: z.int(),
  first_content_ms: milliseconds.nullable(),
  duration_ms: milliseconds,
})
export type AttemptRecord = z.infer<typeof AttemptRecord>

/** Everything about a call but its request and answer, which are kept as the texts they were on the wire. */
export const TraceRecord = z.object({
  id: z.string(),
  session: z.string(),
  operation: z.string(),
  name: z.string().describe('Display name given by the call, else the operation.'),
  model: z.string().nullable(),
  stream: z.boolean(),
  status: z.int(),
  outcome: OutcomeKind,
  started_at: z.iso.datetime(),
  duration_ms: milliseconds,
  fixture: z.string().nullable().describe('The fixture that answered; null when none did.'),
  synthesized: z.boolean().describe('No fixture matched, so the answer was made up.'),
  attempts: z.array(AttemptRecord),
  usage: z.looseObject({}).nullable(),
  cost: z
    .number()
    .nullable()
    .describe('What the call would have cost in USD at list price; null when that is not known.'),
  attachments: z
    .array(z.object({ kind: z.enum(['image', 'audio', 'file']), name: z.string() }))
    .describe('Files and pictures in the request.'),
  metadata: z.looseObject({}).nullable(),
  identity: z.looseObject({}).nullable(),
  thread: z.looseObject({}).nullable(),
  error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string() }).nullable(),
})
export type TraceRecord = z.infer<typeof TraceRecord>

/** A trace with what is stored beside it. */
export const StoredTrace = TraceRecord.extend({ request: z.unknown(), answer: z.unknown() })
export type StoredTrace = z.infer<typeof StoredTrace>
