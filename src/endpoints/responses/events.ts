// A response as a stream of events, in the order in which a model writes it.
import type { ModelResponse, OutputItem, ResponseEvent } from '../../contract/responses-answer.ts'
import type { StreamEvent } from '../../lib/sse.ts'
import type { Draft } from './drafts.ts'

type Unnumbered<Event> = Event extends ResponseEvent ? Omit<Event, 'sequence_number'> : never
type Send = (event: Unnumbered<ResponseEvent>, tokens?: number) => void

/** The full sequence of events of a response made of these items. */
export function eventsOf(response: ModelResponse, drafts: readonly Draft[]): StreamEvent[] {
  const events: StreamEvent[] = []
  const send: Send = ({ type, ...rest }, tokens) => {
    events.push({ event: type, data: { type, sequence_number: events.length, ...rest }, ...(tokens ? { tokens } : {}) })
  }
  const { usage: _, ...told } = response
  const begun: ModelResponse = { ...told, status: 'in_progress', incomplete_details: null, output: [], output_text: '' }
  send({ type: 'response.created', response: begun })
  send({ type: 'response.in_progress', response: begun })
  for (const [index, draft] of drafts.entries()) {
    send({ type: 'response.output_item.added', output_index: index, item: emptied(draft.item) })
    sendTexts(send, draft, { item_id: draft.item.id, output_index: index })
    send({ type: 'response.output_item.done', output_index: index, item: draft.item }, draft.hidden)
  }
  send({ type: response.status === 'incomplete' ? 'response.incomplete' : 'response.completed', response })
  return events
}

/** An item as it is when it begins. */
function emptied(item: OutputItem): OutputItem {
  const status = 'in_progress'
  switch (item.type) {
    case 'message':
      return { ...item, status, content: [] }
    case 'function_call':
      return { ...item, status, arguments: '' }
    case 'reasoning':
      return { ...item, status, summary: [] }
    default:
      return item satisfies never
  }
}

interface Place {
  item_id: string
  output_index: number
}

function sendTexts(send: Send, { item, pieces }: Draft, place: Place): void {
  if (item.type === 'message') sendParts(send, { item, pieces }, place)
  else if (item.type === 'reasoning') sendSummary(send, { item, pieces }, place)
  else {
    for (const { text, tokens } of pieces.flat())
      send({ type: 'response.function_call_arguments.delta', ...place, delta: text }, tokens)
    const { name, arguments: whole } = item
    send({ type: 'response.function_call_arguments.done', ...place, name, arguments: whole })
  }
}

type Of<Type> = { item: Extract<OutputItem, { type: Type }>; pieces: Draft['pieces'] }

function sendSummary(send: Send, { item, pieces }: Of<'reasoning'>, place: Place): void {
  for (const [index, part] of item.summary.entries()) {
    const at = { ...place, summary_index: index }
    send({ type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } })
    for (const { text, tokens } of pieces[index] ?? [])
      send({ type: 'response.reasoning_summary_text.delta', ...at, delta: text }, tokens)
    send({ type: 'response.reasoning_summary_text.done', ...at, text: part.text })
    send({ type: 'response.reasoning_summary_part.done', ...at, part })
  }
}

function sendParts(send: Send, { item, pieces }: Of<'message'>, place: Place): void {
  for (const [index, part] of item.content.entries()) {
    const at = { ...place, content_index: index }
    const empty = part.type === 'refusal' ? { ...part, refusal: '' } : { ...part, text: '', logprobs: [] }
    send({ type: 'response.content_part.added', ...at, part: empty })
    for (const { text, logprobs, tokens } of pieces[index] ?? []) {
      if (part.type === 'refusal') send({ type: 'response.refusal.delta', ...at, delta: text }, tokens)
      else send({ type: 'response.output_text.delta', ...at, delta: text, logprobs }, tokens)
    }
    if (part.type === 'refusal') send({ type: 'response.refusal.done', ...at, refusal: part.refusal })
    else send({ type: 'response.output_text.done', ...at, text: part.text, logprobs: part.logprobs })
    send({ type: 'response.content_part.done', ...at, part })
  }
}
