// Converts a request of Anthropic's Messages API to a chat completion.
import type { z } from 'zod'
import { ApiError } from '../../contract/core/error.ts'
import { asObject, asText, type JsonObject, objectsIn } from '../../lib/values.ts'
import { parseRequest } from '../../schema/validation.ts'
import { THREAD_NOT_FOUND } from './from-chat.ts'
import { AnthropicCountRequest, AnthropicRequest, HOSTED_BLOCKS } from './request-schema.ts'

/**
 * The equivalent body of a chat completion; shared fields and those of the router are unchanged. Validated first, so
 * that errors have the client's field names.
 */
export const completionRequestOf = (body: unknown): JsonObject =>
  asCompletion(parseRequest(AnthropicRequest, withoutThread(body)))

/**
 * A body without Anthropic's `thread`. Conversations are not stored here: clients that continue a thread get an error,
 * and then send the whole conversation. A `thread` of the router is kept.
 */
function withoutThread(body: unknown): unknown {
  const { thread, ...rest } = asObject(body) ?? {}
  const type = asObject(thread)?.type
  if (type === 'create') return rest
  if (type !== 'continue') return body
  const message = 'threads are not stored: send the whole conversation'
  throw new ApiError(404, THREAD_NOT_FOUND, message, { param: 'thread' })
}

/** The equivalent body for a token count. */
export const countRequestOf = (body: unknown): JsonObject =>
  asCompletion(parseRequest(AnthropicCountRequest, withoutThread(body)))

function asCompletion(fields: z.infer<typeof AnthropicCountRequest> & JsonObject): JsonObject {
  const {
    system,
    messages,
    stop_sequences: stop,
    tools,
    tool_choice: choice,
    metadata,
    output_config: out,
    ...rest
  } = fields
  const user = asText(asObject(metadata)?.user_id)
  const effort = out?.effort === 'max' ? 'xhigh' : out?.effort
  const schema = out?.format?.schema
  return {
    ...rest,
    messages: [...systemMessages(system), ...messages.flatMap(messagesOf)],
    ...(stop != null && { stop }),
    ...(tools != null && { tools: toolsOf(tools) }),
    ...(choice != null && !choosesHosted(choice, objectsIn(tools)) && { tool_choice: choiceOf(choice) }),
    ...(choice?.disable_parallel_tool_use === true && { parallel_tool_calls: false }),
    ...(user !== undefined && { metadata: { user_id: user } }),
    ...(effort != null && { reasoning_effort: effort }),
    ...(schema && { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } } }),
    ...(fields.stream === true && { stream_options: { include_usage: true } }),
  }
}

/** Provider tools, such as web search, have no schema: they are accepted, and never called. */
const toolsOf = (tools: unknown): unknown =>
  objectsIn(tools).flatMap(({ name, description, input_schema: parameters, strict }) =>
    parameters === undefined ? [] : [{ type: 'function', function: { name, description, parameters, strict } }],
  )

/** Whether a tool choice leaves only provider tools, which are never called. */
function choosesHosted({ type, name }: JsonObject, tools: readonly JsonObject[]): boolean {
  const chosen = type === 'tool' ? tools.filter((tool) => tool.name === name) : type === 'any' ? tools : []
  return chosen.length > 0 && chosen.every((tool) => tool.input_schema === undefined)
}

function choiceOf({ type, name }: JsonObject): unknown {
  if (type === 'tool') return { type: 'function', function: { name } }
  return type === 'any' ? 'required' : type
}

/** Instructions as a system message; an empty list when they have no text. */
function systemMessages(content: unknown): unknown[] {
  const texts = asText(content) ?? objectsIn(content).filter(({ type }) => type === 'text')
  return content == null || (Array.isArray(content) && texts.length === 0) ? [] : [{ role: 'system', content: texts }]
}

/** A message as one or more: tool results are separate messages in chat completions. */
function messagesOf(message: unknown): unknown[] {
  const fields = asObject(message)
  if (fields?.role === 'system') return systemMessages(fields.content)
  if (!fields || !Array.isArray(fields.content)) return [message]
  const blocks = fields.content
  if (fields.role === 'assistant') {
    const own = objectsIn(blocks).filter((block) => !isHosted(block))
    return own.length === 0 && blocks.length > 0 ? [] : [assistantOf(own)]
  }
  const results = objectsIn(blocks).filter(({ type }) => type === 'tool_result')
  const parts = blocks.filter((block) => asObject(block)?.type !== 'tool_result')
  return [
    ...results.map((result) => ({
      role: 'tool',
      tool_call_id: result.tool_use_id,
      content: textIn(result.content),
    })),
    ...(parts.length > 0 || results.length === 0 ? [{ ...fields, content: parts.map(partOf) }] : []),
  ]
}

/** Whether a block belongs to a provider tool, which chat completions cannot express. */
const isHosted = ({ type }: JsonObject) => HOSTED_BLOCKS.some((hosted) => hosted === type)

const textIn = (content: unknown): string =>
  asText(content) ??
  objectsIn(content)
    .flatMap((block) => asText(block.text) ?? (block.type === 'search_result' ? searchResultText(block) : []))
    .join('\n')

const searchResultText = ({ title, content }: JsonObject): string => `${title}\n${textIn(content)}`

function assistantOf(blocks: readonly JsonObject[]): JsonObject {
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  const content = blocks.flatMap((block): JsonObject[] => {
    if (block.type === 'tool_use') return []
    if (block.type === 'thinking') return [{ type: 'reasoning', reasoning: block.thinking, signature: block.signature }]
    return [block.type === 'redacted_thinking' ? { type: 'redacted_reasoning', data: block.data } : block]
  })
  return {
    role: 'assistant',
    ...(content.length > 0 ? { content } : { content: null }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, input }) => ({
        ...{ id, type: 'function' },
        function: { name, arguments: JSON.stringify(input ?? {}) },
      })),
    }),
  }
}

/** A user block as a content part: images and documents by URL, by file id, or inline. */
function partOf(block: unknown): unknown {
  const fields = asObject(block)
  if (fields?.type === 'search_result') return { type: 'text', text: searchResultText(fields) }
  if (fields?.type === 'container_upload') return { type: 'file', file: { file_id: fields.file_id } }
  const source = asObject(fields?.source)
  if (!fields || !source) return block
  if (source.type === 'file') return { type: 'file', file: { file_id: source.file_id } }
  const data = `data:${source.media_type};base64,${source.data}`
  if (fields.type === 'image')
    return { type: 'image_url', image_url: { url: source.type === 'url' ? source.url : data } }
  if (fields.type !== 'document') return block
  if (source.type === 'text') return { type: 'text', text: source.data }
  if (source.type === 'content') return { type: 'text', text: textIn(source.content) }
  const name = asText(fields.title)
  const file = source.type === 'url' ? { uri: source.url } : { file_data: data }
  return { type: 'file', file: { ...file, ...(name !== undefined && { filename: name }) } }
}
