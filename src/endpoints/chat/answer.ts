// Composes a chat response from a script: first its parts, then a whole body or chunks from them.
import { inWorker } from '../../answers/in-worker.ts'
import { logprobsOf } from '../../answers/logprobs.ts'
import { cutText, joinTokenChunks, type TextAnswer } from '../../answers/text-answer.ts'
import { usageOf } from '../../answers/usage.ts'
import type { AttemptContext, RenderedAnswer } from '../../contract/core/operation.ts'
import type { AnswerToolCall, ChatCompletion, Usage } from '../../contract/router/chat.ts'
import type { ChatRequest } from '../../contract/router/chat-request.ts'
import { type ChatTool, offerOf } from '../../contract/router/chat-tools.ts'
import type { TextScript } from '../../contract/router/script.ts'
import { fingerprint } from '../../lib/ids.ts'
import { signThought } from '../../lib/issued.ts'
import type { EventBatch } from '../../lib/sse.ts'
import { reasoningLimit } from '../common.ts'
import { type ChatAudio, type ChatFrame, type ChoiceParts, chatChunks, systemFingerprint } from './chunks.ts'
import { audioInputTokens, chatPromptTokens, effortOf } from './prompt.ts'
import { cachedTokens } from './prompt-cache.ts'

const AUDIO_TOKENS_PER_SECOND = 20
const AUDIO_LIFETIME_S = 3600

/** Renders a script as a chat completion or as its chunks, with the counted or scripted usage. */
export function composeChat(
  request: ChatRequest,
  script: TextScript,
  attempt: AttemptContext,
): RenderedAnswer | Promise<RenderedAnswer> {
  const { audio, modalities } = request
  const answer = answerOf(request, script)
  if (!audio || !modalities?.includes('audio') || !answer.content) return composed(request, script, attempt, { answer })
  const speaking =
    script.audio === undefined ? speech(joinTokenChunks(answer.content), audio, attempt) : fixtureAudio(script.audio)
  return composedWithSound(request, script, attempt, { answer, speaking })
}

async function composedWithSound(
  request: ChatRequest,
  script: TextScript,
  attempt: AttemptContext,
  { answer, speaking }: { answer: TextAnswer; speaking: Promise<SpokenText> },
): Promise<RenderedAnswer> {
  const { bytes, seconds } = await speaking
  const { id, now } = attempt.answerContext
  const expiresAt = Math.floor(now / 1000) + AUDIO_LIFETIME_S
  const sound = { id: `audio_${id}`, expiresAt, bytes }
  return composed(request, script, attempt, { answer, sound, seconds })
}

function answerOf(request: ChatRequest, script: TextScript): TextAnswer {
  const { given, legacy } = offerOf(request)
  const answer = cutText(script, {
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    stop: typeof request.stop === 'string' ? [request.stop] : (request.stop ?? []),
    reasoningTokens: reasoningLimit(request.reasoning_effort, request.thinking),
    parallelToolCalls: legacy ? false : (request.parallel_tool_calls ?? undefined),
    customTools: given.length === 0 ? NO_NAMES : given.filter(isCustom).map(nameOf),
  })
  return legacy && answer.finish === 'tool_calls' ? { ...answer, finish: 'function_call' } : answer
}

const NO_NAMES: readonly string[] = []
const isCustom = ({ kind }: ChatTool) => kind === 'custom'
const nameOf = ({ name }: ChatTool) => name

interface SpokenText {
  bytes: Uint8Array
  seconds: number
}

const speech = (
  text: string,
  { voice, format }: NonNullable<ChatRequest['audio']>,
  { signal }: AttemptContext,
): Promise<SpokenText> => inWorker('speak', { text, voice, format }, { signal })

/** The audio of a fixture, unchanged. Files were read with the fixture. */
async function fixtureAudio(audio: NonNullable<TextScript['audio']>): Promise<SpokenText> {
  const { readAudioInfo } = await import('../../lib/media/audio-info.ts')
  const bytes = Buffer.from(String(audio), 'base64')
  return { bytes, seconds: (await readAudioInfo(bytes))?.seconds ?? 0 }
}

interface ChatParts {
  answer: TextAnswer
  sound?: ChatAudio
  seconds?: number
}

function composed(
  request: ChatRequest,
  script: TextScript,
  { model, answerContext }: AttemptContext,
  { answer, sound, seconds = 0 }: ChatParts,
): RenderedAnswer {
  const { id, now } = answerContext
  const count = request.n ?? 1
  const { legacy } = offerOf(request)
  const signature =
    answer.reasoning.length > 0 && effortOf(request) ? signThought(joinTokenChunks(answer.reasoning)) : undefined
  const logprobs = request.logprobs ? logprobsIn(request, model) : undefined
  const choices: ChoiceParts[] = []
  for (let index = 0; index < count; index++)
    choices.push({ answer, callIds: callIdsOf(answer, id, index), signature, logprobs, sound, legacy })
  const usage = usageOf(script, chatPromptTokens(request), choices.map(answerIn), {
    ...cachedTokens(request, answerContext),
    audioIn: audioInputTokens(request),
    audioOut: Math.ceil(seconds * AUDIO_TOKENS_PER_SECOND) * count,
  })
  return new ComposedChat(
    {
      id: `chatcmpl-${id}`,
      created: Math.floor(now / 1000),
      model,
      system_fingerprint: systemFingerprint(model),
    },
    choices,
    { usage, counted: request.stream_options?.include_usage === true },
  )
}

