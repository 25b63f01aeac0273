// The items of a response as a script has them, each with the pieces in which its texts are streamed.
import { logprobsOf } from '../../backends/fixture/logprobs.ts'
import { type Piece, type TextAnswer, textOf } from '../../backends/fixture/text-answer.ts'
import type { TokenLogprob } from '../../contract/chat.ts'
import type { Making } from '../../contract/operation.ts'
import type { ResponsesRequest } from '../../contract/responses.ts'
import type { ContentPart, OutputItem } from '../../contract/responses-answer.ts'
import { fingerprint, unguessable } from '../../lib/ids.ts'
import { itemId } from './conversation.ts'
import { showsSummary, withLogprobs } from './echo.ts'

/** A piece of an answer's text with the log probabilities of its tokens, when they were asked for. */
export interface OutputPiece extends Piece {
  logprobs: TokenLogprob[]
}

/** A finished item, with what its texts (the parts of a message, arguments, a summary) are streamed in. */
export interface Draft {
  item: OutputItem
  pieces: OutputPiece[][]
  /** Tokens that the item costs without showing them. */
  hidden: number
}

/** Why an answer ended before it was whole; undefined when it is whole. */
export function incompleteReason({ finish }: TextAnswer): 'max_output_tokens' | 'content_filter' | undefined {
  if (finish === 'length') return 'max_output_tokens'
  return finish === 'content_filter' ? 'content_filter' : undefined
}

/** The text of all text parts together. */
export const outputText = (output: readonly OutputItem[]): string =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('')

/** The items in the order in which a model writes them; where an answer was cut, the last one is incomplete. */
export function draftsOf(request: ResponsesRequest, answer: TextAnswer, making: Making): Draft[] {
  const kinds = [
    ...(answer.reasoning.length > 0 ? [reasoningDraft] : []),
    ...(speaks(answer) ? [messageDraft] : []),
    ...answer.toolCalls.map((call) => callDraft(call)),
  ]
  const drafts = kinds.map((draft, index) => draft({ request, answer, making, index }))
  const last = drafts.at(-1)
  if (last && incompleteReason(answer)) last.item.status = 'incomplete'
  return drafts
}

// An empty message says nothing when there is a call beside it, or when the limit left no room for it.
const speaks = ({ content, refusal, toolCalls, finish }: TextAnswer): boolean =>
  (content?.length ?? 0) + (refusal?.length ?? 0) > 0 || (toolCalls.length === 0 && finish !== 'length')

interface Place {
  request: ResponsesRequest
  answer: TextAnswer
  making: Making
  index: number
}

const plain = (pieces: readonly Piece[]): OutputPiece[] => pieces.map((piece) => ({ ...piece, logprobs: [] }))

function reasoningDraft({ request, answer, making, index }: Place): Draft {
  const id = itemId('rs', making.id, index)
  const shown = showsSummary(request)
  const encrypted = request.include?.includes('reasoning.encrypted_content')
  return {
    item: {
      id,
      type: 'reasoning',
      status: 'completed',
      summary: shown ? [{ type: 'summary_text', text: textOf(answer.reasoning) }] : [],
      ...(encrypted ? { encrypted_content: btoa(unguessable(making.secret, id)) } : {}),
    },
    pieces: shown ? [plain(answer.reasoning)] : [],
    hidden: shown ? 0 : answer.reasoningTokens,
  }
}

function messageDraft({ request, answer, making, index }: Place): Draft {
  const content: ContentPart[] = []
  const pieces: OutputPiece[][] = []
  if (answer.content && (answer.content.length > 0 || !answer.refusal)) {
    const logprobs = withLogprobs(request) ? logprobsOf(answer.content, request.top_logprobs ?? 0, making.id) : []
    const text = answer.content.map((piece, number) => ({ ...piece, logprobs: logprobs.slice(number, number + 1) }))
    content.push({ type: 'output_text', text: textOf(text), annotations: [], logprobs })
    pieces.push(text)
  }
  if (answer.refusal) {
    content.push({ type: 'refusal', refusal: textOf(answer.refusal) })
    pieces.push(plain(answer.refusal))
  }
  const id = itemId('msg', making.id, index)
  return { item: { id, type: 'message', status: 'completed', role: 'assistant', content }, pieces, hidden: 0 }
}

const callDraft =
  (call: TextAnswer['toolCalls'][number]) =>
  ({ making, index }: Place): Draft => ({
    item: {
      id: itemId('fc', making.id, index),
      type: 'function_call',
      status: 'completed',
      call_id: call.id ?? `call_${fingerprint(`${making.id}:${index}`)}`,
      name: call.name,
      arguments: textOf(call.arguments),
    },
    pieces: [plain(call.arguments)],
    hidden: 0,
  })
