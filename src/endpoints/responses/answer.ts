// Composes a model response from a script, whole or as events.
import { logprobsOf } from '../../answers/logprobs.ts'
import { cutText, joinTokenChunks, type TextAnswer, type TextChunk, tokenChunks } from '../../answers/text-answer.ts'
import { usageOf } from '../../answers/usage.ts'
import type { AttemptContext, RenderedAnswer } from '../../contract/core/operation.ts'
import type { ResponsesRequest } from '../../contract/router/responses.ts'
import type {
  ContentPart,
  ModelResponse,
  OutputItem,
  ResponseEvent,
  ResponseUsage,
} from '../../contract/router/responses-answer.ts'
import { calledTools } from '../../contract/router/responses-tools.ts'
import type { TextScript } from '../../contract/router/script.ts'
import { fingerprint } from '../../lib/ids.ts'
import { encryptReasoning } from '../../lib/issued.ts'
import { dataEvent, type StreamEvent } from '../../lib/sse.ts'
import { reasoningLimit } from '../common.ts'
import { itemId, responseId } from './conversation.ts'
import { responsesPromptTokens } from './reading.ts'

/** The response to a request: the script within the limits of the request. */
export function composeResponse(
  request: ResponsesRequest,
  script: TextScript,
  attempt: AttemptContext,
): RenderedAnswer {
  const { model, answerContext } = attempt
  const answer = cutText(script, {
    maxTokens: request.max_output_tokens ?? undefined,
    stop: [],
    reasoningTokens: reasoningLimit(request.reasoning?.effort, request.thinking),
    parallelToolCalls: request.parallel_tool_calls ?? undefined,
    customTools: calledTools(request.tools).flatMap(({ type, name }) => (type === 'custom' ? [name] : [])),
  })
  const usage = responseUsage(script, responsesPromptTokens(request), answer)
  const reason = incompleteReason(answer)
  const response = (): ModelResponse => {
    const output = outputOf(request, answer, attempt)
    return {
      id: responseId(answerContext.id),
      object: 'response',
      created_at: Math.floor(answerContext.now / 1000),
      status: reason ? 'incomplete' : 'completed',
      error: null,
      incomplete_details: reason ? { reason } : null,
      model,
      output,
      output_text: outputText(output),
      ...echoOf(request),
      usage,
    }
  }
  return { usage, tokens: answer.tokens, body: response, events: () => eventsOf(response()) }
}

function responseUsage(script: TextScript, tokens: number, answer: TextAnswer): ResponseUsage {
  const { prompt_tokens, completion_tokens, total_tokens } = usageOf(script, tokens, [answer])
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: completion_tokens,
    output_tokens_details: {
      reasoning_tokens: answer.reasoningTokens,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    total_tokens,
  }
}

/** Why a response is incomplete; undefined for a complete one. */
function incompleteReason({ finish }: TextAnswer): 'max_output_tokens' | 'content_filter' | undefined {
  if (finish === 'length') return 'max_output_tokens'
  return finish === 'content_filter' ? 'content_filter' : undefined
}

/** The joined text of all text parts. */
export const outputText = (output: readonly OutputItem[]): string =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('')

/** The items in the order in which a model writes them; the last one is incomplete if the response was cut. */
function outputOf(
  request: ResponsesRequest,
  answer: TextAnswer,
  { model, answerContext: { id: call, secret } }: AttemptContext,
): OutputItem[] {
  const { reasoning, content: chunks, refusal, toolCalls, finish } = answer
  const status = 'completed' as const
  const output: OutputItem[] = []
  const nextId = (prefix: string) => itemId(prefix, call, output.length)
  if (reasoning.length > 0) {
    const id = nextId('rs')
    const encrypted = request.include?.includes('reasoning.encrypted_content')
    output.push({
      id,
      type: 'reasoning',
      status,
      summary: showsSummary(request) ? [{ type: 'summary_text', text: joinTokenChunks(reasoning) }] : [],
      ...(encrypted ? { encrypted_content: encryptReasoning(secret, id) } : {}),
    })
  }
  // There is no empty message next to a tool call, or when the token limit left no room for one.
  const hasText = (chunks?.length ?? 0) + (refusal?.length ?? 0) > 0
  if (hasText || (toolCalls.length === 0 && finish !== 'length')) {
    const content: ContentPart[] = []
    if (chunks && (chunks.length > 0 || !refusal)) {
      const logprobs = withLogprobs(request)
        ? logprobsOf(chunks, request.top_logprobs ?? 0, `${model}:${joinTokenChunks(chunks)}`)
        : []
      content.push({ type: 'output_text', text: joinTokenChunks(chunks), annotations: [], logprobs })
    }
    if (refusal) content.push({ type: 'refusal', refusal: joinTokenChunks(refusal) })
    output.push({ id: nextId('msg'), type: 'message', status, role: 'assistant', content })
  }
  for (const { kind, name, id, arguments: input } of toolCalls) {
    const about = { status, call_id: id ?? `call_${fingerprint(`${call}:${output.length}`)}`, name }
    const text = joinTokenChunks(input)
    output.push(
      kind === 'custom'
        ? { id: nextId('ctc'), type: 'custom_tool_call', ...about, input: text }
        : { id: nextId('fc'), type: 'function_call', ...about, arguments: text },
    )
  }
  const last = output.at(-1)
  if (last && incompleteReason(answer)) last.status = 'incomplete'
  return output
}

