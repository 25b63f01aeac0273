// What was said in a call, in the form of the conventions; only exported when it is asked for.
import { type LimitedJson, limitedJson } from './content-limit.ts'
import { LONGEST_CONTENT } from './json.ts'

type Fields = Readonly<Record<string, unknown>>

interface Part {
  type: string
  [field: string]: unknown
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : value == null ? [] : [value])

/** The content of a message: a text, or parts of which those that are no texts are named alone. */
const partsOf = (content: unknown): Part[] =>
  listOf(content).map((part) => {
    if (typeof part === 'string') return { type: 'text', content: part }
    if (!isFields(part)) return { type: 'unknown' }
    return typeof part.text === 'string'
      ? { type: 'text', content: part.text }
      : { type: String(part.type ?? 'unknown') }
  })

const toolCallsOf = (message: Fields): Part[] =>
  listOf(message.tool_calls).flatMap((call) => {
    if (!isFields(call)) return []
    const called = isFields(call.function) ? call.function : isFields(call.custom) ? call.custom : {}
    return [{ type: 'tool_call', id: call.id, name: called.name, arguments: called.arguments ?? called.input }]
  })

/** A message, or an item of the list of the Responses API. */
function messageOf(message: unknown): { role: string; parts: Part[] } {
  if (!isFields(message)) return { role: 'user', parts: partsOf(message) }
  const { role, type } = message
  if (type === 'function_call') {
    const { call_id: id, name, arguments: given } = message
    return { role: 'assistant', parts: [{ type: 'tool_call', id, name, arguments: given }] }
  }
  if (type === 'function_call_output')
    return { role: 'tool', parts: [{ type: 'tool_call_response', id: message.call_id, response: message.output }] }
  if (role === 'tool')
    return { role, parts: [{ type: 'tool_call_response', id: message.tool_call_id, response: message.content }] }
  return { role: String(role ?? 'user'), parts: [...partsOf(message.content), ...toolCallsOf(message)] }
}

/** What the request says: the system's instructions are a message among the others, where they are one on the wire. */
function inputMessages(request: Fields): unknown[] {
  const { messages, input, prompt, instructions } = request
  const system = typeof instructions === 'string' ? [{ role: 'system', parts: partsOf(instructions) }] : []
  return [...system, ...listOf(messages ?? input ?? prompt).map(messageOf)]
}

function outputMessages(answer: Fields): unknown[] {
  if (Array.isArray(answer.choices))
    return answer.choices.filter(isFields).map((choice) => ({
      ...(choice.message ? messageOf(choice.message) : { role: 'assistant', parts: partsOf(choice.text) }),
      finish_reason: choice.finish_reason,
    }))
  if (Array.isArray(answer.output)) return answer.output.map(messageOf)
  return typeof answer.text === 'string' ? [{ role: 'assistant', parts: partsOf(answer.text) }] : []
}

/** What was asked and answered. */
export interface CallContent {
  input: LimitedJson
  output: LimitedJson
}

/** What was asked and answered, as JSON of at most `LONGEST_CONTENT` characters each. */
export const contentOf = (request: object | undefined, answer: unknown): CallContent => ({
  input: limitedJson(isFields(request) ? inputMessages(request) : [], LONGEST_CONTENT),
  output: limitedJson(isFields(answer) ? outputMessages(answer) : [], LONGEST_CONTENT),
})
