// Converts between A2A messages, for clients, and chat messages, for models.

import type { FillText } from '../../contract/core/operation.ts'
import type { RequestMessage, TaskMessage, TaskPart } from '../../contract/workspace/agent-task.ts'
import type { MessageRecord } from '../../contract/workspace/task-record.ts'
import { asObject, parsedJson } from '../../lib/values.ts'

type ChatMessage = Record<string, unknown> & { role: string }
/** A tool call. */
export type ToolCallPart = Extract<TaskPart, { kind: 'tool_call' }>
type ToolResultPart = Extract<TaskPart, { kind: 'tool_result' }>

/** The tool calls in a message. */
export const toolCallsOf = ({ parts }: Pick<TaskMessage, 'parts'>): ToolCallPart[] =>
  parts.filter((part) => part.kind === 'tool_call')
/** The tool results in a message. */
export const toolResultsOf = ({ parts }: Pick<TaskMessage | RequestMessage, 'parts'>): ToolResultPart[] =>
  (parts as readonly TaskPart[]).filter((part) => part.kind === 'tool_result')

/** The calls of a history without a result, in order. */
export function openCalls(history: readonly TaskMessage[]): ToolCallPart[] {
  const answered = new Set(history.flatMap(toolResultsOf).map(({ tool_call_id }) => tool_call_id))
  return history.flatMap(toolCallsOf).filter(({ tool_call_id }) => !answered.has(tool_call_id))
}

/** A history as the messages of a chat call. */
export const chatMessagesOf = (history: readonly MessageRecord[]): ChatMessage[] =>
  history.flatMap(({ message, filled }): ChatMessage[] => {
    switch (message.role) {
      case 'tool':
        return toolResultsOf(message).map(({ tool_call_id, result }) => ({
          role: 'tool',
          tool_call_id,
          content: textOfResult(result),
        }))
      case 'agent':
        return [assistantMessage(message)]
      case 'system':
        return [{ role: 'system', content: textOfMessage(message) }]
      default:
        return [{ role: 'user', content: userContent(filled ?? message.parts) }]
    }
  })

/** The parts with variables filled into their texts; undefined if nothing changes. */
export function filledParts(parts: readonly TaskPart[], fill: FillText): TaskPart[] | undefined {
  let changed = false
  const filled = parts.map((part, index): TaskPart => {
    if (part.kind !== 'text') return part
    const text = fill(part.text, `message.parts[${index}].text`)
    if (text === part.text) return part
    changed = true
    return { ...part, text }
  })
  return changed ? filled : undefined
}

/** The texts of parts. */
export const textsOf = (parts: readonly TaskPart[]): string[] =>
  parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []))

/** The whole text of a message. */
export const textOfMessage = ({ parts }: Pick<TaskMessage, 'parts'>): string => textsOf(parts).join('\n')

/** A tool result as text for the model. */
const textOfResult = (result: unknown): string => (typeof result === 'string' ? result : JSON.stringify(result ?? null))

/** A message of the agent as a chat message. */
export function assistantMessage(message: TaskMessage): ChatMessage {
  const calls = toolCallsOf(message)
  const text = textOfMessage(message)
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({
        id: call.tool_call_id,
        type: 'function',
        function: { name: call.tool_name, arguments: rawArguments(call) ?? JSON.stringify(call.arguments) },
        ...(call.thought_signature !== undefined && { thought_signature: call.thought_signature }),
      })),
    }),
  }
}

/** Tool calls in chat format. */
export const chatCallsOf = (calls: readonly ToolCallPart[]): object[] =>
  calls.map(({ tool_call_id: id, tool_name: name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }))

function userContent(parts: readonly TaskPart[]): unknown {
  const [only] = parts
  if (parts.length === 1 && only?.kind === 'text') return only.text
  return parts.flatMap((part): unknown[] => {
    switch (part.kind) {
      case 'text':
        return [{ type: 'text', text: part.text }]
      case 'error':
        return [{ type: 'text', text: `Error: ${part.error}` }]
      case 'data':
        return [{ type: 'text', text: textOfResult(part.data) }]
      case 'file':
        return [filePart(part.file)]
      default:
        return []
    }
  })
}

function filePart({
  bytes,
  uri,
  mimeType = 'application/octet-stream',
  name,
}: Extract<TaskPart, { kind: 'file' }>['file']) {
  const url = uri ?? `data:${mimeType};base64,${bytes ?? ''}`
  if (mimeType.startsWith('image/')) return { type: 'image_url', image_url: { url } }
  const content = uri === undefined ? { file_data: url } : { uri }
  return { type: 'file', file: { ...content, ...(name !== undefined && { filename: name }) } }
}

/** The part for a model's tool call. Arguments that are not a JSON object are kept unchanged under `_raw`. */
export function toolCallPart(call: {
  id?: unknown
  function?: { name?: unknown; arguments?: unknown } | null
  thought_signature?: unknown
}): ToolCallPart {
  return {
    kind: 'tool_call',
    tool_name: String(call.function?.name ?? ''),
    tool_call_id: String(call.id ?? ''),
    arguments: argumentsOf(String(call.function?.arguments ?? '{}')),
    ...(typeof call.thought_signature === 'string' && { thought_signature: call.thought_signature }),
  }
}

/** The text of arguments that are not a JSON object; undefined for others. */
export const rawArguments = ({ arguments: args }: ToolCallPart): string | undefined =>
  Object.keys(args).length === 1 && typeof args[RAW] === 'string' ? args[RAW] : undefined

const RAW = '_raw'

/** Invalid output of a model is shown as it is. */
const argumentsOf = (text: string): Record<string, unknown> => asObject(parsedJson(text)) ?? { [RAW]: text }

/**
 * The calls with ids that are unique in the history: models restart their numbers, and a result refers to its call by
 * id.
 */
export function withOwnIds(calls: readonly ToolCallPart[], history: readonly TaskMessage[]): ToolCallPart[] {
  const ids = new Set(history.flatMap(toolCallsOf).map(({ tool_call_id }) => tool_call_id))
  return calls.map((call) => {
    const preferred = call.tool_call_id === '' ? 'call' : call.tool_call_id
    let id = preferred
    for (let count = 2; ids.has(id); count++) id = `${preferred}_${count}`
    ids.add(id)
    return id === call.tool_call_id ? call : { ...call, tool_call_id: id }
  })
}
