// The steps of a conversation: their texts and tokens.
import { fileTokens, imageTokens } from '../../answers/input-tokens.ts'
import { countCached } from '../../answers/text-answer.ts'
import type { CountTokens } from '../../contract/core/operation.ts'
import type { InputItem, InputMessage, MessagePart, ResponsesRequest } from '../../contract/router/responses.ts'

/** The content of an input message: a text or a list of parts. */
export type MessageContent = InputMessage['content']

/** Whether an input item is a message. */
export const isMessage = (item: InputItem): item is InputMessage => 'role' in item && 'content' in item

/** Whether an item is a tool result. */
export const isResult = (
  item: InputItem,
): item is Extract<InputItem, { type: 'function_call_output' | 'custom_tool_call_output' }> =>
  item.type === 'function_call_output' || item.type === 'custom_tool_call_output'

/** The steps in the body; a plain text is one user message. */
export const ownItems = ({ input }: ResponsesRequest): InputItem[] =>
  typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input

/** All text of a content; images and files are ignored. */
export function itemText(content: MessageContent): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => (part.type === 'refusal' ? part.refusal : 'text' in part ? String(part.text) : ''))
    .join('')
}

/** The parts of all messages and tool results, in order. */
export const partsOf = (items: readonly InputItem[]): MessagePart[] =>
  items.flatMap((item): MessagePart[] => {
    const content = isMessage(item) ? item.content : isResult(item) ? item.output : ''
    return typeof content === 'string' ? [] : content
  })

// Count of OpenAI's cookbook: 3 tokens for each message.
const PER_ITEM = 3

function contentTokens(content: MessageContent, count: CountTokens): number {
  const parts = typeof content === 'string' ? [] : content
  return parts.reduce(
    (total, part) => {
      if (part.type === 'input_image') return total + imageTokens(part.image_url ?? '', part.detail)
      return part.type === 'input_file' && part.file_data ? total + fileTokens(part.file_data, count) : total
    },
    count(itemText(content)),
  )
}

function itemTokens(item: InputItem, count: CountTokens): number {
  if (isMessage(item)) return PER_ITEM + count(item.role) + contentTokens(item.content, count)
  switch (item.type) {
    case 'function_call':
      return PER_ITEM + count(`${item.name}${item.arguments}`)
    case 'custom_tool_call':
      return PER_ITEM + count(`${item.name}${item.input}`)
    case 'function_call_output':
    case 'custom_tool_call_output':
      return PER_ITEM + contentTokens(item.output, count)
    case 'reasoning':
      return (item.summary ?? []).reduce((total, { text }) => total + count(text), 0)
    case 'item_reference':
      return 0
    default:
      return count(JSON.stringify(item))
  }
}

/** Returns the number of tokens of some steps; `count` counts their texts. */
export const itemsTokens = (items: readonly InputItem[], count: CountTokens = countCached): number =>
  items.reduce((sum, item) => sum + itemTokens(item, count), 0)

/** Returns the number of tokens of instructions, which count as a message before the conversation. */
export const instructionsTokens = (instructions: string | null | undefined, count: CountTokens): number =>
  instructions ? PER_ITEM + count(instructions) : 0
