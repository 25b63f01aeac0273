// unknown-finish-reason: the answer ends for a reason that the API does not have.
import { z } from 'zod'
import { asObject, parsedJson } from '../lib/values.ts'
import { endedAs } from './answer-end.ts'
import { changeStream, changeWhole } from './change.ts'
import { defineFault } from './define.ts'
import { eventText } from './wire.ts'

const NONE = 'the response has no finish reason'

/** Tests how a client handles a finish reason that it does not know. */
export const unknownFinishReason = defineFault({
  type: 'unknown-finish-reason',
  summary: 'The response ends with a finish reason that clients do not know.',
  points: ['provider', 'gateway'],
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
  example: {},
  apply({ reason }, next, context) {
    if (!context.stream)
      return changeWhole(next, context, (text) => {
        const ended = endedAs(asObject(parsedJson(text)) ?? {}, reason)
        if (!ended) context.skipped(NONE)
        return ended && JSON.stringify(ended)
      })
    const change = async function* (blocks: Parameters<Parameters<typeof changeStream>[2]>[0]) {
      for await (const { data, text } of blocks) {
        const ended = data && endedAs(data, reason)
        if (ended) context.triggered()
        yield ended ? eventText(ended) : text
      }
    }
    return changeStream(next, context, change, NONE)
  },
})
