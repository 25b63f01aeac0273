// Composes the items of a response from a script.
import { logprobsOf } from '../../answers/logprobs.ts'
import { joinTokenChunks, type TextAnswer } from '../../answers/text-answer.ts'
import type { AnswerContext } from '../../contract/core/operation.ts'
import type { ResponsesRequest } from '../../contract/router/responses.ts'
import type { ContentPart, OutputItem } from '../../contract/router/responses-answer.ts'
import { fingerprint } from '../../lib/ids.ts'
import { encryptReasoning } from '../../lib/issued.ts'
import { itemId } from './conversation.ts'
import { showsSummary, withLogprobs } from './echo.ts'

/** Why a response is incomplete; undefined for a complete one. */
export function incompleteReason({ finish }: TextAnswer): 'max_output_tokens' | 'content_filter' | undefined {
  if (finish === 'length') return 'max_output_tokens'
  return finish === 'content_filter' ? 'content_filter' : undefined
}

/** The joined text of all text parts. */
export const outputText = (output: readonly OutputItem[]): string =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('')

interface ItemContext {
  request: ResponsesRequest
  answer: TextAnswer
  answerContext: AnswerContext
  index: number
}

/** The items in the order in which a model writes them; the last one is incomplete if the response was cut. */
export function outputOf(request: ResponsesRequest, answer: TextAnswer, answerContext: AnswerContext): OutputItem[] {
  const kinds = [
    ...(answer.reasoning.length > 0 ? [reasoningItem] : []),
    ...(speaks(answer) ? [messageItem] : []),
    ...answer.toolCalls.map((call) => callItem(call)),
  ]
  const output = kinds.map((item, index) => item({ request, answer, answerContext, index }))
  const last = output.at(-1)
  if (last && incompleteReason(answer)) last.status = 'incomplete'
  return output
}

// There is no empty message next to a tool call, or when the token limit left no room for one.
const speaks = ({ content, refusal, toolCalls, finish }: TextAnswer): boolean =>
  (content?.length ?? 0) + (refusal?.length ?? 0) > 0 || (toolCalls.length === 0 && finish !== 'length')

function reasoningItem({ request, answer, answerContext, index }: ItemContext): OutputItem {
  const id = itemId('rs', answerContext.id, index)
  const encrypted = request.include?.includes('reasoning.encrypted_content')
  return {
    id,
    type: 'reasoning',
    status: 'completed',
    summary: showsSummary(request) ? [{ type: 'summary_text', text: joinTokenChunks(answer.reasoning) }] : [],
    ...(encrypted ? { encrypted_content: encryptReasoning(answerContext.secret, id) } : {}),
  }
}

function messageItem({ request, answer, answerContext, index }: ItemContext): OutputItem {
  const { content: chunks, refusal } = answer
  const content: ContentPart[] = []
  if (chunks && (chunks.length > 0 || !refusal)) {
    const logprobs = withLogprobs(request) ? logprobsOf(chunks, request.top_logprobs ?? 0, answerContext.id) : []
    content.push({ type: 'output_text', text: joinTokenChunks(chunks), annotations: [], logprobs })
  }
  if (refusal) content.push({ type: 'refusal', refusal: joinTokenChunks(refusal) })
  return {
    id: itemId('msg', answerContext.id, index),
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content,
  }
}

const callItem =
  ({ kind, name, id, arguments: chunks }: TextAnswer['toolCalls'][number]) =>
  ({ answerContext, index }: ItemContext): OutputItem => {
    const text = joinTokenChunks(chunks)
    const call = {
      status: 'completed' as const,
      call_id: id ?? `call_${fingerprint(`${answerContext.id}:${index}`)}`,
      name,
    }
    if (kind === 'custom')
      return { id: itemId('ctc', answerContext.id, index), type: 'custom_tool_call', ...call, input: text }
    return { id: itemId('fc', answerContext.id, index), type: 'function_call', ...call, arguments: text }
  }
