// What was recorded and replayed: for the report of exec, and for the control API.

import { z } from 'zod'
import { describedList, describedOrNull } from './described.ts'

const count = z.int().min(0)

const Difference = z.object({
  path: z.string().describe('Path of the field.'),
  recorded: z.unknown().describe('Its recorded value; absent if it was not recorded.'),
  sent: z.unknown().describe('The value that was sent; absent if it was not sent.'),
})

const MissReport = z.object({
  operation: z.string().describe('Name of the operation.'),
  model: z.string().describe('The model with its provider.'),
  reason: z
    .enum(['no cassette', 'no interaction', 'all used', 'read on', 'not recorded'])
    .describe(
      'The session has no cassette, the request was not recorded, all its attempts are used, the client read on where the recorded one left, or the recording was truncated.',
    ),
  message: z.string().describe('The reason in a sentence.'),
  nearest: describedOrNull('The interaction that differs least; null if there is none.', {
    line: z.int().describe('Line of its document in the cassette.'),
    differences: z.array(Difference).readonly().describe('The fields that differ.'),
  }),
})

/** What was recorded and replayed in a session. */
export const SessionCassette = z.object({
  session: z.string().describe('Name of the session.'),
  cassette: z
    .string()
    .describe('Name of its cassette: the same, or `default` for the session of programs that name none.'),
  file: z.string().describe('The file of the cassette.'),
  recorded: describedOrNull('What was recorded; null if nothing was.', {
    interactions: count.describe('Interactions that were recorded.'),
    attempts: count.describe('Attempts in them.'),
    omitted: count.describe('Bytes of responses that were passed on but not recorded (`--max-recorded`).'),
    problem: z
      .string()
      .nullable()
      .describe('Why the cassette is incomplete, or an older one was kept; null otherwise.'),
  }),
  replayed: describedOrNull('What was replayed; null if nothing was.', {
    attempts: count.describe('Recorded attempts that were replayed.'),
    forwarded: count.describe('Requests without a recorded response that went to their provider (`--on-miss`).'),
    missed: count.describe('Misses: requests and reads without a recorded response.'),
    misses: z.array(MissReport).describe('The misses, at most 100.'),
    unused: describedList('Interactions of which no request used all attempts.', {
      line: z.int().describe('Line of the interaction in the cassette.'),
      operation: z.string().describe('Name of the operation.'),
      model: z.string().describe('The model with its provider.'),
      turn: z.int().describe('Turn of the conversation.'),
      attempts: count.describe('Recorded attempts.'),
      unused: count.describe('Attempts that no request used.'),
    }),
    weak: z
      .record(z.string(), count)
      .describe('Requests that matched only by `--allow`, by the kind of weak matching.'),
    volatile: z.record(z.string(), count).describe('How often each rule for volatile fields applied, by its name.'),
  }),
  redacted: describedList('What was replaced by placeholders.', {
    rule: z.string().describe('The rule that found them.'),
    kind: z.string().describe('The kind in the placeholder.'),
    count: count.describe('How often it replaced a value.'),
    values: count.describe('Number of different values.'),
  }),
  not_compared: z
    .array(z.string())
    .describe('Requests with redacted values, which were compared by their kinds alone, with the fields.'),
})

/** What was recorded and replayed. */
export const CassetteReport = z.object({
  folder: z.string().nullable().describe('The folder of the cassettes; null if nothing is recorded or replayed.'),
  graded: z
    .boolean()
    .describe('Whether a request matched only by `--allow`: the run then shows less than a run with exact matches.'),
  unmatched_paths: z
    .array(z.string())
    .describe(
      'Paths of `redact` in `understudy.yaml` that replaced nothing in what was recorded: a mistyped path protects nothing.',
    ),
  unused_cassettes: z
    .array(z.string())
    .describe(
      'Files of cassettes in the folder that no session of this run used, while cassettes are replayed. A run of a part of the tests uses a part of them.',
    ),
  sessions: z.array(SessionCassette).describe('The sessions, by name.'),
})
export type CassetteReport = z.infer<typeof CassetteReport>
/** The report where nothing is recorded or replayed. */
export const NO_CASSETTES: CassetteReport = {
  folder: null,
  graded: false,
  unmatched_paths: [],
  unused_cassettes: [],
  sessions: [],
}
export type SessionCassette = z.infer<typeof SessionCassette>
