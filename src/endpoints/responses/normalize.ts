// Reads model responses and their events of any origin. Items of known types get all required fields; other types stay
// unchanged.
import type { ContentPart, ModelResponse, OutputItem, ResponseUsage } from '../../contract/router/responses-answer.ts'
import { asIndex, asList, asObject, asText, type JsonObject, objectsIn, textOrJson } from '../../lib/values.ts'

/** A response; providers may omit the id. */
export type NormalResponse = Omit<ModelResponse, 'id'> & { id?: string }

/** The content of an event. */
export interface NormalEvent {
  type: string
  /** The whole response so far. */
  response?: NormalResponse | undefined
  item?: OutputItem | undefined
  part?: JsonObject | undefined
  /** Indexes, if sent. */
  output_index?: number | undefined
  content_index?: number | undefined
  summary_index?: number | undefined
  delta: string
  logprobs: Extract<ContentPart, { type: 'output_text' }>['logprobs']
}

/** Reads an event; invalid parts are left out. */
export function normalizeEvent(value: unknown): NormalEvent {
  const event = asObject(value) ?? {}
  const item = asObject(event.item)
  return {
    type: asText(event.type) ?? '',
    response: asObject(event.response) && normalizeResponse(event.response),
    item: item && itemOf(item),
    part: asObject(event.part),
    output_index: asIndex(event.output_index),
    content_index: asIndex(event.content_index),
    summary_index: asIndex(event.summary_index),
    delta: asText(event.delta) ?? '',
    logprobs: asList(event.logprobs) as NormalEvent['logprobs'],
  }
}

/** Reads a response; invalid parts are left out. */
export function normalizeResponse(value: unknown): NormalResponse {
  const fields = asObject(value) ?? {}
  const response = { ...fields, output: objectsIn(fields.output).map(itemOf) } as JsonObject
  if (!asText(fields.id)) delete response.id
  if ('usage' in fields) {
    const usage = usageOf(fields.usage)
    if (usage) response.usage = usage
    else delete response.usage
  }
  return response as unknown as NormalResponse
}

/** An item with all fields that its type requires. */
function itemOf(item: JsonObject): OutputItem {
  if (item.type === 'message' || (item.type === undefined && 'role' in item)) {
    const role = asText(item.role) ?? 'assistant'
    return { ...item, type: 'message', role, content: contentOf(item.content) } as OutputItem
  }
  const called = { ...item, call_id: asText(item.call_id) ?? '', name: asText(item.name) ?? '' }
  if (item.type === 'function_call') return { ...called, arguments: textOrJson(item.arguments) } as OutputItem
  if (item.type === 'custom_tool_call') return { ...called, input: textOrJson(item.input) } as OutputItem
  if (item.type !== 'reasoning') return item as OutputItem
  const summary = objectsIn(item.summary).map((part) => ({
    ...part,
    type: 'summary_text',
    text: asText(part.text) ?? '',
  }))
  return { ...item, summary } as OutputItem
}

const contentOf = (content: unknown): ContentPart[] =>
  typeof content === 'string'
    ? [{ type: 'output_text', text: content, annotations: [], logprobs: [] }]
    : objectsIn(content).map(normalizePart)

/** A part of a message's content. */
export function normalizePart(part: JsonObject): ContentPart {
  if (part.type === 'refusal') return { ...part, type: 'refusal', refusal: asText(part.refusal) ?? '' }
  if (part.type !== 'output_text') return part as ContentPart
  const normal = { ...part, text: asText(part.text) ?? '' } as Extract<ContentPart, { type: 'output_text' }>
  if ('logprobs' in part) normal.logprobs = asList(part.logprobs) as NormalEvent['logprobs']
  return normal
}

const countIn = (value: unknown): number => (typeof value === 'number' && value >= 0 ? value : 0)

function usageOf(value: unknown): ResponseUsage | undefined {
  const usage = asObject(value)
  if (!usage) return undefined
  const details = asObject(usage.output_tokens_details)
  const output_tokens_details = { ...details, reasoning_tokens: countIn(details?.reasoning_tokens) }
  return { ...usage, ...(details && { output_tokens_details }) } as ResponseUsage
}

/** Why a value is not a response: it has no items, or it is unfinished without having been requested in the background. */
export function responseProblem(value: unknown): string | undefined {
  const response = asObject(value)
  if (!response) return 'it is not an object'
  const { output, status, background } = response
  if (!Array.isArray(output)) return "it has no 'output'"
  return status === 'in_progress' && background !== true ? "its status is 'in_progress'" : undefined
}
