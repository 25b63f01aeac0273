// Reads a provider's response, replays one from the cache, and reports failures in a stream.
import { type TextAnswerFields, textScriptOf } from '../../answers/script-of.ts'
import { type AnswerAssembly, assembled } from '../../contract/core/assembly.ts'
import type { envelope } from '../../contract/core/error.ts'
import type { AnswerContext, RenderedAnswer, StreamRules } from '../../contract/core/operation.ts'
import type { ResponsesRequest } from '../../contract/router/responses.ts'
import type { ModelResponse, OutputItem, ResponseEvent } from '../../contract/router/responses-answer.ts'
import type { TextScript } from '../../contract/router/script.ts'
import { dataEvent, type EventData, type StreamEvent } from '../../lib/sse.ts'
import { asObject, asText } from '../../lib/values.ts'
import { eventsOf, outputText } from './answer.ts'
import { isMessage, isResult, itemId, itemText, ownItems, responseId } from './conversation.ts'
import {
  type NormalEvent,
  type NormalResponse,
  normalizeEvent,
  normalizePart,
  normalizeResponse,
  responseProblem,
} from './normalize.ts'

/** Output items by index. The index comes from the provider, so it is a key here, never an array index. */
type Items = Map<number, OutputItem>

/** The response after these events: that of the last event with one, and the deltas after it. */
export const assembleResponse = (events: readonly EventData[]): object => assembled(responseAssembly(), events)

/** Assembles a response from its events. */
export function responseAssembly(): AnswerAssembly {
  let response: NormalResponse | undefined
  let items: Items = new Map()
  return {
    add({ data }) {
      const event = normalizeEvent(data)
      if (event.response) {
        response = event.response
        items = new Map(response.output.entries())
      } else if (response && event.type === 'error') {
        response.status = 'failed'
        const { code, message } = asObject(data) ?? {}
        response.error = { code: asText(code) ?? '', message: asText(message) ?? '' }
      } else if (response) add(items, event)
    },
    whole() {
      if (!response) return {}
      const output = [...items].sort(([one], [other]) => one - other).map(([, item]) => item)
      return { ...response, output, output_text: outputText(output) }
    },
  }
}

function add(items: Items, event: NormalEvent): void {
  const { type, output_index: index = 0, delta } = event
  if (type === 'response.output_item.added' || type === 'response.output_item.done') {
    if (event.item) items.set(index, event.item)
    return
  }
  const item = items.get(index)
  if (item?.type === 'message') addToMessage(item, event)
  else if (item?.type === 'function_call') {
    if (type === 'response.function_call_arguments.delta') item.arguments += delta
  } else if (item?.type === 'custom_tool_call') {
    if (type === 'response.custom_tool_call_input.delta') item.input += delta
  } else if (item?.type === 'reasoning') {
    const { part: added, summary_index: at } = event
    if (type === 'response.reasoning_summary_part.added' && added)
      item.summary.push({ type: 'summary_text', text: asText(added.text) ?? '' })
    const part = at === undefined ? undefined : item.summary[at]
    if (part && type === 'response.reasoning_summary_text.delta') part.text += delta
  }
}

function addToMessage({ content }: Extract<OutputItem, { type: 'message' }>, event: NormalEvent): void {
  const { type, delta, content_index: at } = event
  if (type === 'response.content_part.added' && event.part) content.push(normalizePart(event.part))
  const part = at === undefined ? undefined : content[at]
  if (part?.type === 'output_text' && type === 'response.output_text.delta') {
    part.text += delta
    // A provider may omit them.
    part.logprobs = [...(part.logprobs ?? []), ...event.logprobs]
  }
  if (part?.type === 'refusal' && type === 'response.refusal.delta') part.refusal += delta
}

const typeOf = (data: unknown): string => asText(asObject(data)?.type) ?? ''

/** The rules for a stream of response events. */
export const responseEvents: StreamRules = {
  last: (data) => /^response\.(completed|incomplete)$/.test(typeOf(data)),
  wrongWith: (data) => (typeof data.type === 'string' ? undefined : "it has no 'type'"),
  hasContent: (data) => /\.delta$/.test(typeOf(data)) || data.type === 'response.output_item.done',
  begins: ({ type }) => type === 'response.created',
  complete: (events) => events.some(({ data }) => /^response\.(completed|incomplete)$/.test(typeOf(data))),
  failureIn(data) {
    if (data.type === 'response.failed') return data.response
    return data.type === 'error' || data.error != null ? data : undefined
  },
  failed,
}

