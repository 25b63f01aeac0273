// A streamed answer, event by event, as the control API shows it.
import { z } from 'zod'

/** One event of a stream as it was sent. */
export const SentEvent = z.object({
  at_ms: z.number().nullable().describe('Milliseconds from the start of the call; null when that was not kept.'),
  text: z.string().describe('The event as it was on the wire, without the blank line behind it.'),
})
export type SentEvent = z.infer<typeof SentEvent>

/** A streamed answer, event by event. */
export const SentEvents = z.object({
  object: z.literal('list'),
  source: z
    .enum(['kept', 'answer', 'none'])
    .describe(
      'Where the events are from: `kept` as they were sent, made again from the `answer` by what made them, or `none` when they are not known any more.',
    ),
  count: z.int().min(0).describe('Events that were sent as part of the answer; `data` may have fewer.'),
  data: z.array(SentEvent),
})
export type SentEvents = z.infer<typeof SentEvents>
