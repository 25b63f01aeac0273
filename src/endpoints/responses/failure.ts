// A stream that fails after it has begun: `error` for clients that stop at it, then the response as far as it came.
import { type ApiError, errorType } from '../../contract/error.ts'
import type { ModelResponse, ResponseEvent } from '../../contract/responses-answer.ts'
import type { StreamEvent } from '../../lib/sse.ts'
import { assemble } from './assemble.ts'

/** The events that end a failed stream. The `error` inside the first is what makes the OpenAI SDK throw. */
export function failed({ status, code, message, param }: ApiError, sent: readonly StreamEvent[]): StreamEvent[] {
  const said = { code, message, param }
  const event = (data: ResponseEvent): StreamEvent => ({ event: data.type, data })
  const number = sent.length
  const error = event({
    type: 'error',
    sequence_number: number,
    ...said,
    error: { type: errorType(status), ...said },
  })
  const response = assemble(sent) as Partial<ModelResponse>
  // Nothing came before: there is no response that could have failed.
  if (response.id === undefined) return [error]
  const ended = { ...(response as ModelResponse), status: 'failed' as const, error: { code, message } }
  return [error, event({ type: 'response.failed', sequence_number: number + 1, response: ended })]
}