/** The fields of the request that a response repeats, with their defaults, in the forms that strict clients accept. */
const echoOf = (request: ResponsesRequest) => ({
  background: request.background ?? false,
  instructions: request.instructions ?? null,
  max_output_tokens: request.max_output_tokens ?? null,
  parallel_tool_calls: request.parallel_tool_calls ?? true,
  previous_response_id: request.previous_response_id ?? null,
  reasoning: { effort: request.reasoning?.effort ?? null, summary: request.reasoning?.summary ?? null },
  service_tier: request.service_tier ?? 'auto',
  store: request.store ?? true,
  temperature: request.temperature ?? 1,
  text: {
    format: formatEcho(request),
    ...(request.text?.verbosity ? { verbosity: request.text.verbosity } : {}),
  },
  tool_choice: choiceEcho(request),
  tools: toolsEcho(request),
  top_logprobs: request.top_logprobs ?? 0,
  logprobs: withLogprobs(request),
  top_p: request.top_p ?? 1,
  truncation: request.truncation ?? 'disabled',
  user: request.user ?? null,
  metadata: request.metadata ?? {},
})

/** Whether the text includes log probabilities. */
const withLogprobs = ({ include, top_logprobs }: ResponsesRequest): boolean =>
  include?.includes('message.output_text.logprobs') === true || (top_logprobs ?? 0) > 0

/** Whether the response contains a summary of its reasoning, or only counts it. */
const showsSummary = ({ reasoning, thinking }: ResponsesRequest): boolean =>
  reasoning?.summary != null || (thinking != null && thinking.type !== 'disabled')

function formatEcho({ text }: ResponsesRequest): ModelResponse['text']['format'] {
  const format = text?.format ?? { type: 'text' }
  if (format.type !== 'json_schema') return { type: format.type }
  const { name, description, schema, strict } = format
  return { type: 'json_schema', name, ...(description ? { description } : {}), schema, strict: strict ?? true }
}

// Strict clients accept a function only in the nested form, and no other object.
function choiceEcho({ tool_choice: choice }: ResponsesRequest): ModelResponse['tool_choice'] {
  if (choice == null) return 'auto'
  if (typeof choice === 'string') return choice
  if (choice.type === 'function') return { type: 'function', function: { name: choice.name as string } }
  return choice.type === 'allowed_tools' ? (choice.mode as 'auto' | 'required') : 'required'
}

const toolsEcho = ({ tools }: ResponsesRequest): ModelResponse['tools'] =>
  (tools ?? []).map((tool) => {
    if (tool.type !== 'function') return tool
    const { type, name, description, parameters, strict } = tool
    const optional = { ...(description == null ? {} : { description }), ...(parameters == null ? {} : { parameters }) }
    return { type, name, ...optional, strict: strict ?? true }
  })

type WithoutNumber<Event> = Event extends ResponseEvent ? Omit<Event, 'sequence_number'> : never
type Send = (event: WithoutNumber<ResponseEvent>, tokens?: number) => void

