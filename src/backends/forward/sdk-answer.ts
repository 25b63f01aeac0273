// Converts responses of the model packages to chat completions and chunks.
import { usageWith } from '../../answers/usage.ts'
import type { ChatChunk, ChatCompletion, Usage } from '../../contract/router/chat.ts'
import type { FinishReason } from '../../contract/router/script.ts'
import { dataEvent, type EventBatch } from '../../lib/sse.ts'
import { asText } from '../../lib/values.ts'
import type { LanguageModel, ModelPackage, ProviderOptions } from '../../providers/model-package.ts'

type GenerateResult = Awaited<ReturnType<LanguageModel['doGenerate']>>
type Content = GenerateResult['content'][number]
type Stream = Awaited<ReturnType<LanguageModel['doStream']>>['stream']
type StreamPart = Stream extends ReadableStream<infer Part> ? Part : never

type Answer = ChatCompletion['choices'][number]['message']
type Delta = ChatChunk['choices'][number]['delta'] & { redacted_reasoning?: string }
type ToolCall = NonNullable<Answer['tool_calls']>[number] & { index: number; thought_signature?: string }

/** Fields of every completion and chunk. */
interface AnswerFrame {
  /** Id, used when the provider sends none. */
  id: string
  /** Unix time in seconds. */
  created: number
  model: string
  /** The package of the response. */
  modelPackage: ModelPackage
}

const FINISH: Partial<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  other: 'stop',
}
/** The finish reason; undefined for an incomplete response. A response with tool calls always has `tool_calls`. */
const finishOf = ({ unified, raw }: GenerateResult['finishReason'], calls: number): FinishReason | undefined => {
  const finish = raw === undefined ? undefined : FINISH[unified]
  return finish === 'stop' && calls > 0 ? 'tool_calls' : finish
}

/** Token counts in the format of the router; missing ones are 0. */
const sdkUsage = ({ inputTokens, outputTokens }: GenerateResult['usage']): Usage =>
  usageWith(inputTokens.total ?? 0, outputTokens.total ?? 0, {
    cached: inputTokens.cacheRead,
    cacheCreation: inputTokens.cacheWrite,
    reasoning: outputTokens.reasoning,
  })

/** The provider's signatures in a part. */
const marksOf = (metadata: ProviderOptions | undefined, { key, marksOf: marks }: ModelPackage) => {
  const { signature, redacted, call } = marks(metadata?.[key] ?? {})
  return { signature: asText(signature), redacted: asText(redacted), call: asText(call) }
}

function toolCall(part: Extract<Content, { type: 'tool-call' }>, index: number, modelPackage: ModelPackage): ToolCall {
  const { call: signature } = marksOf(part.providerMetadata, modelPackage)
  return {
    index,
    id: part.toolCallId,
    type: 'function',
    function: { name: part.toolName, arguments: part.input },
    ...(signature ? { thought_signature: signature } : {}),
  }
}

/** The whole response; undefined when the provider did not complete it. */
export function completionOf(
  result: GenerateResult,
  { id, modelPackage, ...framing }: AnswerFrame,
): ChatCompletion | undefined {
  const message: Answer & { redacted_reasoning?: string } = { role: 'assistant', content: null, refusal: null }
  const calls: ToolCall[] = []
  for (const part of result.content) {
    if (part.type === 'text') message.content = (message.content ?? '') + part.text
    else if (part.type === 'reasoning') {
      const { signature, redacted } = marksOf(part.providerMetadata, modelPackage)
      if (part.text) message.reasoning = (message.reasoning ?? '') + part.text
      if (signature !== undefined) message.reasoning_signature = signature
      if (redacted !== undefined) message.redacted_reasoning = redacted
    } else if (part.type === 'tool-call' && !part.providerExecuted)
      calls.push(toolCall(part, calls.length, modelPackage))
  }
  if (calls.length > 0) message.tool_calls = calls
  const finish = finishOf(result.finishReason, calls.length)
  if (!finish) return undefined
  return {
    id: result.response?.id ?? id,
    object: 'chat.completion',
    ...framing,
    system_fingerprint: '',
    choices: [{ index: 0, finish_reason: finish, message, logprobs: null }],
    usage: sdkUsage(result.usage),
  }
}

