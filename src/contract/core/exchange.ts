// What the client's connection carried of a call, byte by byte: as it is shown, and as it is stored.
import { z } from 'zod'

/** How a response ended for its client. */
export const ResponseEnd = z
  .enum(['complete', 'reset', 'closed', 'garbled', 'left'])
  .describe(
    [
      'complete: to its end, as HTTP has it.',
      'reset: the connection was reset (TCP RST).',
      'closed: the connection was closed before the end of the response (TCP FIN).',
      'garbled: something that is no chunk size came, and the connection was closed.',
      'left: the client closed the connection, or read no more.',
    ].join(' '),
  )
export type ResponseEnd = z.infer<typeof ResponseEnd>

const Text = z.string().optional().describe('As text, where the bytes are valid UTF-8.')
const Base64 = z.string().optional().describe('In base64, where they are not.')

/** Some bytes: `text` or `base64`. */
export const Bytes = z.object({ text: Text, base64: Base64 })
export type Bytes = z.infer<typeof Bytes>

/** Bytes that were sent at one time. */
export const SentPiece = Bytes.extend({
  at_ms: z.number().nullable().describe('Milliseconds from the start of the call; null when that was not kept.'),
})
export type SentPiece = z.infer<typeof SentPiece>

const Headers = z
  .record(z.string(), z.string())
  .nullable()
  .describe('Without secrets; null where they were not kept, as of most of very many calls.')

/** What the client's connection carried of a call. */
export const Exchange = z.object({
  object: z.literal('exchange'),
  request: z
    .object({
      method: z.string().describe('`POST`.'),
      address: z.string().describe('Path and query as they were called, secrets masked.'),
      headers: Headers,
      body: Bytes.describe('As it came, valid or not.'),
      bytes: z.int().describe('Length of the whole body.'),
      truncated: z.boolean().describe('Only the beginning of the body was kept.'),
    })
    .nullable()
    .describe('As it came; null where nothing was kept.'),
  response: z
    .object({
      status: z.int().describe('The status that was sent.'),
      headers: Headers.describe(
        'Those of the call; what every answer of the server gets, such as `date`, is added behind.',
      ),
      body: z
        .array(SentPiece)
        .nullable()
        .describe(
          'As it was sent; null where it was not kept, as of most streams of fixtures when very many calls come.',
        ),
      bytes: z.int().nullable().describe('Bytes of the body that were sent; null where that was not kept.'),
      truncated: z.boolean().describe('Only the beginning of what was sent was kept.'),
    })
    .nullable()
    .describe('As it was sent; null when not one byte was, or nothing was kept.'),
  ended: ResponseEnd.nullable().describe('How it ended; null when that was not kept.'),
})
export type Exchange = z.infer<typeof Exchange>
