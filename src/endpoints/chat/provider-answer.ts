// How an answer of a chat model is read when a provider made it, and told again when the cache has it.
import type { TextAnswer, TextPiece } from '../../answers/text-answer.ts'
import { pieces } from '../../answers/text-answer.ts'
import type { ChatCompletion, TokenLogprob } from '../../contract/chat.ts'
import type { ChatRequest, Message } from '../../contract/chat-request.ts'
import { callsOf } from '../../contract/chat-tools.ts'
import type { AnswerContext, RenderedAnswer, StreamRules } from '../../contract/operation.ts'
import { chatChunks } from './chunks.ts'
import type { ChoiceParts } from './parts.ts'
import { chatContentText } from './prompt.ts'

type Fields = Record<string, unknown>
const choicesOf = (data: Fields): Fields[] => (Array.isArray(data.choices) ? data.choices : [])
/** Whether a part of a message has something in it: a text, or a list that is not empty. */
const filled = (value: unknown): boolean =>
  typeof value === 'string' || Array.isArray(value) ? value.length > 0 : value != null

const VISIBLE = ['content', 'refusal', 'reasoning', 'reasoning_content', 'tool_calls', 'audio', 'function_call']

/** What a stream of chat chunks must be like. */
export const chatEvents: StreamRules = {
  wrongWith: (data) => (Array.isArray(data.choices) ? undefined : "it has no 'choices'"),
  hasContent: (data) =>
    choicesOf(data).some(({ delta }) => VISIBLE.some((field) => filled((delta as Fields | undefined)?.[field]))),
  complete(events) {
    const finished = new Map<unknown, boolean>()
    for (const { index, finish_reason: reason } of events.flatMap(({ data }) => choicesOf(data as Fields)))
      finished.set(index, finished.get(index) === true || reason != null)
    return finished.size > 0 && [...finished.values()].every(Boolean)
  },
}

/** Why a whole answer is none: without choices, or with one that never finished. */
export function chatProblem(answer: Fields): string | undefined {
  const choices = choicesOf(answer)
  if (choices.length === 0) return "it has no 'choices'"
  const open = choices.findIndex(({ finish_reason: reason }) => reason == null)
  return open < 0 ? undefined : `choices[${open}] has no finish reason`
}

/** A stored answer under a new id, whole or as chunks. */
export function replayChat(
  request: ChatRequest,
  stored: object,
  answerContext: AnswerContext,
): Pick<RenderedAnswer, 'body' | 'events'> {
  const answer = {
    ...(stored as ChatCompletion),
    id: `chatcmpl-${answerContext.id}`,
    created: Math.floor(answerContext.now / 1000),
  }
  const { choices, usage, object: _, ...frame } = answer
  return {
    body: () => answer,
    events: () => chatChunks(frame, choices.map(partsOf), request.stream_options?.include_usage ? usage : undefined),
  }
}

function partsOf({ message, finish_reason: finish, logprobs }: ChatCompletion['choices'][number]): ChoiceParts {
  const { content, refusal, reasoning, reasoning_signature: signature, audio, function_call: old } = message
  const calls = callsOf(message)
  const split = (text: string | null | undefined) => (text == null ? null : pieces(text))
  const answer: TextAnswer = {
    content: split(audio ? audio.transcript : content),
    refusal: split(refusal),
    reasoning: split(reasoning) ?? [],
    toolCalls: calls.map(({ kind, name, id, text }) => ({ kind, name, id, arguments: pieces(text) })),
    finish,
    tokens: 0,
    reasoningTokens: 0,
  }
  return {
    answer,
    callIds: calls.map(({ id }) => id),
    signature,
    logprobs: logprobs ? inOrder([...(logprobs.content ?? []), ...(logprobs.refusal ?? [])]) : undefined,
    legacy: old !== undefined,
    sound: audio && { id: audio.id, expiresAt: audio.expires_at, bytes: Buffer.from(audio.data, 'base64') },
  }
}

/** Gives out stored log probabilities as their pieces come: text first, then a refusal. */
function inOrder(stored: readonly TokenLogprob[]): (pieces: readonly TextPiece[]) => TokenLogprob[] {
  const left = [...stored]
  return (asked) =>
    left.splice(
      0,
      asked.reduce((total, piece) => total + piece.tokens, 0),
    )
}

/** What the user says anywhere in the conversation. */
export const chatInputTexts = ({ messages }: ChatRequest): string[] =>
  messages
    .filter(({ role }) => role === 'user' || role === 'tool' || role === 'function')
    .map(({ content }) => chatContentText(content))

/** What the model says in any choice, its tools' arguments included. */
export const chatOutputTexts = (answer: object): string[] =>
  (answer as ChatCompletion).choices.flatMap(({ message }) =>
    [message.content, message.refusal, ...callsOf(message).map(({ text }) => text)].filter((text) => text != null),
  )

/** The request with a system message of what was found before all others. */
export const addChatContext = (request: ChatRequest, context: string): ChatRequest => ({
  ...request,
  messages: [{ role: 'system', content: `Use this context to answer:\n\n${context}` } as Message, ...request.messages],
})
