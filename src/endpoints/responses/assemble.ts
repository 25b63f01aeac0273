// Puts a response together from the events of a stream, as far as they went.
import type { ModelResponse, OutputItem, ResponseEvent } from '../../contract/responses-answer.ts'
import type { StreamEvent } from '../../lib/sse.ts'
import { outputText } from './output.ts'

/** The response that a client has after these events: the whole one from the last event, else what the deltas add up to. */
export function assembleResponse(events: readonly StreamEvent[]): object {
  let response: ModelResponse | undefined
  for (const { data } of events) {
    const event = data as ResponseEvent
    // The events are still to be sent, or compared: what is built from them is a copy.
    if ('response' in event) response = structuredClone(event.response)
    else if (response) add(response, event)
  }
  return response ? { ...response, output_text: outputText(response.output) } : {}
}

type InsideEvent = Exclude<ResponseEvent, { response: ModelResponse }>

function add(response: ModelResponse, event: InsideEvent): void {
  if (event.type === 'error') {
    response.status = 'failed'
    response.error = { code: event.code, message: event.message }
    return
  }
  const { output } = response
  if (event.type === 'response.output_item.added' || event.type === 'response.output_item.done') {
    output[event.output_index] = structuredClone(event.item)
    return
  }
  const item = output[event.output_index]
  if (item?.type === 'message') addToMessage(item, event)
  else if (item?.type === 'function_call') {
    if (event.type === 'response.function_call_arguments.delta') item.arguments += event.delta
  } else if (item?.type === 'custom_tool_call') {
    if (event.type === 'response.custom_tool_call_input.delta') item.input += event.delta
  } else if (item) {
    if (event.type === 'response.reasoning_summary_part.added') item.summary.push({ ...event.part })
    const part = 'summary_index' in event ? item.summary[event.summary_index] : undefined
    if (part && event.type === 'response.reasoning_summary_text.delta') part.text += event.delta
  }
}

function addToMessage({ content }: Extract<OutputItem, { type: 'message' }>, event: InsideEvent): void {
  if (event.type === 'response.content_part.added') content.push(structuredClone(event.part))
  const part = 'content_index' in event ? content[event.content_index] : undefined
  if (part?.type === 'output_text' && event.type === 'response.output_text.delta') {
    part.text += event.delta
    // A provider may leave them out.
    ;(part.logprobs ??= []).push(...(event.logprobs ?? []))
  }
  if (part?.type === 'refusal' && event.type === 'response.refusal.delta') part.refusal += event.delta
}
