// Reads a provider's chat response, and replays one from the cache.
import { textScriptOf } from '../../answers/script-of.ts'
import { type TextAnswer, type TextChunk, tokenChunks } from '../../answers/text-answer.ts'
import type { AnswerAssembly } from '../../contract/core/assembly.ts'
import type { AnswerContext, RenderedAnswer, StreamRules } from '../../contract/core/operation.ts'
import type { TokenLogprob, Usage } from '../../contract/router/chat.ts'
import type { ChatRequest, Message } from '../../contract/router/chat-request.ts'
import type { TextScript } from '../../contract/router/script.ts'
import { asIndex, asList, asObject, asText, type JsonObject, objectsIn, sumOf } from '../../lib/values.ts'
import { type ChatFrame, type ChoiceParts, chatChunks } from './chunks.ts'
import {
  chatFrame,
  chatProblem,
  chunkProblem,
  hasChatContent,
  type NormalAudio,
  type NormalCall,
  type NormalChat,
  type NormalChoice,
  normalizeChat,
} from './normalize.ts'
import { chatContentText } from './prompt.ts'

/** A choice so far, assembled from its pieces. */
interface Choice {
  index: number
  message: JsonObject & { role: 'assistant'; content: string | null; refusal: string | null }
  logprobs: NormalChoice['logprobs']
  finish_reason: string | null
  calls: NormalCall[]
}

/** Assembles a completion from its chunks. */
export function chatAssembly(): AnswerAssembly {
  let first: NormalChat | undefined
  // The first chunk with an id.
  let named: NormalChat | undefined
  let usage: NormalChat['usage']
  // Choice numbers come from the provider, so they are keys here, never array indexes.
  const choices = new Map<number, Choice>()
  return {
    add({ data }) {
      const chunk = normalizeChat(data)
      if (!first && chunk.data.id) named = chunk
      first ??= chunk
      if (!named && asText(chunk.data.id)) named = chunk
      usage = chunk.usage ?? usage
      for (const piece of chunk.choices) addPiece(choices.getOrInsertComputed(piece.index, newChoice), piece)
    },
    whole() {
      if (!first) return {}
      return {
        ...chatFrame(first),
        ...(named && named !== first && chatFrame(named)),
        object: 'chat.completion',
        choices: [...choices.values()].sort((a, b) => a.index - b.index).map(wholeChoice),
        ...(usage ? { usage } : {}),
      }
    },
  }
}

const newChoice = (index: number): Choice => ({
  index,
  message: { role: 'assistant', content: null, refusal: null },
  logprobs: null,
  finish_reason: null,
  calls: [],
})

function addPiece(choice: Choice, { texts, calls, functionCall, audio, logprobs, finish }: NormalChoice): void {
  const { message } = choice
  for (const field in texts) message[field] = (asText(message[field]) ?? '') + texts[field as keyof typeof texts]
  for (const piece of calls) addCall(choice.calls, piece)
  if (functionCall) {
    const begun = message.function_call as { name: string; arguments: string } | undefined
    const { name, arguments: input } = functionCall
    message.function_call = { name: begun?.name || name || '', arguments: (begun?.arguments ?? '') + input }
  }
  if (audio) addAudio(message, audio)
  choice.logprobs = joined(choice.logprobs, logprobs)
  choice.finish_reason = finish ?? choice.finish_reason
}

/** Adds a piece to the call with its number; without a number to the one with its id, otherwise to the last. */
function addCall(calls: NormalCall[], piece: NormalCall): void {
  const { index, id } = piece
  const call =
    index === undefined
      ? id === undefined
        ? calls.at(-1)
        : calls.find((one) => one.id === id)
      : calls.find((one) => one.index === index)
  if (!call) {
    calls.push({ ...piece, index: index ?? calls.length })
    return
  }
  call.id ??= id
  call.name ??= piece.name
  call.signature ??= piece.signature
  call.custom ||= piece.custom
  call.input += piece.input
}

function addAudio(message: JsonObject, { id, data, transcript, expires_at }: NormalAudio): void {
  const audio = (message.audio ??= { id, data: '', transcript: '', expires_at: 0 }) as Required<NormalAudio>
  audio.data += data
  audio.transcript += transcript
  audio.expires_at = expires_at ?? audio.expires_at
}

function wholeChoice({ calls, ...choice }: Choice): object {
  if (calls.length === 0) return choice
  const wholeCalls = calls.sort((a, b) => (a.index ?? 0) - (b.index ?? 0)).map(wholeCall)
  return { ...choice, message: { ...choice.message, tool_calls: wholeCalls } }
}

function wholeCall({ id = '', custom, name = '', input, signature }: NormalCall, index: number): object {
  const called = custom
    ? { index, id, type: 'custom', custom: { name, input } }
    : { index, id, type: 'function', function: { name, arguments: input } }
  return signature ? { ...called, thought_signature: signature } : called
}

/** Appends in place, since a stream may have as many as it has chunks. */
function joined(before: NormalChoice['logprobs'], more: NormalChoice['logprobs']): NormalChoice['logprobs'] {
  if (!more) return before
  return { content: appended(before?.content, more.content), refusal: appended(before?.refusal, more.refusal) }
}

function appended<Item>(items: Item[] | null | undefined, more: readonly Item[] | null): Item[] | null {
  if (!more) return items ?? null
  if (!items) return [...more]
  for (const item of more) items.push(item)
  return items
}

