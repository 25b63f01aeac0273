// Streams a response as events, in the order in which a model produces it.
import { type TextChunk, tokenChunks } from '../../answers/text-answer.ts'
import type { ContentPart, ModelResponse, OutputItem, ResponseEvent } from '../../contract/router/responses-answer.ts'
import { dataEvent, type StreamEvent } from '../../lib/sse.ts'

type WithoutNumber<Event> = Event extends ResponseEvent ? Omit<Event, 'sequence_number'> : never
type Send = (event: WithoutNumber<ResponseEvent>, tokens?: number) => void

/** All events of a response. */
export function eventsOf(response: ModelResponse): StreamEvent[] {
  const events: StreamEvent[] = []
  const send: Send = ({ type, ...rest }, tokens) => {
    events.push(
      dataEvent({ type, sequence_number: events.length, ...rest }, { event: type, tokens: tokens || undefined }),
    )
  }
  const { usage, output, status, ...fields } = response
  const begun: ModelResponse = {
    ...fields,
    status: 'in_progress',
    incomplete_details: null,
    output: [],
    output_text: '',
  }
  send({ type: 'response.created', response: begun })
  send({ type: 'response.in_progress', response: begun })
  for (const [index, item] of output.entries()) {
    send({ type: 'response.output_item.added', output_index: index, item: emptied(item) })
    sendTexts(send, item, { item_id: item.id, output_index: index })
    // Reasoning takes its time even when it is not shown.
    const hidden = item.type === 'reasoning' && item.summary.length === 0
    const tokens = hidden ? usage?.output_tokens_details?.reasoning_tokens : 0
    send({ type: 'response.output_item.done', output_index: index, item }, tokens)
  }
  send({ type: status === 'incomplete' ? 'response.incomplete' : 'response.completed', response })
  return events
}

/** An item at its beginning; a provider's own items are sent unchanged. */
function emptied(item: OutputItem): OutputItem {
  const status = 'in_progress'
  if (item.type === 'message') return { ...item, status, content: [] }
  if (item.type === 'function_call') return { ...item, status, arguments: '' }
  if (item.type === 'custom_tool_call') return { ...item, status, input: '' }
  return item.type === 'reasoning' ? { ...item, status, summary: [] } : item
}

interface ItemPosition {
  item_id: string
  output_index: number
}

function sendTexts(send: Send, item: OutputItem, position: ItemPosition): void {
  if (item.type === 'message') {
    for (const [index, part] of item.content.entries()) sendPart(send, part, { ...position, content_index: index })
  } else if (item.type === 'reasoning') {
    for (const [index, part] of item.summary.entries()) sendSummary(send, part, { ...position, summary_index: index })
  } else if (item.type === 'function_call') {
    const { name, arguments: whole } = item
    for (const { text, tokens } of tokenChunks(whole))
      send({ type: 'response.function_call_arguments.delta', ...position, delta: text }, tokens)
    send({ type: 'response.function_call_arguments.done', ...position, name, arguments: whole })
  } else if (item.type === 'custom_tool_call') {
    for (const { text, tokens } of tokenChunks(item.input))
      send({ type: 'response.custom_tool_call_input.delta', ...position, delta: text }, tokens)
    send({ type: 'response.custom_tool_call_input.done', ...position, input: item.input })
  }
}

function sendSummary(
  send: Send,
  part: { type: 'summary_text'; text: string },
  at: ItemPosition & { summary_index: number },
) {
  send({ type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } })
  for (const { text, tokens } of tokenChunks(part.text))
    send({ type: 'response.reasoning_summary_text.delta', ...at, delta: text }, tokens)
  send({ type: 'response.reasoning_summary_text.done', ...at, text: part.text })
  send({ type: 'response.reasoning_summary_part.done', ...at, part })
}

function sendPart(send: Send, part: ContentPart, at: ItemPosition & { content_index: number }): void {
  if (part.type === 'refusal') {
    send({ type: 'response.content_part.added', ...at, part: { ...part, refusal: '' } })
    for (const { text, tokens } of tokenChunks(part.refusal))
      send({ type: 'response.refusal.delta', ...at, delta: text }, tokens)
    send({ type: 'response.refusal.done', ...at, refusal: part.refusal })
  } else if (part.type === 'output_text') {
    // A provider may omit the log probabilities.
    const { text: whole, logprobs = [] } = part
    send({ type: 'response.content_part.added', ...at, part: { ...part, text: '', logprobs: [] } })
    for (const { text, tokens, share } of shared(tokenChunks(whole), logprobs))
      send({ type: 'response.output_text.delta', ...at, delta: text, logprobs: share }, tokens)
    send({ type: 'response.output_text.done', ...at, text: whole, logprobs })
  } else {
    // A part of a type that only the provider knows.
    send({ type: 'response.content_part.added', ...at, part })
  }
  send({ type: 'response.content_part.done', ...at, part })
}

/** Assigns log probabilities to token chunks: one each, unless a provider split the text otherwise. */
function shared<Entry>(texts: readonly TextChunk[], entries: readonly Entry[]) {
  const upTo = (index: number) => Math.floor((index * entries.length) / texts.length)
  return texts.map((piece, index) => ({ ...piece, share: entries.slice(upTo(index), upTo(index + 1)) }))
}
