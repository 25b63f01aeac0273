// Reads a chat request: what fixtures match, its token counts, and the input of the generator.

import type { AnswerRequest } from '../../answers/generate.ts'
import { attachmentName, audioTokens, fileTokens, imageTokens } from '../../answers/input-tokens.ts'
import { countCached } from '../../answers/text-answer.ts'
import type { Attachment, CountTokens, FillText, Prompt } from '../../contract/core/operation.ts'
import type { ChatRequest, Message } from '../../contract/router/chat-request.ts'
import { callsOf, offerOf } from '../../contract/router/chat-tools.ts'
import { defaultEffort } from '../../providers/catalogue.ts'
import { demandedAnswer, requestedEffort } from '../common.ts'

/** All text of a message's content; other parts are ignored. */
export function chatContentText(content: Message['content']): string {
  if (content == null) return ''
  if (typeof content === 'string') return content
  return content.map((part) => ('text' in part && typeof part.text === 'string' ? part.text : '')).join('')
}

/** Whether a message is a tool result, including a function result of the deprecated format. */
const isResult = (message: Message | undefined) => message?.role === 'tool' || message?.role === 'function'

/** Reads from a chat request what fixtures match, what is counted, and what a generated response must contain. */
export function chatPrompt(request: ChatRequest): Prompt {
  const { messages } = request
  let turn = 0
  let user: Message | undefined
  const instructions: string[] = []
  for (const message of messages) {
    const { role } = message
    if (role === 'user') {
      turn++
      user = message
    } else if (role === 'system' || role === 'developer') instructions.push(chatContentText(message.content))
  }
  const last = messages.at(-1)
  const { tools, choice } = offerOf(request)
  const prompt: Prompt = {
    system: instructions.join('\n'),
    user: chatContentText(user?.content),
    turn,
    tools: tools.map(({ name }) => name),
    toolResult: isResult(last),
    toolText: isResult(last) ? chatContentText(last?.content) : undefined,
    answer: demandedAnswer(choice, request.response_format),
  }
  if (choice === 'none') prompt.forbidsTools = true
  return prompt
}

/** The beginning of a conversation: its instructions, and the first user message. */
export function chatOpening({ messages }: ChatRequest): Pick<Prompt, 'system' | 'user'> {
  const first = messages.findIndex(({ role }) => role === 'user')
  const instructions = messages.slice(0, Math.max(0, first)).map(({ content }) => chatContentText(content))
  return { system: instructions.join('\n'), user: chatContentText((messages[first] ?? messages[0])?.content) }
}

/** Names of the tools with a result after the last user message. */
function finishedTools(messages: readonly Message[]): string[] {
  const round = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
  if (round.length === 0) return []
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? callsOf(message) : []))
  return round.flatMap((message) => {
    if (message.role === 'function') return [message.name]
    if (message.role !== 'tool') return []
    return [calls.findLast(({ id }) => id === message.tool_call_id)?.name ?? '']
  })
}

/** The requested reasoning effort, or the model's default; undefined for no reasoning. */
export function effortOf({ model, reasoning_effort: effort, thinking }: ChatRequest): string | undefined {
  return requestedEffort(effort, thinking, () => defaultEffort(model))
}

/** The input of the generator. */
export function chatAnswerRequest(request: ChatRequest): AnswerRequest {
  const { user, turn, toolText } = chatPrompt(request)
  const { tools, choice } = offerOf(request)
  const format = request.response_format
  return {
    user,
    turn,
    tools,
    toolChoice: choice,
    finished: finishedTools(request.messages),
    toolResult: toolText,
    format:
      format?.type === 'json_schema'
        ? { kind: 'json_schema', schema: format.json_schema.schema, param: CHAT_SCHEMA_PARAM }
        : { kind: format?.type ?? 'text' },
    effort: effortOf(request),
    verbosity: request.verbosity ?? undefined,
  }
}

/** Path of the schema for a structured response in the request. */
export const CHAT_SCHEMA_PARAM = 'response_format.json_schema.schema'