const NO_CALLS: readonly string[] = []
const answerIn = ({ answer }: ChoiceParts) => answer

/** The ids of the tool calls in a choice. */
const callIdsOf = ({ toolCalls }: TextAnswer, answer: string, choice: number): readonly string[] =>
  toolCalls.length === 0
    ? NO_CALLS
    : toolCalls.map(({ id }, call) => id ?? `call_${fingerprint(`${answer}:${choice}:${call}`)}`)

const logprobsIn =
  ({ top_logprobs: topLogprobs }: ChatRequest, model: string): NonNullable<ChoiceParts['logprobs']> =>
  (pieces) =>
    logprobsOf(pieces, topLogprobs ?? 0, `${model}:${joinTokenChunks(pieces)}`)

/** A chat response; each form is created on demand. */
class ComposedChat implements RenderedAnswer {
  readonly usage: Usage
  readonly tokens: number
  readonly stoppedBy?: string
  readonly #frame: ChatFrame
  readonly #choices: readonly ChoiceParts[]
  /** Whether a stream includes its usage. */
  readonly #counted: boolean

  constructor(
    frame: ChatFrame,
    choices: readonly ChoiceParts[],
    { usage, counted }: { usage: Usage; counted: boolean },
  ) {
    const [first] = choices
    this.#frame = frame
    this.#choices = choices
    this.#counted = counted
    this.usage = usage
    this.tokens = first?.answer.tokens ?? 0
    if (first?.answer.stoppedBy !== undefined) this.stoppedBy = first.answer.stoppedBy
  }

  body(): object {
    return this.#whole(this.usage)
  }

  events(): EventBatch {
    return chatChunks(this.#frame, this.#choices, this.#counted ? this.usage : undefined)
  }

  get streamed(): (() => object) | undefined {
    if (!this.#choices.every(isPlain)) return undefined
    return () => this.#whole(this.#counted ? this.usage : undefined)
  }

  #whole(usage: Usage | undefined): object {
    const { id, created, model, system_fingerprint } = this.#frame
    const choices = this.#choices.map(wholeChoice)
    const whole = { id, created, model, system_fingerprint, object: 'chat.completion', choices }
    return usage ? Object.assign(whole, { usage }) : whole
  }
}

/** Whether assembling the chunks of a choice gives the whole choice. Audio and an empty refusal differ. */
const isPlain = ({ answer, logprobs, sound }: ChoiceParts): boolean =>
  !logprobs && !sound && answer.refusal?.length !== 0

/** The tool calls, in the field that the client reads. */
function callFields({ answer: { toolCalls }, callIds, legacy }: ChoiceParts) {
  const [first] = toolCalls
  if (!first) return {}
  if (legacy) return { function_call: { name: first.name, arguments: joinTokenChunks(first.arguments) } }
  const calls = toolCalls.map((call, index): AnswerToolCall => {
    const { name, kind } = call
    const text = joinTokenChunks(call.arguments)
    const id = callIds[index] ?? ''
    if (kind === 'custom') return { index, id, type: kind, custom: { name, input: text } }
    return { index, id, type: kind, function: { name, arguments: text } }
  })
  return { tool_calls: calls }
}

function wholeChoice(parts: ChoiceParts, index: number): ChatCompletion['choices'][number] {
  const { answer, signature, logprobs, sound } = parts
  const { content, refusal, reasoning } = answer
  const message: ChatCompletion['choices'][number]['message'] = {
    role: 'assistant',
    content: sound ? null : content && joinTokenChunks(content),
    refusal: refusal && joinTokenChunks(refusal),
  }
  if (reasoning.length > 0) message.reasoning = joinTokenChunks(reasoning)
  if (signature) message.reasoning_signature = signature
  if (answer.toolCalls.length > 0) Object.assign(message, callFields(parts))
  if (sound)
    message.audio = {
      id: sound.id,
      expires_at: sound.expiresAt,
      data: Buffer.from(sound.bytes).toString('base64'),
      transcript: joinTokenChunks(content ?? []),
    }
  return {
    index,
    message,
    logprobs: logprobs
      ? { content: content && !sound ? logprobs(content) : null, refusal: refusal && logprobs(refusal) }
      : null,
    finish_reason: answer.finish,
  }
}
