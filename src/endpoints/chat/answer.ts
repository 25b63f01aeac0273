// Makes the answer of a chat call from a script: its parts first, then whole or as chunks from the same parts.
import { logprobsOf } from '../../backends/fixture/logprobs.ts'
import { cutText, type Piece, type TextAnswer, textOf, usageOf } from '../../backends/fixture/text-answer.ts'
import type { ChatCompletion, TokenLogprob } from '../../contract/chat.ts'
import type { ChatRequest } from '../../contract/chat-request.ts'
import type { Composed, Making } from '../../contract/operation.ts'
import type { TextScript } from '../../contract/script.ts'
import { fingerprint } from '../../lib/ids.ts'
import { chunksOf } from './chunks.ts'
import { audioInputTokens, effortOf, promptTokens } from './prompt.ts'
import { cachedTokens } from './prompt-cache.ts'

/** The sound of an answer. */
export interface Sound {
  id: string
  expiresAt: number
  bytes: Uint8Array
}

/** One choice with everything it may carry. */
export interface ChoiceParts {
  answer: TextAnswer
  callIds: string[]
  signature: string | undefined
  logprobs: ((pieces: readonly Piece[]) => TokenLogprob[]) | undefined
  sound: Sound | undefined
}

/** Fields that every form of an answer begins with. */
export interface Frame {
  id: string
  created: number
  model: string
  system_fingerprint: string
}

const AUDIO_TOKENS_PER_SECOND = 20
const AUDIO_LIFETIME_S = 3600

export function compose(
  request: ChatRequest,
  script: TextScript,
  making: Making & { model: string },
): Composed | Promise<Composed> {
  const { audio, modalities } = request
  const answer = answerOf(request, script)
  if (!audio || !modalities?.includes('audio') || !answer.content) return composed(request, script, making, { answer })
  return speak(textOf(answer.content), audio, making).then(({ sound, seconds }) =>
    composed(request, script, making, { answer, sound, seconds }),
  )
}

function answerOf(request: ChatRequest, script: TextScript): TextAnswer {
  const { thinking } = request
  const mute = request.reasoning_effort === 'none' || thinking?.type === 'disabled'
  return cutText(script, {
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    stop: typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []),
    reasoningTokens: mute ? 0 : thinking?.type === 'enabled' ? thinking.budget_tokens : undefined,
    parallelToolCalls: request.parallel_tool_calls ?? undefined,
  })
}

async function speak(
  transcript: string,
  { voice, format }: NonNullable<ChatRequest['audio']>,
  making: Making,
): Promise<{ sound: Sound; seconds: number }> {
  const { renderSpeech } = await import('../../lib/speech.ts')
  const { bytes, seconds } = await renderSpeech({ text: transcript, voice, format })
  const sound = { id: `audio_${making.id}`, expiresAt: Math.floor(making.now / 1000) + AUDIO_LIFETIME_S, bytes }
  return { sound, seconds }
}

interface Answered {
  answer: TextAnswer
  sound?: Sound
  seconds?: number
}

function composed(
  request: ChatRequest,
  script: TextScript,
  making: Making & { model: string },
  { answer, sound, seconds = 0 }: Answered,
): Composed {
  const count = request.n ?? 1
  const choices = Array.from(
    { length: count },
    (_, index): ChoiceParts => ({
      answer,
      callIds: answer.toolCalls.map(({ id }, call) => id ?? `call_${fingerprint(`${making.id}:${index}:${call}`)}`),
      signature: answer.reasoning.length > 0 && effortOf(request) ? fingerprint(textOf(answer.reasoning)) : undefined,
      logprobs: request.logprobs
        ? (pieces) => logprobsOf(pieces, request.top_logprobs ?? 0, `${making.model}:${textOf(pieces)}`)
        : undefined,
      sound,
    }),
  )
  const usage = usageOf(
    script,
    promptTokens(request),
    choices.map((choice) => choice.answer),
    {
      ...cachedTokens(request, making),
      audioIn: audioInputTokens(request),
      audioOut: Math.ceil(seconds * AUDIO_TOKENS_PER_SECOND) * count,
    },
  )
  const frame: Frame = {
    id: `chatcmpl-${making.id}`,
    created: Math.floor(making.now / 1000),
    model: making.model,
    system_fingerprint: `fp_${fingerprint(making.model).slice(0, 10)}`,
  }
  return {
    usage,
    tokens: answer.tokens,
    body: () => ({ ...frame, object: 'chat.completion', choices: choices.map(wholeChoice), usage }),
    events: () => chunksOf(frame, choices, request.stream_options?.include_usage ? usage : undefined),
  }
}

function wholeChoice(parts: ChoiceParts, index: number): ChatCompletion['choices'][number] {
  const { answer, callIds, signature, logprobs, sound } = parts
  const { content, refusal, reasoning, toolCalls } = answer
  return {
    index,
    message: {
      role: 'assistant',
      content: sound ? null : content && textOf(content),
      refusal: refusal && textOf(refusal),
      ...(reasoning.length > 0 ? { reasoning: textOf(reasoning) } : {}),
      ...(signature ? { reasoning_signature: signature } : {}),
      ...(toolCalls.length > 0
        ? {
            tool_calls: toolCalls.map((call, number) => ({
              index: number,
              id: callIds[number] ?? '',
              type: 'function' as const,
              function: { name: call.name, arguments: textOf(call.arguments) },
            })),
          }
        : {}),
      ...(sound
        ? {
            audio: {
              id: sound.id,
              expires_at: sound.expiresAt,
              data: Buffer.from(sound.bytes).toString('base64'),
              transcript: textOf(content ?? []),
            },
          }
        : {}),
    },
    logprobs: logprobs
      ? { content: content && !sound ? logprobs(content) : null, refusal: refusal && logprobs(refusal) }
      : null,
    finish_reason: answer.finish,
  }
}