/** The request with its prompt variables filled in. */
export function fillChatTexts(request: ChatRequest, fill: FillText): ChatRequest {
  const messages = request.messages.map((message, index) => {
    const { content } = message
    const param = `messages[${index}].content`
    if (typeof content === 'string') return { ...message, content: fill(content, param) }
    if (!Array.isArray(content)) return message
    const parts = content.map((part, partIndex) =>
      part.type === 'text' ? { ...part, text: fill(part.text as string, `${param}[${partIndex}].text`) } : part,
    )
    return { ...message, content: parts } as Message
  })
  return { ...request, messages }
}

/** The images, audio and files of the user's messages. */
export function chatAttachments({ messages }: ChatRequest): Attachment[] {
  return userParts(messages).flatMap(attachmentsOf)
}

function attachmentsOf(part: UserPart): Attachment[] {
  switch (part.type) {
    case 'image_url':
      return [{ kind: 'image', name: attachmentName(part.image_url.url) }]
    case 'input_audio':
      return [{ kind: 'audio', name: `audio/${part.input_audio.format}` }]
    case 'file':
      return [{ kind: 'file', name: fileName(part.file) }]
    default:
      return []
  }
}

type FilePart = Extract<UserPart, { type: 'file' }>['file']
/** The name or URL of a file, or the type of inline data. */
function fileName({ filename, uri, file_id, file_data, mimeType }: FilePart): string {
  const data = file_data?.startsWith('data:') ? file_data : mimeType
  return attachmentName(uri ?? file_id ?? data, filename)
}

type UserPart = Extract<Extract<Message, { role: 'user' }>['content'], unknown[]>[number]
const NO_PARTS: readonly UserPart[] = []
/** Returns a shared empty list in the common case of text without parts. */
function userParts(messages: readonly Message[]): readonly UserPart[] {
  let parts: UserPart[] | undefined
  for (const message of messages) {
    if (message.role !== 'user' || !Array.isArray(message.content)) continue
    parts ??= []
    for (const part of message.content) parts.push(part)
  }
  return parts ?? NO_PARTS
}

// Counts of OpenAI's cookbook: 3 tokens for each message, 1 for a name, and 3 for the response.
const PER_MESSAGE = 3
const PER_NAME = 1
const OPENING = 3

function partTokens(part: UserPart, count: CountTokens): number {
  switch (part.type) {
    case 'image_url':
      return imageTokens(part.image_url.url, part.image_url.detail)
    case 'input_audio':
      return audioTokens(part.input_audio.data, part.input_audio.format)
    case 'file':
      return part.file.file_data ? fileTokens(part.file.file_data, count) : 0
    default:
      return 0
  }
}

/** Returns the number of tokens of a message, including its overhead. */
export function messageTokens(message: Message, count: CountTokens = countCached): number {
  let tokens = PER_MESSAGE + count(message.role) + count(chatContentText(message.content))
  if (message.name) tokens += PER_NAME + count(message.name)
  if (message.role === 'assistant' && (message.tool_calls || message.function_call)) {
    for (const { name, text } of callsOf(message)) tokens += count(`${name}${text}`)
  }
  if (message.role === 'user' && typeof message.content !== 'string')
    for (const part of userParts([message])) tokens += partTokens(part, count)
  return tokens
}

/** Returns the number of tokens of the whole input; `count` counts its texts. */
export function chatPromptTokens(
  { messages, tools, functions }: ChatRequest,
  count: CountTokens = countCached,
): number {
  let tokens = OPENING
  for (const message of messages) tokens += messageTokens(message, count)
  const offered = tools?.length ? tools : functions
  return offered?.length ? tokens + count(JSON.stringify(offered)) : tokens
}

/** Tokens of the audio in the input. */
export function audioInputTokens({ messages }: ChatRequest): number {
  let tokens = 0
  for (const part of userParts(messages))
    if (part.type === 'input_audio') tokens += audioTokens(part.input_audio.data, part.input_audio.format)
  return tokens
}
