// Converts a chat request for the model packages.
import { ApiError } from '../../contract/core/error.ts'
import type { ChatRequest, Message } from '../../contract/router/chat-request.ts'
import { callsOf, offerOf } from '../../contract/router/chat-tools.ts'
import type {
  CallOptions,
  ModelPackage,
  PackageOptions,
  ProviderOptions,
  ThinkingOptions,
} from '../../providers/model-package.ts'
import { quote } from '../../schema/validation.ts'

type ModelMessage = CallOptions['prompt'][number]
type ModelUserPart = Extract<ModelMessage, { role: 'user' }>['content'][number]
type FunctionTool = Extract<NonNullable<CallOptions['tools']>[number], { type: 'function' }>
type CacheMark = { cache_control?: { type: 'ephemeral'; ttl: '5m' | '1h' } | null }
type Assistant = Extract<Message, { role: 'assistant' }>
type AssistantParts = Extract<ModelMessage, { role: 'assistant' }>['content']
type UserPart = Exclude<Extract<Message, { role: 'user' }>['content'], string>[number]

/** The call for a chat request; throws 400 for what neither Anthropic nor Google supports. */
export function callOptions(request: ChatRequest, modelPackage: ModelPackage): CallOptions {
  refuseUnsupported(request)
  const stop = typeof request.stop === 'string' ? [request.stop] : request.stop
  return defined({
    prompt: promptOf(request.messages, modelPackage),
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
    temperature: request.temperature,
    topP: request.top_p,
    topK: request.top_k,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    stopSequences: stop,
    seed: request.seed,
    responseFormat: formatOf(request),
    ...toolsOf(request),
    ...reasoningOf(request, modelPackage),
  })
}

/** The object without missing values. */
const defined = (options: { [K in keyof CallOptions]: CallOptions[K] | null }): CallOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value != null)) as CallOptions

function refuseUnsupported(request: ChatRequest): void {
  const { n, logprobs, modalities } = request
  const reject = (param: string, why: string) => {
    throw new ApiError(400, 'unsupported_value', `'${param}' ${why} with this provider`, { param })
  }
  if (n != null && n > 1) reject('n', 'must be 1')
  if (logprobs) reject('logprobs', 'must be false')
  if (modalities?.includes('audio')) reject('modalities', 'must be ["text"]')
  const other = (request.tools ?? []).findIndex(({ type }) => type !== 'function')
  if (other >= 0) reject(`tools[${other}].type`, 'must be "function"')
  if (request.functions?.length) reject('functions', "must be sent as 'tools'")
}

function formatOf({ response_format: format }: ChatRequest): CallOptions['responseFormat'] {
  if (format?.type === 'json_object') return { type: 'json' }
  if (format?.type !== 'json_schema') return undefined
  const { name, description, schema } = format.json_schema
  return { type: 'json', name, ...(description ? { description } : {}), ...(schema ? { schema } : {}) }
}

function toolsOf(request: ChatRequest): Pick<CallOptions, 'tools' | 'toolChoice'> {
  const { given: all, tools, choice } = offerOf(request)
  if (all.length === 0) return {}
  // With allowed tools, the others are left out; choosing a name or `none` keeps the list.
  const listed = choice === 'auto' || choice === 'required' ? tools : all
  return {
    tools: listed.map(({ name, description, parameters, strict }) => ({
      type: 'function',
      name,
      inputSchema: (parameters ?? { type: 'object', properties: {} }) as FunctionTool['inputSchema'],
      ...(description ? { description } : {}),
      ...(strict == null ? {} : { strict }),
    })),
    toolChoice: typeof choice === 'object' ? { type: 'tool', toolName: choice.name } : { type: choice },
  }
}

/** Reasoning effort, and whether tools are called in parallel. */
function reasoningOf(
  { reasoning_effort: effort, thinking, parallel_tool_calls: parallel }: ChatRequest,
  modelPackage: ModelPackage,
): Pick<CallOptions, 'reasoning' | 'providerOptions'> {
  const serial = parallel === false
  const optionsFor = (mode: ThinkingOptions['mode'], more: Pick<ThinkingOptions, 'budget' | 'level'> = {}) =>
    optionsOf(modelPackage, modelPackage.callOptions({ mode, serial, ...more }))
  if (effort === 'none' || thinking?.type === 'disabled') return { reasoning: 'none', ...optionsFor('none') }
  if (thinking?.type === 'enabled') {
    return optionsFor('budget', { budget: thinking.budget_tokens, level: thinking.thinking_level ?? undefined })
  }
  if (effort) return { reasoning: effort, ...optionsFor('effort') }
  return optionsFor(thinking ? 'adaptive' : 'unasked')
}

/** Options under the name of the package; empty without options. */
const optionsOf = (
  { key }: ModelPackage,
  options: PackageOptions | undefined,
): { providerOptions?: ProviderOptions } =>
  options && Object.keys(options).length > 0 ? { providerOptions: { [key]: options } } : {}

/** Marks the end of a prefix for the provider's prompt cache. */
const cacheOptions = ({ cache_control: cache }: CacheMark, modelPackage: ModelPackage) =>
  cache ? optionsOf(modelPackage, modelPackage.cacheOptions?.(cache)) : {}

