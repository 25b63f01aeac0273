// Why an answer ends, in the field and the words of each API.
import { asObject, type JsonObject, objectsIn } from '../lib/values.ts'

/** A finish reason of chat completions, or an unknown one. */
export type AnswerEnd = string

/**
 * An answer, a choice of one or an event with another reason for its end; undefined when it does not say that it ended. A response
 * has no reason of its own for a normal end or a tool call, and is incomplete for any other.
 */
export function endedAs(value: JsonObject, end: AnswerEnd): JsonObject | undefined {
  const { choices, finish_reason: finish, stop_reason: stop, status, response, type } = value
  if (stop != null) return { ...value, stop_reason: STOPS[end] ?? end }
  if (type === 'message_delta') {
    const delta = endedAs(asObject(value.delta) ?? {}, end)
    return delta && { ...value, delta }
  }
  if (finish != null) return { ...value, finish_reason: end }
  if (Array.isArray(choices)) {
    const changed = objectsIn(choices).map((choice) => endedAs(choice, end) ?? choice)
    return changed.some((choice, index) => choice !== choices[index]) ? { ...value, choices: changed } : undefined
  }
  if (asObject(response) && (type === 'response.completed' || type === 'response.incomplete')) {
    const inner = endedAs(asObject(response) ?? {}, end)
    if (!inner) return undefined
    return { ...value, type: `response.${String(inner.status)}`, response: inner }
  }
  if (status !== 'completed' && status !== 'incomplete') return undefined
  if (end === 'stop' || end === 'tool_calls') return { ...value, status: 'completed', incomplete_details: null }
  const ended = { ...value, status: 'incomplete', incomplete_details: { reason: REASONS[end] ?? end } }
  return end === 'length' ? { ...ended, output: lastIncomplete(objectsIn(value.output)) } : ended
}

/** Stop reasons of Anthropic by finish reason. */
const STOPS: Readonly<Record<string, string>> = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' }
const REASONS: Readonly<Record<string, string>> = { length: 'max_output_tokens' }

/** The items of a response whose last one was cut by a limit. */
const lastIncomplete = (output: readonly JsonObject[]): JsonObject[] =>
  output.map((item, index) => (index === output.length - 1 ? { ...item, status: 'incomplete' } : item))
