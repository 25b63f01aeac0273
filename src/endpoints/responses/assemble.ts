// Assembles a response from the events of a stream.
import { type AnswerAssembly, assembled } from '../../contract/core/assembly.ts'
import type { OutputItem } from '../../contract/router/responses-answer.ts'
import type { EventData } from '../../lib/sse.ts'
import { asObject, asText } from '../../lib/values.ts'
import { outputText } from './answer.ts'
import { type NormalEvent, type NormalResponse, normalizeEvent, normalizePart } from './normalize.ts'

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