/** All events of a response. */
export function eventsOf(response: ModelResponse): StreamEvent[] {
  const events: StreamEvent[] = []
  const send: Send = ({ type, ...rest }, tokens) => {
    events.push(
      dataEvent({ type, sequence_number: events.length, ...rest }, { event: type, tokens: tokens || undefined }),
    )
  }
  const { usage, output, status, ...fields } = response
  const begun: ModelResponse = {
    ...fields,
    status: 'in_progress',
    incomplete_details: null,
    output: [],
    output_text: '',
  }
  send({ type: 'response.created', response: begun })
  send({ type: 'response.in_progress', response: begun })
  for (const [index, item] of output.entries()) {
    send({ type: 'response.output_item.added', output_index: index, item: emptied(item) })
    sendTexts(send, item, { item_id: item.id, output_index: index })
    // Reasoning takes its time even when it is not shown.
    const hidden = item.type === 'reasoning' && item.summary.length === 0
    const tokens = hidden ? usage?.output_tokens_details?.reasoning_tokens : 0
    send({ type: 'response.output_item.done', output_index: index, item }, tokens)
  }
  send({ type: status === 'incomplete' ? 'response.incomplete' : 'response.completed', response })
  return events
}

/** An item at its beginning; a provider's own items are sent unchanged. */
function emptied(item: OutputItem): OutputItem {
  const status = 'in_progress'
  if (item.type === 'message') return { ...item, status, content: [] }
  if (item.type === 'function_call') return { ...item, status, arguments: '' }
  if (item.type === 'custom_tool_call') return { ...item, status, input: '' }
  return item.type === 'reasoning' ? { ...item, status, summary: [] } : item
}

interface ItemPosition {
  item_id: string
  output_index: number
}

function sendTexts(send: Send, item: OutputItem, position: ItemPosition): void {
  if (item.type === 'message') {
    for (const [index, part] of item.content.entries()) sendPart(send, part, { ...position, content_index: index })
  } else if (item.type === 'reasoning') {
    for (const [index, part] of item.summary.entries()) sendSummary(send, part, { ...position, summary_index: index })
  } else if (item.type === 'function_call') {
    const { name, arguments: whole } = item
    for (const { text, tokens } of tokenChunks(whole))
      send({ type: 'response.function_call_arguments.delta', ...position, delta: text }, tokens)
    send({ type: 'response.function_call_arguments.done', ...position, name, arguments: whole })
  } else if (item.type === 'custom_tool_call') {
    for (const { text, tokens } of tokenChunks(item.input))
      send({ type: 'response.custom_tool_call_input.delta', ...position, delta: text }, tokens)
    send({ type: 'response.custom_tool_call_input.done', ...position, input: item.input })
  }
}

function sendSummary(
  send: Send,
  part: { type: 'summary_text'; text: string },
  at: ItemPosition & { summary_index: number },
) {
  send({ type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } })
  for (const { text, tokens } of tokenChunks(part.text))
    send({ type: 'response.reasoning_summary_text.delta', ...at, delta: text }, tokens)
  send({ type: 'response.reasoning_summary_text.done', ...at, text: part.text })
  send({ type: 'response.reasoning_summary_part.done', ...at, part })
}

function sendPart(send: Send, part: ContentPart, at: ItemPosition & { content_index: number }): void {
  if (part.type === 'refusal') {
    send({ type: 'response.content_part.added', ...at, part: { ...part, refusal: '' } })
    for (const { text, tokens } of tokenChunks(part.refusal))
      send({ type: 'response.refusal.delta', ...at, delta: text }, tokens)
    send({ type: 'response.refusal.done', ...at, refusal: part.refusal })
  } else if (part.type === 'output_text') {
    // A provider may omit the log probabilities.
    const { text: whole, logprobs = [] } = part
    send({ type: 'response.content_part.added', ...at, part: { ...part, text: '', logprobs: [] } })
    for (const { text, tokens, share } of shared(tokenChunks(whole), logprobs))
      send({ type: 'response.output_text.delta', ...at, delta: text, logprobs: share }, tokens)
    send({ type: 'response.output_text.done', ...at, text: whole, logprobs })
  } else {
    // A part of a type that only the provider knows.
    send({ type: 'response.content_part.added', ...at, part })
  }
  send({ type: 'response.content_part.done', ...at, part })
}

/** Assigns log probabilities to token chunks: one each, unless a provider split the text otherwise. */
function shared<Entry>(texts: readonly TextChunk[], entries: readonly Entry[]) {
  const upTo = (index: number) => Math.floor((index * entries.length) / texts.length)
  return texts.map((piece, index) => ({ ...piece, share: entries.slice(upTo(index), upTo(index + 1)) }))
}
