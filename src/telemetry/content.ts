// The parts of requests and responses in spans: numbers and ids, and the messages if content is exported.
import { asText, isObject, type JsonObject } from '../lib/values.ts'
import { cutWhole } from '../lib/well-formed.ts'
import { GEN_AI, OWN, REQUEST_PARAMETERS } from './conventions.ts'
import { type AttributeValues, asContent, asDouble, MAX_CONTENT } from './span.ts'

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : value == null ? [] : [value])

/** Attributes of the model parameters in a request. */
export function requestParameters(request: object | undefined): AttributeValues {
  const values: Record<string, AttributeValues[string]> = {}
  if (request === undefined) return values
  for (const { fields, name, as } of REQUEST_PARAMETERS) {
    const field = fields.find((one) => (request as JsonObject)[one] != null)
    const value = field && (request as JsonObject)[field]
    if (as === 'text' && typeof value === 'string') values[name] = value
    if (as !== 'text' && typeof value === 'number') values[name] = as === 'double' ? asDouble(value) : value
  }
  return values
}

/** The id of a response. */
export const readResponseId = (response: unknown): string | undefined =>
  isObject(response) ? asText(response.id) : undefined

/** The finish reason of each choice of a response; undefined if there is none. */
export function finishReasons(response: unknown): string[] | undefined {
  if (!isObject(response)) return undefined
  const { choices, status } = response
  const reasons = Array.isArray(choices) ? choices.map((choice: JsonObject | null) => choice?.finish_reason) : [status]
  const texts = reasons.filter((reason) => typeof reason === 'string')
  return texts.length > 0 ? texts : undefined
}

interface Part {
  type: string
  [field: string]: unknown
}

/** The content of a message: a text, or parts, of which non-text ones only have their type. */
const contentParts = (content: unknown): Part[] =>
  toList(content).map((part) => {
    if (typeof part === 'string') return { type: 'text', content: part }
    if (!isObject(part)) return { type: 'unknown' }
    return typeof part.text === 'string'
      ? { type: 'text', content: part.text }
      : { type: String(part.type ?? 'unknown') }
  })

const toolCallParts = (message: JsonObject): Part[] =>
  toList(message.tool_calls).flatMap((call) => {
    if (!isObject(call)) return []
    const called = isObject(call.function) ? call.function : isObject(call.custom) ? call.custom : {}
    return [{ type: 'tool_call', id: call.id, name: called.name, arguments: called.arguments ?? called.input }]
  })

/** A message, or an item of the Responses API, in the form of the conventions. */
function toMessage(message: unknown): { role: string; parts: Part[] } {
  if (!isObject(message)) return { role: 'user', parts: contentParts(message) }
  const { role, type } = message
  if (type === 'function_call') {
    const { call_id: id, name, arguments: input } = message
    return { role: 'assistant', parts: [{ type: 'tool_call', id, name, arguments: input }] }
  }
  if (type === 'function_call_output')
    return { role: 'tool', parts: [{ type: 'tool_call_response', id: message.call_id, response: message.output }] }
  if (role === 'tool')
    return { role, parts: [{ type: 'tool_call_response', id: message.tool_call_id, response: message.content }] }
  return { role: String(role ?? 'user'), parts: [...contentParts(message.content), ...toolCallParts(message)] }
}

/** The messages of a request, including system instructions. */
function inputMessages(request: JsonObject): unknown[] {
  const { messages, input, prompt, instructions } = request
  const system = typeof instructions === 'string' ? [{ role: 'system', parts: contentParts(instructions) }] : []
  return [...system, ...toList(messages ?? input ?? prompt).map(toMessage)]
}

function outputMessages(response: JsonObject): unknown[] {
  if (Array.isArray(response.choices))
    return response.choices.filter(isObject).map((choice) => ({
      ...(choice.message ? toMessage(choice.message) : { role: 'assistant', parts: contentParts(choice.text) }),
      finish_reason: choice.finish_reason,
    }))
  if (Array.isArray(response.output)) return response.output.map(toMessage)
  return typeof response.text === 'string' ? [{ role: 'assistant', parts: contentParts(response.text) }] : []
}

/** The messages of a request and its response, as JSON of at most `MAX_CONTENT` characters each. */
export const callContent = (request: object | undefined, response: unknown) => ({
  input: limitedJson(isObject(request) ? inputMessages(request) : []),
  output: limitedJson(isObject(response) ? outputMessages(response) : []),
})

/** Attributes of the messages, with their original lengths if they were shortened. */
export const contentAttributes = ({ input, output }: ReturnType<typeof callContent>): AttributeValues => ({
  [GEN_AI.inputMessages]: asContent(input.json),
  [OWN.inputLength]: input.whole,
  [GEN_AI.outputMessages]: asContent(output.json),
  [OWN.outputLength]: output.whole,
})

/** Maximum lengths of each text, step by step: one text makes most long messages long. */
const TEXT_LENGTHS = [16_000, 4_000, 1_000, 200]

/** A list as JSON of limited length. */
interface LimitedJson {
  json: string
  /** The length of the whole JSON; undefined if nothing was omitted. */
  whole?: number
}

/**
 * A list of values as JSON of at most `max` characters. If it is longer, texts are shortened with a note on the missing
 * characters; if that is not enough, elements between the first and the last are omitted.
 */
export function limitedJson(values: readonly unknown[], max = MAX_CONTENT): LimitedJson {
  const json = JSON.stringify(values)
  const whole = json.length
  if (whole <= max) return { json }
  let shortened = values
  for (const length of TEXT_LENGTHS) {
    shortened = values.map((value) => shortenTexts(value, length))
    const text = JSON.stringify(shortened)
    if (text.length <= max) return { json: text, whole }
  }
  return { json: `[${firstAndLast(shortened, max).join(',')}]`, whole }
}

function shortenTexts(value: unknown, length: number): unknown {
  if (typeof value === 'string') {
    if (value.length <= length) return value
    const kept = cutWhole(value, length)
    return `${kept}... (${value.length - kept.length} more characters)`
  }
  if (Array.isArray(value)) return value.map((one) => shortenTexts(one, length))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortenTexts(one, length)]))
}

/**
 * The first and the last elements as JSON, as many as fit: a conversation starts with instructions and ends with the
 * question.
 */
function firstAndLast(values: readonly unknown[], max: number): string[] {
  const texts = values.map((value) => JSON.stringify(value))
  // The brackets, and a comma for each.
  let remaining = max - 2
  const fits = (text: string | undefined) => text !== undefined && (remaining -= text.length + 1) >= 0
  const first = fits(texts[0]) ? texts.slice(0, 1) : []
  if (first.length === 0) remaining = max - 2
  const last: string[] = []
  for (let index = texts.length - 1; index >= 1 && fits(texts[index]); index--) last.unshift(texts[index] ?? '')
  return [...first, ...last]
}