// OpenAI's SDK throws for the `error` in the first event; the second contains the response so far.
function failed({ error }: ReturnType<typeof envelope>, sent: readonly EventData[]): StreamEvent[] {
  const event = (data: ResponseEvent) => dataEvent(data, { event: data.type })
  const { code, message, param } = error
  const number = sent.length
  const first = event({ type: 'error', sequence_number: number, code, message, param, error })
  const response = assembleResponse(sent) as NormalResponse
  // A provider's stream may begin without an id.
  if (response.id === undefined) return [first]
  const ended = { ...(response as ModelResponse), status: 'failed' as const, error: { code, message } }
  return [first, event({ type: 'response.failed', sequence_number: number + 1, response: ended })]
}

/** A stored response with new ids and the metadata of this call, whole or as events. */
export function replayResponse(
  request: ResponsesRequest,
  stored: object,
  answerContext: AnswerContext,
): Pick<RenderedAnswer, 'body' | 'events'> {
  const response = normalizeResponse(stored)
  const renamed = (item: OutputItem, index: number): OutputItem => {
    const prefix = /^[a-z]+(?=_)/.exec(asText(item.id) ?? '')?.[0] ?? PREFIXES[item.type] ?? 'item'
    return { ...item, id: itemId(prefix, answerContext.id, index) }
  }
  const replayed: ModelResponse = {
    ...response,
    id: responseId(answerContext.id),
    created_at: Math.floor(answerContext.now / 1000),
    output: response.output.map(renamed),
    metadata: request.metadata ?? {},
  }
  return { body: () => replayed, events: () => eventsOf(replayed) }
}

const PREFIXES: Partial<Record<string, string>> = {
  message: 'msg',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  reasoning: 'rs',
}

/** All texts of the user in this call, including tool results. */
export const responsesInputTexts = (request: ResponsesRequest): string[] =>
  ownItems(request).flatMap((item) => {
    if (isMessage(item)) return item.role === 'user' ? [itemText(item.content)] : []
    return isResult(item) ? [itemText(item.output)] : []
  })

/** All texts of the model, including tool arguments. */
export const responsesOutputTexts = (answer: unknown): string[] =>
  normalizeResponse(answer).output.flatMap((item): string[] => {
    if (item.type === 'function_call') return [item.arguments]
    if (item.type === 'custom_tool_call') return [item.input]
    if (item.type !== 'message') return []
    return item.content.flatMap((part) =>
      part.type === 'refusal' ? part.refusal : part.type === 'output_text' ? part.text : [],
    )
  })

/** The request with the retrieved context as its first system message. */
export const addResponsesContext = (request: ResponsesRequest, context: string): ResponsesRequest => ({
  ...request,
  input: [{ role: 'system', content: `Use this context to answer:\n\n${context}` }, ...ownItems(request)],
})

const REASONS: Partial<Record<string, string>> = { max_output_tokens: 'length', content_filter: 'content_filter' }

type CallFields = NonNullable<TextAnswerFields['calls']>[number]
/** The script that reproduces a response. */
export function responseScriptOf(answer: unknown): TextScript | undefined {
  if (responseProblem(answer) !== undefined) return undefined
  const { output, usage, incomplete_details: details } = normalizeResponse(answer)
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []))
  const textOf = (texts: readonly string[]) => (texts.length > 0 ? texts.join('') : undefined)
  return textScriptOf({
    content: textOf(parts.flatMap((part) => (part.type === 'output_text' ? [part.text] : []))),
    refusal: textOf(parts.flatMap((part) => (part.type === 'refusal' ? [part.refusal] : []))),
    reasoning: output
      .flatMap((item) => (item.type === 'reasoning' ? item.summary.map(({ text }) => text) : []))
      .join('\n\n'),
    calls: output.flatMap((item): CallFields[] => {
      if (item.type === 'function_call') return [{ ...item, custom: false, id: item.call_id, input: item.arguments }]
      return item.type === 'custom_tool_call' ? [{ ...item, custom: true, id: item.call_id }] : []
    }),
    finish: REASONS[asText(asObject(details)?.reason) ?? ''],
    promptTokens: usage?.input_tokens,
    completionTokens: usage?.output_tokens,
  })
}