/** How a stream is converted. */
interface StreamOptions extends AnswerFrame {
  /** Whether the client requested usage. */
  includeUsage: boolean
  /** Called with the token counts when they are known. */
  counted(usage: Usage): void
  /** The error to throw for an error part, or without one for an incomplete response. */
  failure(error?: unknown): Error
}

/** The chunks of a stream; throws when the provider aborts it or ends it early. */
export async function* sdkChunks(
  parts: AsyncIterable<StreamPart>,
  streaming: StreamOptions,
): AsyncGenerator<EventBatch> {
  const { created, model, includeUsage, counted, failure, modelPackage } = streaming
  let id = streaming.id
  let began = false
  const calls = callDeltas(modelPackage)
  const chunk = (choices: ChatChunk['choices'], usage: Usage | null = null) => ({
    ...{ id, object: 'chat.completion.chunk', created, model, system_fingerprint: '', choices },
    ...(includeUsage ? { usage } : {}),
  })
  const choice = (delta: Delta, finish: FinishReason | null = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: finish }])
  for await (const part of parts) {
    if (part.type === 'response-metadata') id = part.id ?? id
    else if (part.type === 'error') throw failure(part.error)
    else if (part.type === 'finish') {
      const finish = finishOf(part.finishReason, calls.count())
      if (!finish) break
      const usage = sdkUsage(part.usage)
      counted(usage)
      yield [dataEvent(choice({}, finish)), ...(includeUsage ? [dataEvent(chunk([], usage))] : [])]
      return
    } else {
      const delta = part.type.startsWith('tool-') ? calls.of(part) : textDelta(part, modelPackage)
      if (!delta) continue
      const role = choice({ role: 'assistant', content: delta.content === undefined ? null : '', refusal: null })
      const content = dataEvent(choice(delta), { tokens: 1 })
      yield began ? [content] : [dataEvent(role), content]
      began = true
    }
  }
  throw failure()
}

function textDelta(part: StreamPart, modelPackage: ModelPackage): Delta | undefined {
  switch (part.type) {
    case 'text-delta':
      return part.delta ? { content: part.delta } : undefined
    case 'reasoning-start': {
      const { redacted: data } = marksOf(part.providerMetadata, modelPackage)
      return data ? { redacted_reasoning: data } : undefined
    }
    case 'reasoning-delta': {
      const { signature } = marksOf(part.providerMetadata, modelPackage)
      if (!part.delta && !signature) return undefined
      return {
        ...(part.delta ? { reasoning: part.delta } : {}),
        ...(signature ? { reasoning_signature: signature } : {}),
      }
    }
    default:
      return undefined
  }
}

/** Tool calls of a stream: which have begun, and which have arguments. */
function callDeltas(modelPackage: ModelPackage) {
  const calls = new Map<string, { index: number; filled: boolean }>()
  const begin = (id: string, name: string): Delta => {
    const index = calls.size
    calls.set(id, { index, filled: false })
    return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }
  }
  const of = (part: StreamPart): Delta | undefined => {
    switch (part.type) {
      case 'tool-input-start':
        return part.providerExecuted ? undefined : begin(part.id, part.toolName)
      case 'tool-input-delta': {
        const call = calls.get(part.id)
        if (!call || !part.delta) return undefined
        call.filled = true
        return { tool_calls: [{ index: call.index, function: { arguments: part.delta } }] }
      }
      case 'tool-call': {
        if (part.providerExecuted) return undefined
        const begun = calls.get(part.toolCallId)
        const whole = toolCall(part, begun?.index ?? calls.size, modelPackage)
        if (!begun) begin(part.toolCallId, part.toolName)
        const { thought_signature } = whole
        if (!begun) return { tool_calls: [whole] }
        if (begun.filled && !thought_signature) return undefined
        const rest = begun.filled ? '' : part.input
        const signed = thought_signature ? { thought_signature } : {}
        return { tool_calls: [{ index: begun.index, function: { arguments: rest }, ...signed }] }
      }
      default:
        return undefined
    }
  }
  return { of, count: () => calls.size }
}