/** The rules for a stream of chat chunks. */
export const chatEvents: StreamRules = {
  wrongWith: chunkProblem,
  hasContent: (data) => addsText(data) || normalizeChat(data).choices.some(hasChatContent),
  begins: ({ choices }) => objectsIn(choices).some(({ delta }) => asObject(delta)?.role != null),
  complete(events) {
    const finished = new Map<number, boolean>()
    // Reads only this of each chunk, since a stream may have very many.
    for (const { data } of events) {
      let position = 0
      for (const item of asList(asObject(data)?.choices)) {
        const choice = asObject(item)
        if (!choice) continue
        const index = asIndex(choice.index) ?? position
        position++
        if (asText(choice.finish_reason)) finished.set(index, true)
        else if (!finished.has(index)) finished.set(index, false)
      }
    }
    return finished.size > 0 && [...finished.values()].every(Boolean)
  },
}

/** Whether the first choice of a chunk adds text. Nearly all do, so most chunks need no full parse. */
function addsText({ choices }: JsonObject): boolean {
  const delta = Array.isArray(choices) ? asObject(asObject(choices[0])?.delta) : undefined
  return Boolean(asText(delta?.content))
}

/** A stored response with a new id, whole or as chunks. */
export function replayChat(
  request: ChatRequest,
  stored: object,
  answerContext: AnswerContext,
): Pick<RenderedAnswer, 'body' | 'events'> {
  const named = { id: `chatcmpl-${answerContext.id}`, created: Math.floor(answerContext.now / 1000) }
  return {
    body: () => ({ ...stored, ...named }),
    events() {
      const chat = normalizeChat(stored)
      const { choices, usage } = chat
      const { object: _, ...own }: Record<string, unknown> = { ...chatFrame(chat), ...named }
      const counts = request.stream_options?.include_usage ? (usage as Usage | undefined) : undefined
      return chatChunks(own as unknown as ChatFrame, choices.map(partsOf), counts)
    },
  }
}

function partsOf({ texts, calls, functionCall, audio, finish, logprobs }: NormalChoice): ChoiceParts {
  const split = (text: string | undefined) => (text === undefined ? null : tokenChunks(text))
  // A message with both kinds of calls replays `function_call` separately.
  const legacy = calls.length === 0 ? functionCall : undefined
  const called = legacy ? [{ name: legacy.name, input: legacy.arguments, custom: false, id: undefined }] : calls
  const answer: TextAnswer = {
    content: split(audio ? audio.transcript : texts.content),
    refusal: split(texts.refusal),
    reasoning: split(texts.reasoning) ?? [],
    toolCalls: called.map(({ custom, id, name = '', input }) => {
      return { kind: custom ? 'custom' : 'function', name, id, arguments: tokenChunks(input) }
    }),
    // A provider may have other finish reasons.
    finish: (finish ?? 'stop') as TextAnswer['finish'],
    tokens: 0,
    reasoningTokens: 0,
  }
  const { id = '', expires_at: expiresAt = 0, data = '' } = audio ?? {}
  const { reasoning_content, redacted_reasoning } = texts
  const signed = calls.flatMap(({ signature }, index) =>
    signature ? [{ index, function: { arguments: '' }, thought_signature: signature }] : [],
  )
  const more = {
    ...(reasoning_content !== undefined && { reasoning_content }),
    ...(redacted_reasoning !== undefined && { redacted_reasoning }),
    ...(signed.length > 0 && { tool_calls: signed }),
    ...(functionCall && !legacy && { function_call: functionCall }),
  }
  return {
    answer,
    callIds: called.map((call) => call.id ?? ''),
    signature: texts.reasoning_signature,
    logprobs: logprobs ? inOrder([...(logprobs.content ?? []), ...(logprobs.refusal ?? [])]) : undefined,
    sound: audio && { id, expiresAt, bytes: Buffer.from(data, 'base64') },
    legacy: legacy !== undefined,
    more: Object.keys(more).length > 0 ? more : undefined,
  }
}

/** Distributes stored log probabilities over token chunks: those of the text first, then of the refusal. */
function inOrder(stored: readonly TokenLogprob[]): (tokenChunks: readonly TextChunk[]) => TokenLogprob[] {
  const remaining = [...stored]
  return (chunks) =>
    remaining.splice(
      0,
      sumOf(chunks, ({ tokens }) => tokens),
    )
}

/** All texts of the user and of tools in the conversation. */
export const chatInputTexts = ({ messages }: ChatRequest): string[] =>
  messages
    .filter(({ role }) => role === 'user' || role === 'tool' || role === 'function')
    .map(({ content }) => chatContentText(content))

/** All texts of the model in any choice, including tool arguments. */
export const chatOutputTexts = (answer: unknown): string[] =>
  normalizeChat(answer).choices.flatMap(({ texts, calls, functionCall }) =>
    [texts.content, texts.refusal, ...calls.map(({ input }) => input), functionCall?.arguments].filter(
      (text) => text !== undefined,
    ),
  )

/** The request with the retrieved context as its first system message. */
export const addChatContext = (request: ChatRequest, context: string): ChatRequest => ({
  ...request,
  messages: [{ role: 'system', content: `Use this context to answer:\n\n${context}` } as Message, ...request.messages],
})

/** The script that reproduces the first choice of a response. */
export function chatScriptOf(answer: unknown): TextScript | undefined {
  if (chatProblem(answer) !== undefined) return undefined
  const { choices, usage } = normalizeChat(answer)
  const [choice] = choices.toSorted((a, b) => a.index - b.index)
  if (!choice) return undefined
  const { texts, calls, functionCall, audio, finish } = choice
  return textScriptOf({
    content: audio?.transcript ?? texts.content,
    refusal: texts.refusal,
    reasoning: texts.reasoning ?? texts.reasoning_content,
    calls: functionCall ? [...calls, { ...functionCall, custom: false, input: functionCall.arguments }] : calls,
    finish,
    promptTokens: usage?.prompt_tokens,
    completionTokens: usage?.completion_tokens,
  })
}
