// The parts of a chat answer before they are put on the wire.
import type { TextAnswer, TextChunk } from '../../answers/text-answer.ts'
import type { TokenLogprob } from '../../contract/router/chat.ts'

/** The sound of an answer. */
export interface ChatAudio {
  id: string
  expiresAt: number
  bytes: Uint8Array
}

/** One choice with everything it may carry. */
export interface ChoiceParts {
  answer: TextAnswer
  callIds: readonly string[]
  signature: string | undefined
  logprobs: ((pieces: readonly TextChunk[]) => TokenLogprob[]) | undefined
  sound: ChatAudio | undefined
  /** What only a provider's answer has, as one more piece of a stream. */
  more?: object | undefined
  /** Whether the client is from before there were tools, and reads a `function_call`. */
  legacy: boolean
}

/** A choice with a text. */
export type TextChoice = ChoiceParts & { answer: { content: readonly TextChunk[] } }
/** Whether a choice is a text that came to its own end, with nothing beside it. */
export function isText(choice: ChoiceParts): choice is TextChoice {
  const { answer, signature, logprobs, sound, more } = choice
  const { content, refusal, reasoning, toolCalls, finish } = answer
  const besides = reasoning.length > 0 || toolCalls.length > 0 || refusal || signature || logprobs || sound || more
  return content !== null && finish === 'stop' && !besides
}

/** Fields that every form of an answer begins with. */
export interface ChatFrame {
  id: string
  created: number
  model: string
  system_fingerprint: string
}
