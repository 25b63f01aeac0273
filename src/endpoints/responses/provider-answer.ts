// How a response is read when a provider made it, told again when the cache has it, and told of when it breaks off.
import type { envelope } from '../../contract/error.ts'
import type { AnswerContext, RenderedAnswer, StreamRules } from '../../contract/operation.ts'
import type { ResponsesRequest } from '../../contract/responses.ts'
import type { ModelResponse, OutputItem, ResponseEvent } from '../../contract/responses-answer.ts'
import type { StreamEvent } from '../../lib/sse.ts'
import { assembleResponse } from './assemble.ts'
import { itemId, responseId } from './conversation.ts'
import { eventsOf } from './events.ts'
import { isMessage, isResult, itemText, ownItems } from './items.ts'

type Fields = Record<string, unknown>
const typeOf = (data: unknown): string => String((data as Fields).type)

/** What a stream of response events must be like. */
export const responseEvents: StreamRules = {
  wrongWith: (data) => (typeof data.type === 'string' ? undefined : "it has no 'type'"),
  hasContent: (data) => /\.delta$/.test(typeOf(data)) || data.type === 'response.output_item.done',
  complete: (events) => events.some(({ data }) => /^response\.(completed|incomplete)$/.test(typeOf(data))),
  failureIn(data) {
    if (data.type === 'response.failed') return data.response
    return data.type === 'error' || data.error !== undefined ? data : undefined
  },
  failed,
}

// The `error` inside the first event is what makes the OpenAI SDK throw; the second is the response as far as it came.
function failed({ error }: ReturnType<typeof envelope>, sent: readonly StreamEvent[]): StreamEvent[] {
  const event = (data: ResponseEvent): StreamEvent => ({ event: data.type, data })
  const { code, message, param } = error
  const number = sent.length
  const first = event({ type: 'error', sequence_number: number, code, message, param, error })
  const response = assembleResponse(sent) as Partial<ModelResponse>
  // A provider's stream may begin without one.
  if (response.id === undefined) return [first]
  const ended = { ...(response as ModelResponse), status: 'failed' as const, error: { code, message } }
  return [first, event({ type: 'response.failed', sequence_number: number + 1, response: ended })]
}

/** Why a whole answer is none: without items, or not finished although nobody asked for it to be made in the background. */
export function responseProblem({ output, status, background }: Fields): string | undefined {
  if (!Array.isArray(output)) return "it has no 'output'"
  return status === 'in_progress' && background !== true ? "its status is 'in_progress'" : undefined
}

/** A stored answer under new ids and with the metadata of this call, whole or as events. */
export function replayResponse(
  request: ResponsesRequest,
  stored: object,
  answerContext: AnswerContext,
): Pick<RenderedAnswer, 'body' | 'events'> {
  const response = stored as ModelResponse
  const renamed = (item: OutputItem, index: number): OutputItem => {
    const [prefix = ''] = item.id.split('_')
    return { ...item, id: itemId(prefix, answerContext.id, index) }
  }
  const told: ModelResponse = {
    ...response,
    id: responseId(answerContext.id),
    created_at: Math.floor(answerContext.now / 1000),
    output: response.output.map(renamed),
    metadata: request.metadata ?? {},
  }
  return { body: () => told, events: () => eventsOf(told) }
}

/** What the user says in this call, results of tools included. */
export const responsesInputTexts = (request: ResponsesRequest): string[] =>
  ownItems(request).flatMap((item) => {
    if (isMessage(item)) return item.role === 'user' ? [itemText(item.content)] : []
    return isResult(item) ? [itemText(item.output)] : []
  })

/** What the model says, arguments of calls included. */
export const responsesOutputTexts = (answer: object): string[] =>
  (answer as ModelResponse).output.flatMap((item) => {
    if (item.type === 'function_call') return [item.arguments]
    if (item.type === 'custom_tool_call') return [item.input]
    if (item.type !== 'message') return []
    return item.content.map((part) => (part.type === 'refusal' ? part.refusal : part.text))
  })

/** The request with a system message of what was found before all others. */
export const addResponsesContext = (request: ResponsesRequest, context: string): ResponsesRequest => ({
  ...request,
  input: [{ role: 'system', content: `Use this context to answer:\n\n${context}` }, ...ownItems(request)],
})
