// unknown-finish-reason: the finish reason does not exist in the API.

import { z } from 'zod'
import { changeJson, endedAs } from './change.ts'
import { defineFault } from './define.ts'
import { eventText } from './wire.ts'

/** Tests how a client handles a finish reason that it does not know. */
export const unknownFinishReason = defineFault({
  type: 'unknown-finish-reason',
  summary: 'The response ends with a finish reason that clients do not know.',
  inAnswer: true,
  options: {
    reason: z
      .string()
      .min(1)
      .default('unknown')
      .describe(
        'The reason: `finish_reason` of a chat completion, `stop_reason` of an Anthropic message, `incomplete_details.reason` of a response.',
      ),
  },
  apply: ({ reason }, next, context) =>
    changeJson(next, context, {
      whole: (answer) => endedAs(answer, reason),
      async *stream(blocks) {
        for await (const { data, bytes } of blocks) {
          const ended = data && endedAs(data, reason)
          if (ended) context.triggered()
          yield ended ? eventText(ended) : bytes
        }
      },
      reason: 'the response has no finish reason',
    }),
})
