// Converts a conversation to another API, as far as rules need it: its calls and results.
import { asList, asObject, asText, type JsonObject, objectsIn } from '../../lib/values.ts'

/** Messages of Anthropic's API, and the index of the message that each was converted from. */
interface ConvertedMessages {
  messages: JsonObject[]
  origins: number[]
}

/** The messages of a chat completion as a gateway sends them to Anthropic, without instructions. */
export function messagesOfChat(chat: readonly unknown[]): ConvertedMessages {
  const converted: ConvertedMessages = { messages: [], origins: [] }
  for (const [index, value] of chat.entries()) {
    const message = asObject(value) ?? {}
    const { role } = message
    if (role === 'system' || role === 'developer') continue
    const convert = role === 'assistant' ? assistantMessage : role === 'tool' ? resultMessage : userMessage
    converted.messages.push(convert(message))
    converted.origins.push(index)
  }
  return converted
}

function assistantMessage(message: JsonObject): JsonObject {
  const text = (asText(message.content) ?? textIn(message.content)).trim()
  const calls = objectsIn(message.tool_calls).map(({ id }) => ({ type: 'tool_use', id }))
  return { role: 'assistant', content: [...(text === '' ? [] : [{ type: 'text', text }]), ...calls] }
}

const resultMessage = (message: JsonObject): JsonObject => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: message.tool_call_id }],
})

const userMessage = ({ content }: JsonObject): JsonObject => ({
  role: 'user',
  content: [{ type: 'text', text: asText(content) ?? textIn(content) }],
})

const textIn = (content: unknown): string =>
  asList(content)
    .flatMap((part) => asText(asObject(part)?.text) ?? [])
    .join('')

/** The items of a Responses API request as chat messages. Consecutive calls form one message. */
export function chatOfItems(items: readonly unknown[]): ConvertedMessages {
  const messages: JsonObject[] = []
  const origins: number[] = []
  let calls: JsonObject[] | undefined
  for (const [index, value] of items.entries()) {
    const item = asObject(value) ?? {}
    const { type = 'message', call_id: id } = item
    if (type === 'function_call' || type === 'custom_tool_call') {
      if (calls) calls.push({ id })
      else {
        calls = [{ id }]
        messages.push({ role: 'assistant', content: null, tool_calls: calls })
        origins.push(index)
      }
      continue
    }
    if (type === 'reasoning') continue
    calls = undefined
    const isOutput = type === 'function_call_output' || type === 'custom_tool_call_output'
    if (isOutput) messages.push({ role: 'tool', tool_call_id: id })
    else if (type === 'message') messages.push({ role: item.role, content: item.content })
    else continue
    origins.push(index)
  }
  return { messages, origins }
}
