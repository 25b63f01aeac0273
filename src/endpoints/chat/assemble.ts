// Assembles a whole chat completion from chunks.
import type { AnswerAssembly } from '../../contract/core/assembly.ts'
import { asText, type JsonObject } from '../../lib/values.ts'
import {
  chatFrame,
  type NormalAudio,
  type NormalCall,
  type NormalChat,
  type NormalChoice,
  normalizeChat,
} from './normalize.ts'

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
