// What a request for a response says: the conversation as fixtures match it, its tokens, its files, its texts.
import { countCached } from '../../backends/fixture/text-answer.ts'
import type { Attachment, Prompt } from '../../contract/operation.ts'
import type { InputItem, InputMessage, MessagePart, ResponsesRequest } from '../../contract/responses.ts'
import { modelOf } from '../../providers/catalogue.ts'
import { conversationOf, ownItems } from './conversation.ts'

const isMessage = (item: InputItem): item is InputMessage => 'role' in item
type Content = InputMessage['content']

/** All text of a content; pictures and files have none. */
function contentText(content: Content): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => (part.type === 'refusal' ? part.refusal : 'text' in part ? String(part.text) : ''))
    .join('')
}

/** The conversation as fixtures match on it. */
export function prompt(request: ResponsesRequest): Prompt {
  const items = conversationOf(request)
  const messages = items.filter(isMessage)
  const users = messages.filter((message) => message.role === 'user')
  const told = messages.filter((message) => message.role === 'system' || message.role === 'developer')
  const last = users.at(-1)
  return {
    system: [request.instructions ?? '', ...told.map((message) => contentText(message.content))]
      .filter((text) => text !== '')
      .join('\n'),
    user: last ? contentText(last.content) : '',
    turn: users.length,
    tools: functionTools(request).map((tool) => tool.name),
    toolResult: toolResult(request) !== undefined,
  }
}

/** The tools that a call may answer with. */
export const functionTools = ({ tools }: ResponsesRequest) =>
  (tools ?? []).flatMap((tool) => (tool.type === 'function' ? [tool] : []))

/** What the tool gave, when the last step is its result. */
export function toolResult(request: ResponsesRequest): string | undefined {
  const last = ownItems(request).at(-1)
  return last?.type === 'function_call_output' ? contentText(last.output) : undefined
}

// Counts of OpenAI's cookbook: 3 tokens frame every message, and 3 open the answer.
const PER_ITEM = 3
const OPENING = 3
// What a picture, or a file as a page of one, costs without knowing its size: OpenAI's low-detail price, and one
// 512-pixel tile at high detail.
const TILES = { low: 85, high: 255, auto: 255 }

function contentTokens(content: Content): number {
  const pictures = typeof content === 'string' ? [] : content
  return pictures.reduce(
    (total, part) => {
      if (part.type === 'input_image') return total + TILES[part.detail ?? 'auto']
      return part.type === 'input_file' ? total + TILES.auto : total
    },
    countCached(contentText(content)),
  )
}

function itemTokens(item: InputItem): number {
  if (isMessage(item)) return PER_ITEM + countCached(item.role) + contentTokens(item.content)
  switch (item.type) {
    case 'function_call':
      return PER_ITEM + countCached(`${item.name}${item.arguments}`)
    case 'function_call_output':
      return PER_ITEM + contentTokens(item.output)
    case 'reasoning':
      return (item.summary ?? []).reduce((total, { text }) => total + countCached(text), 0)
    case 'item_reference':
      return 0
    default:
      return countCached(JSON.stringify(item))
  }
}

/** Tokens of the whole conversation; with `truncation: auto` no more than the model takes, since the rest is dropped. */
export function promptTokens(request: ResponsesRequest): number {
  const { instructions, tools } = request
  const spoken = conversationOf(request).reduce((total, item) => total + itemTokens(item), OPENING)
  const told = instructions ? PER_ITEM + countCached(instructions) : 0
  const offered = tools && tools.length > 0 ? countCached(JSON.stringify(tools)) : 0
  const all = spoken + told + offered
  return request.truncation === 'auto' ? Math.min(all, modelOf(request.model)?.context ?? all) : all
}

const contentsOf = (request: ResponsesRequest): Content[] =>
  ownItems(request).flatMap((item) => {
    if (isMessage(item)) return [item.content]
    return item.type === 'function_call_output' ? [item.output] : []
  })

/** Pictures and files of the body, by file name, id or address; data is named by its type. */
export function attachments(request: ResponsesRequest): Attachment[] {
  const parts = contentsOf(request).flatMap((content): MessagePart[] => (typeof content === 'string' ? [] : content))
  return parts.flatMap((part): Attachment[] => {
    if (part.type === 'input_image') return [{ kind: 'image', name: part.file_id ?? address(part.image_url) }]
    if (part.type !== 'input_file') return []
    return [{ kind: 'file', name: part.filename ?? part.file_id ?? part.file_url ?? address(part.file_data) }]
  })
}

const address = (url: string | null | undefined): string => {
  if (!url) return 'unnamed'
  return url.startsWith('data:') ? (/^data:([^;,]*)/.exec(url)?.[1] ?? 'data') : url.slice(0, 200)
}

/** The request with its instructions and the texts of its messages made anew. */
export function fillTexts(request: ResponsesRequest, fill: (text: string) => string): ResponsesRequest {
  const { instructions, input } = request
  const filled = (content: Content) =>
    typeof content === 'string'
      ? fill(content)
      : content.map((part) => ('text' in part ? { ...part, text: fill(String(part.text)) } : part))
  return {
    ...request,
    ...(instructions ? { instructions: fill(instructions) } : {}),
    input:
      typeof input === 'string'
        ? fill(input)
        : input.map((item) => (isMessage(item) ? ({ ...item, content: filled(item.content) } as InputMessage) : item)),
  }
}
