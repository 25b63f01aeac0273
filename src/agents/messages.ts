// Between the two languages of an agent: the messages of A2A, which clients read and write, and those of chat, which models do.
import type { RequestMessage, TaskMessage, TaskPart } from '../contract/agent-task.ts'
import type { FillText } from '../contract/operation.ts'

type ChatMessage = Record<string, unknown> & { role: string }
type ToolCallPart = Extract<TaskPart, { kind: 'tool_call' }>
type ToolResultPart = Extract<TaskPart, { kind: 'tool_result' }>

/** The calls of tools that a message asks for. */
export const toolCallsOf = ({ parts }: Pick<TaskMessage, 'parts'>): ToolCallPart[] =>
  parts.filter((part) => part.kind === 'tool_call')
/** The results of tools that a message brings. */
export const toolResultsOf = ({ parts }: Pick<TaskMessage | RequestMessage, 'parts'>): ToolResultPart[] =>
  (parts as readonly TaskPart[]).filter((part) => part.kind === 'tool_result')

/** The calls of a history that have no result yet, in order. */
export function openCalls(history: readonly TaskMessage[]): ToolCallPart[] {
  const answered = new Set(history.flatMap(toolResultsOf).map(({ tool_call_id }) => tool_call_id))
  return history.flatMap(toolCallsOf).filter(({ tool_call_id }) => !answered.has(tool_call_id))
}

/** A history as the messages of a chat call; `fill` puts variables into what the user wrote. */
export const chatMessagesOf = (history: readonly TaskMessage[], fill: FillText): ChatMessage[] =>
  history.flatMap((message): ChatMessage[] => {
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
        return [{ role: 'user', content: userContent(message, fill) }]
    }
  })

/** All text of a message. */
export const textOfMessage = ({ parts }: Pick<TaskMessage, 'parts'>): string =>
  parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n')

/** What a tool gave, as a model reads it. */
export const textOfResult = (result: unknown): string =>
  typeof result === 'string' ? result : JSON.stringify(result ?? null)

function assistantMessage(message: TaskMessage): ChatMessage {
  const calls = toolCallsOf(message)
  const text = textOfMessage(message)
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ tool_call_id, tool_name, arguments: given, thought_signature }) => ({
        id: tool_call_id,
        type: 'function',
        function: { name: tool_name, arguments: JSON.stringify(given) },
        ...(thought_signature !== undefined && { thought_signature }),
      })),
    }),
  }
}

function userContent({ parts }: TaskMessage, fill: FillText): unknown {
  const [only] = parts
  if (parts.length === 1 && only?.kind === 'text') return fill(only.text, 'message.parts[0].text')
  return parts.flatMap((part, index): unknown[] => {
    switch (part.kind) {
      case 'text':
        return [{ type: 'text', text: fill(part.text, `message.parts[${index}].text`) }]
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

/** The part that a model's call of a tool is; arguments that are no JSON object are kept as they came, under `_raw`. */
export function toolCallPart(call: {
  id?: unknown
  function?: { name?: unknown; arguments?: unknown } | null
}): ToolCallPart {
  const text = String(call.function?.arguments ?? '{}')
  return {
    kind: 'tool_call',
    tool_name: String(call.function?.name ?? ''),
    tool_call_id: String(call.id ?? ''),
    arguments: argumentsOf(text),
  }
}

function argumentsOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // What a model wrote wrongly is shown as it is.
  }
  return { _raw: text }
}