function promptOf(messages: readonly Message[], modelPackage: ModelPackage): ModelMessage[] {
  const toolNames = new Map<string, string>()
  const prompt: ModelMessage[] = []
  for (const [index, message] of messages.entries()) {
    switch (message.role) {
      case 'system':
      case 'developer':
        for (const part of textParts(message.content)) {
          prompt.push({ role: 'system', content: part.text, ...cacheOptions(part, modelPackage) })
        }
        break
      case 'user':
        prompt.push({ role: 'user', content: userParts(message.content, modelPackage) })
        break
      case 'assistant':
        for (const { id, name } of callsOf(message)) toolNames.set(id, name)
        prompt.push({ role: 'assistant', content: assistantParts(message, index, modelPackage) })
        break
      case 'tool':
        addToolResult(prompt, message, toolNames)
        break
      case 'function':
        addToolResult(
          prompt,
          { ...message, role: 'tool', content: message.content ?? '', tool_call_id: message.name },
          toolNames,
        )
        break
      default:
        message satisfies never
    }
  }
  return prompt
}

const textParts = (content: string | readonly ({ text: string } & CacheMark)[]) =>
  typeof content === 'string' ? [{ text: content }] : content

/** Adds a tool result; all results of one round form one message. */
function addToolResult(
  prompt: ModelMessage[],
  { content, tool_call_id: id }: Extract<Message, { role: 'tool' }>,
  toolNames: ReadonlyMap<string, string>,
): void {
  const toolCallId = id ?? ''
  const value = textParts(content)
    .map((part) => part.text)
    .join('')
  const result = {
    type: 'tool-result' as const,
    toolCallId,
    toolName: toolNames.get(toolCallId) ?? '',
    output: { type: 'text' as const, value },
  }
  const last = prompt.at(-1)
  if (last?.role === 'tool') last.content.push(result)
  else prompt.push({ role: 'tool', content: [result] })
}

function assistantParts(message: Assistant, index: number, modelPackage: ModelPackage): AssistantParts {
  const parts: AssistantParts = []
  const reason = (text: string, marks: { signature?: string; redacted?: string }) =>
    parts.push({ type: 'reasoning', text, ...optionsOf(modelPackage, modelPackage.thoughtOptions?.(marks)) })
  const { reasoning, reasoning_signature: signature } = message
  if (typeof reasoning === 'string') reason(reasoning, typeof signature === 'string' ? { signature } : {})
  const { content } = message
  for (const part of typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? [])) {
    if (part.type === 'reasoning') reason(part.reasoning, part.signature ? { signature: part.signature } : {})
    else if (part.type === 'redacted_reasoning') reason('', { redacted: part.data })
    else if (part.type === 'refusal') parts.push({ type: 'text', text: part.refusal })
    else if (part.text) parts.push({ type: 'text', text: part.text, ...cacheOptions(part as CacheMark, modelPackage) })
  }
  for (const { id, kind, name, text, param, thoughtSignature: signed } of callsOf(message)) {
    parts.push({
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      input: kind === 'custom' ? { input: text } : argumentsOf(text, `messages[${index}].${param}`),
      ...(signed ? optionsOf(modelPackage, modelPackage.signedCallOptions?.(signed)) : {}),
    })
  }
  return parts
}

function argumentsOf(text: string | undefined, param: string): unknown {
  try {
    return JSON.parse(text || '{}')
  } catch {
    throw new ApiError(400, 'invalid_value', `'${param}' must be JSON, got ${quote(text)}`, { param })
  }
}

const userParts = (content: string | readonly UserPart[], modelPackage: ModelPackage): ModelUserPart[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content.map((part) => userPart(part, modelPackage))

function userPart(part: UserPart, modelPackage: ModelPackage): ModelUserPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...cacheOptions(part, modelPackage) }
    case 'image_url':
      return { ...filePart(part.image_url.url, 'image/jpeg'), ...cacheOptions(part, modelPackage) }
    case 'input_audio': {
      const mediaType = part.input_audio.format === 'wav' ? 'audio/wav' : 'audio/mpeg'
      return { type: 'file', mediaType, data: { type: 'data', data: part.input_audio.data } }
    }
    case 'file': {
      const { file_data: data, uri, mimeType, filename } = part.file
      const file = filePart(data ?? uri ?? '', mimeType ?? typeOfName(filename ?? '') ?? 'application/pdf')
      return { ...file, ...(filename ? { filename } : {}), ...cacheOptions(part, modelPackage) }
    }
    default:
      return part satisfies never
  }
}

const DATA_URL = /^data:([^;,]*)(?:;[^,]*)?,/

/** A file from a data URL, a URL or plain base64; `mediaType` is the default. */
function filePart(source: string, mediaType: string): Extract<ModelUserPart, { type: 'file' }> {
  const inline = DATA_URL.exec(source)
  if (inline) {
    const data = source.slice(inline[0].length)
    return { type: 'file', mediaType: inline[1] || mediaType, data: { type: 'data', data } }
  }
  const url = URL.parse(source)
  if (!url) return { type: 'file', mediaType, data: { type: 'data', data: source } }
  return { type: 'file', mediaType: typeOfName(url.pathname) ?? mediaType, data: { type: 'url', url } }
}

/** The media type for a file name's extension. */
function typeOfName(name: string): string | undefined {
  const [type = ''] = Bun.file(name).type.split(';')
  return type === 'application/octet-stream' ? undefined : type
}
