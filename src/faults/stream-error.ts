// stream-error: the provider, or the gateway, reports a failure in the middle of a stream.
import { z } from 'zod'
import { envelope } from '../contract/error.ts'
import type { FaultContext } from '../contract/fault.ts'
import type { StreamEvent } from '../lib/sse.ts'
import { encodeEvent } from '../lib/sse.ts'
import { changeAt, PLACE } from './change.ts'
import { defineFault } from './define.ts'

export const streamError = defineFault({
  type: 'stream-error',
  summary: 'An error event takes the place of the rest of a stream.',
  points: ['provider', 'gateway'],
  options: {
    ...PLACE,
    status: z.int().min(400).max(599).default(500).describe('The status that the error names.'),
    code: z.string().default('server_error'),
    message: z.string().default('The server had an error while it answered.'),
  },
  example: { after_chunks: 6, status: 503, code: 'overloaded', message: 'The model is overloaded.' },
  apply: (options, next, context) =>
    changeAt(next, context, {
      ...options,
      async *change(_, { sent }) {
        for (const event of errorEvents(options, context, sent)) yield encodeEvent(event)
      },
    }),
})

type Told = Pick<Parameters<typeof envelope>[0], 'status' | 'code' | 'message'>

/** The error in the form of the API that is heard: the operation's own events, or one with the envelope or body of an error. */
function errorEvents(told: Told, { at, operation }: FaultContext, sent: readonly StreamEvent[]): StreamEvent[] {
  const own = envelope({ ...told, param: null })
  const events = operation.events?.failed?.(own, sent)
  return events ?? [{ data: at === 'gateway' ? own : { error: { ...own.error, status_code: told.status } } }]
}
