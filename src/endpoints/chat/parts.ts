// The parts of a chat response, before they are serialized.
import type { TextAnswer, TextChunk } from '../../answers/text-answer.ts'
import type { TokenLogprob } from '../../contract/router/chat.ts'
import { fingerprint } from '../../lib/ids.ts'
import { remembering } from '../../lib/remember.ts'

/** The audio of a response. */
export interface ChatAudio {
  id: string
  expiresAt: number
  bytes: Uint8Array
}

/** A choice with all of its parts. */
export interface ChoiceParts {
  answer: TextAnswer
  callIds: readonly string[]
  signature: string | undefined
  logprobs: ((pieces: readonly TextChunk[]) => TokenLogprob[]) | undefined
  sound: ChatAudio | undefined
  /** Fields that only a provider's response has, as one more piece of a stream. */
  more?: object | undefined
  /** Whether the client uses the deprecated `functions`, and reads `function_call`. */
  legacy: boolean
}

/** A choice that has a text. */
export type TextChoice = ChoiceParts & { answer: { content: readonly TextChunk[] } }
/** Whether a choice is only a text with the finish reason `stop`. */
export function isText(choice: ChoiceParts): choice is TextChoice {
  const { answer, signature, logprobs, sound, more } = choice
  const { content, refusal, reasoning, toolCalls, finish } = answer
  const besides = reasoning.length > 0 || toolCalls.length > 0 || refusal || signature || logprobs || sound || more
  return content !== null && finish === 'stop' && !besides
}

/** Fields at the beginning of every form of a response. */
export interface ChatFrame {
  id: string
  created: number
  model: string
  system_fingerprint: string
}

/** The `system_fingerprint` of generated responses. The last one is cached, which saves 0.15 us an event. */
export const systemFingerprint = remembering((model: string) => `fp_${fingerprint(model).slice(0, 10)}`)
