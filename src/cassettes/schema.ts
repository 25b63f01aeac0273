// The format of a cassette, version 1: a header, then one document for each interaction.
import { z } from 'zod'
import { CASSETTE_FORMAT } from '../contract/core/cassette.ts'
import { VolatileRuleSchema } from '../contract/core/volatile-rule-schema.ts'

/** The first document of a cassette. */
export const HeaderSchema = z.strictObject({
  cassette: z.literal(CASSETTE_FORMAT).describe('Version of the file format.'),
  session: z.string().describe('Name of the session whose calls are recorded.'),
  state: z
    .enum(['incomplete', 'complete'])
    .describe('`incomplete` until the run that recorded it has ended. An incomplete cassette is not replayed.'),
  recorded: z.string().describe('Day of the recording, such as `2026-11-26`.'),
  understudy: z.string().describe('Version of Understudy that recorded it.'),
  volatile: z
    .array(VolatileRuleSchema)
    .default([])
    .describe('The rules for fields that change from run to run and are not compared.'),
  redact: z
    .array(z.string())
    .default([])
    .describe('Paths whose values were replaced, besides what is always replaced.'),
})

const TIME = "must be a number of milliseconds, such as '120ms'"
const time = z.string({ error: TIME }).regex(/^\d{1,15}ms$/, { message: TIME })
const checksum = z.string().regex(/^[0-9a-f]{64}$/, { message: 'must be a SHA-256 checksum, 64 hexadecimal digits' })

const FormFieldSchema = z.union([
  z.strictObject({ name: z.string(), value: z.string().describe('A text.') }),
  z.strictObject({
    name: z.string(),
    file: z.string().describe('Name of a file.'),
    type: z.string().describe('Its content type.'),
    size: z.int().min(0).describe('Its size in bytes.'),
    sha256: checksum.describe('SHA-256 of its content.'),
  }),
])

const name = z.string().min(1, { message: 'must not be empty' })

const RequestSchema = z.strictObject({
  provider: name,
  operation: name.describe('Name of the operation, such as `chat.completions`.'),
  model: name.describe('Name of the model at its provider.'),
  path: z.string().describe('Path and query at the provider; not compared.'),
  headers: z.record(z.string(), z.string()).default({}).describe('The headers that change what the request means.'),
  repeats: z
    .record(
      z.string(),
      z.string().regex(/^(?:same as|first [1-9]\d{0,8} of) \S+$/, {
        message: "must be 'same as ID' or 'first N of ID', with the id of an interaction above",
      }),
    )
    .optional()
    .describe(
      'Fields of the body that repeat those of an interaction above: `same as ID`, or `first N of ID` for the first items of a list; further items are in the body.',
    ),
  body: z.unknown().optional().describe('JSON body.'),
  json: z.string().optional().describe('JSON body, as JSON because it is very large or deep.'),
  form: z.array(FormFieldSchema).optional().describe('Fields of a form.'),
  text: z.string().optional().describe('Any other body.'),
})

const AttemptSchema = z.strictObject({
  status: z.int().min(100).max(999).optional().describe('HTTP status. Absent if no response was received.'),
  headers: z
    .array(z.record(z.string(), z.string()))
    .optional()
    .describe('Headers in the order received, each as `name: value`.'),
  at: time.optional().describe('Time from the request to the headers.'),
  frames: z
    .string()
    .optional()
    .describe(
      'Body of a stream of events, as `+120ms data: ...`. A frame ends with a blank line, unless it ends with a backslash. With `blob`: times and sizes.',
    ),
  body: z.string().optional().describe('Any other body, as `+120ms ...`; other lines begin with two spaces.'),
  blob: checksum
    .optional()
    .describe('Binary body: the name of a file in `blobs/`, which is the SHA-256 of its content.'),
  omitted: z.int().min(0).optional().describe('Bytes of the body that were not recorded, because it is too large.'),
  end: z
    .enum(['complete', 'cut by provider', 'reset', 'timed out', 'left by client'])
    .describe('How the attempt ended.'),
  reason: z
    .string()
    .optional()
    .describe('Code of the connection error, such as `ECONNREFUSED`; absent for a closed connection.'),
  ended: time.describe('Time from the request to the end.'),
})

/** Each further document of a cassette. */
export const InteractionSchema = z.strictObject({
  id: z.string().regex(/^\S+$/).describe('Names the interaction for those that repeat a part of it.'),
  turn: z.int().min(1).describe('Number of the turn in its conversation.'),
  request: RequestSchema,
  attempts: z.array(AttemptSchema).min(1).describe('The responses to the request and to its retries.'),
})

/** A document of a cassette, for editors. */
export const CassetteDocument = z.union([HeaderSchema, InteractionSchema])

/** The parsed form of an interaction. */
export type InteractionDocument = z.infer<typeof InteractionSchema>
/** The parsed form of an attempt. */
export type AttemptDocument = z.infer<typeof AttemptSchema>
