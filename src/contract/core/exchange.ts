// The wire data of a call as it is shown.
import { z } from 'zod'
import { describedOrNull } from './described.ts'

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

const Text = z.string().optional().describe('The bytes as text, if they are valid UTF-8.')
const Base64 = z.string().optional().describe('The bytes in base64, if they are not valid UTF-8.')

/** Bytes, as `text` or `base64`. */
export const Bytes = z.object({ text: Text, base64: Base64 })
export type Bytes = z.infer<typeof Bytes>

/** Bytes that were sent at one time. */
export const SentChunk = Bytes.extend({
  at_ms: z.number().nullable().describe('Milliseconds from the start of the call. Null if not stored.'),
})
export type SentChunk = z.infer<typeof SentChunk>

const Headers = z
  .record(z.string(), z.string())
  .nullable()
  .describe('Headers without secrets. Null if not stored; under heavy load, most are not.')

/** The wire data of a call. */
export const Exchange = z.object({
  object: z.literal('exchange'),
  request: describedOrNull('The request as received. Null if not stored.', {
    method: z.string().describe('`POST`.'),
    address: z.string().describe('Path and query as received. Secrets are masked.'),
    headers: Headers,
    body: Bytes.describe('The body as received, valid or not.'),
    bytes: z.int().describe('Length of the full body in bytes.'),
    truncated: z.boolean().describe('Whether only the beginning of the body was stored.'),
  }),
  response: describedOrNull('The response as sent. Null if no byte was sent or nothing was stored.', {
    status: z.int().describe('The status that was sent.'),
    headers: Headers.describe('Headers set for this call. Headers of every response, such as `date`, follow.'),
    body: z
      .array(SentChunk)
      .nullable()
      .describe('The body as sent. Null if not stored; under heavy load, most fixture streams are not.'),
    bytes: z.int().nullable().describe('Number of body bytes sent. Null if not stored.'),
    truncated: z.boolean().describe('Whether only the beginning of the body was stored.'),
  }),
  ended: ResponseEnd.nullable().describe('How the connection ended. Null if not stored.'),
})
export type Exchange = z.infer<typeof Exchange>
