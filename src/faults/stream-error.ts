// stream-error: an error event replaces the rest of a stream.
import type { z } from 'zod'
import type { FaultContext } from '../contract/core/fault.ts'
import { type EventData, encodeEvent, eventOfType, type StreamEvent } from '../lib/sse.ts'
import { changeAt } from './change.ts'
import { defineFault } from './define.ts'
import {
  errorShape,
  type errorStatus,
  ownError,
  problemOf,
  type RefusalOptions,
  streamErrorOptions,
} from './refusal.ts'

/** Tests that a client notices an error event in a stream whose status was 200. */
export const streamError = defineFault({
  type: 'stream-error',
  summary: 'An error event replaces the rest of a stream.',
  options: streamErrorOptions,
  example: { after_chunks: 6, status: 503 },
  apply: ({ status, ...options }, next, context) =>
    changeAt(next, context, {
      ...options,
      async *change(_, { sent }) {
        context.triggered()
        for (const event of errorEvents(context, status, { ...options, sent })) yield encodeEvent(event)
      },
    }),
})

/** The error events of the operation, or else an event with the error body. */
function errorEvents(
  context: FaultContext,
  status: z.infer<typeof errorStatus>,
  { sent, ...options }: RefusalOptions & { sent: readonly EventData[] },
): StreamEvent[] {
  const about = problemOf(status)
  const own = context.operation.events?.failed?.(ownError(context, about, options), sent)
  return own ?? [eventOfType(errorShape(context, about, options).body)]
}
