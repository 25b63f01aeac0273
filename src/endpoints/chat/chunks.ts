// The parts of a chat response, and how they are streamed as chunks.
import { joinTokenChunks, jsonOf, type TextAnswer, type TextChunk } from '../../answers/text-answer.ts'
import type { ChatChunk, ChatCompletion, TokenLogprob, Usage } from '../../contract/router/chat.ts'
import { byteCache } from '../../lib/byte-cache.ts'
import { fingerprint } from '../../lib/ids.ts'
import { remembering } from '../../lib/remember.ts'
import { type EventBatch, StreamEvent } from '../../lib/sse.ts'

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
type TextChoice = ChoiceParts & { answer: { content: readonly TextChunk[] } }
/** Whether a choice is only a text with the finish reason `stop`. */
function isText(choice: ChoiceParts): choice is TextChoice {
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

type Choice = ChatCompletion['choices'][number]
type ChunkChoice = ChatChunk['choices'][number]

interface Step {
  /** As JSON. */
  delta: string
  logprobs?: ChunkChoice['logprobs']
  finish?: Choice['finish_reason']
  tokens?: number
}

/** The chunks of all choices, step by step; with `usage`, a last chunk contains it. */
export function chatChunks(frame: ChatFrame, choices: readonly ChoiceParts[], usage: Usage | undefined): EventBatch {
  // Only the varying part of each chunk is serialized.
  const beginning = JSON.stringify({ ...frame, object: 'chat.completion.chunk' }).slice(0, -1)
  const begun = encoder.encode(`data: ${beginning}`)
  return chunkEnds(choices, usage).map(
    ({ text, tokens, bytes }) => new StreamEvent(beginning + text, { tokens, wire: [begun, bytes] }),
  )
}
const encoder = new TextEncoder()

/** The part of a chunk after the common beginning. */
interface ChunkEnd {
  text: string
  tokens: number
  /** The text as bytes, with the end of its event. */
  bytes: Uint8Array
}
const chunkEnd = (text: string, tokens: number): ChunkEnd => ({ text, tokens, bytes: encoder.encode(`${text}\n\n`) })

function chunkEnds(choices: readonly ChoiceParts[], usage: Usage | undefined): readonly ChunkEnd[] {
  const [choice, ...others] = choices
  return choice && others.length === 0 && !usage && isText(choice) ? textEnds(choice) : allEnds(choices, usage)
}

function allEnds(choices: readonly ChoiceParts[], usage: Usage | undefined): ChunkEnd[] {
  const tail = usage ? ',"usage":null}' : '}'
  const steps = choices.map(stepsOf)
  const ends: ChunkEnd[] = []
  // Generated choices have equally many steps; those of a provider may not.
  const longest = Math.max(0, ...steps.map((own) => own.length))
  const plainEnd = `,"logprobs":null,"finish_reason":null}]${tail}`
  for (let step = 0; step < longest; step++) {
    for (let index = 0; index < steps.length; index++) {
      const piece = steps[index]?.[step]
      if (!piece) continue
      const { delta, logprobs, finish, tokens = 0 } = piece
      const end =
        logprobs || finish
          ? `,"logprobs":${JSON.stringify(logprobs ?? null)},"finish_reason":${JSON.stringify(finish ?? null)}}]${tail}`
          : plainEnd
      ends.push(chunkEnd(`,"choices":[{"index":${index},"delta":${delta}${end}`, tokens))
    }
  }
  if (usage) ends.push(chunkEnd(`,"choices":[],"usage":${JSON.stringify(usage)}}`, 0))
  return ends
}

/** Maximum length of a text whose chunks are cached, in characters. */
const MAX_CACHED_TEXT = 4_000
/** Chunks by text, at most 8 MiB: making 75 takes 26 us. */
const endsByText = byteCache<readonly ChunkEnd[]>(8 << 20)
/** Estimated size of a cached chunk, without its text. */
const CHUNK_BYTES = 500

/** The chunks of a choice that is a plain text. */
function textEnds(choice: TextChoice): readonly ChunkEnd[] {
  const text = joinTokenChunks(choice.answer.content)
  if (text.length > MAX_CACHED_TEXT) return allEnds([choice], undefined)
  const cached = endsByText.get(text)
  if (cached) return cached
  const ends = allEnds([choice], undefined)
  endsByText.set(text, ends, 2 * text.length + ends.length * CHUNK_BYTES)
  return ends
}

const jsonDelta = (delta: ChunkChoice['delta']) => JSON.stringify(delta)
const opening = (content: '' | null) => jsonDelta({ role: 'assistant', content, refusal: null })
const OPENING = opening('')
const OPENING_WITHOUT_TEXT = opening(null)

/** The steps of a streamed choice: role, reasoning, text or audio, tool calls, finish reason. */
function stepsOf(parts: ChoiceParts): Step[] {
  const { answer, signature, logprobs, sound, more } = parts
  const steps: Step[] = [{ delta: answer.content && !sound ? OPENING : OPENING_WITHOUT_TEXT }]
  for (const piece of answer.reasoning) steps.push({ delta: `{"reasoning":${jsonOf(piece)}}`, tokens: piece.tokens })
  if (signature) steps.push({ delta: jsonDelta({ reasoning_signature: signature }) })
  const content = answer.content ?? NO_PIECES
  if (sound) for (const step of soundSteps(sound, content)) steps.push(step)
  else addTextSteps(steps, content, { field: 'content', logprobs })
  addTextSteps(steps, answer.refusal ?? NO_PIECES, { field: 'refusal', logprobs })
  for (let index = 0; index < answer.toolCalls.length; index++)
    for (const step of callSteps(parts, index)) steps.push(step)
  if (more) steps.push({ delta: JSON.stringify(more) })
  steps.push({ delta: '{}', finish: answer.finish })
  return steps
}

const NO_PIECES: readonly TextChunk[] = []

/** Adds a step for each piece of a text. */
function addTextSteps(
  steps: Step[],
  pieces: readonly TextChunk[],
  { field, logprobs }: { field: 'content' | 'refusal'; logprobs: ChoiceParts['logprobs'] },
): void {
  const likely = logprobs?.(pieces)
  let position = 0
  for (const piece of pieces) {
    const step: Step = { delta: `{"${field}":${jsonOf(piece)}}`, tokens: piece.tokens }
    const own = likely?.slice(position, ++position)
    if (own) step.logprobs = { content: null, refusal: null, [field]: own }
    steps.push(step)
  }
}

/** The steps of a tool call: its name, then its arguments piece by piece. */
function callSteps({ answer, callIds, legacy }: ChoiceParts, index: number): Step[] {
  const call = answer.toolCalls[index]
  if (!call) return []
  const { name, kind } = call
  const deltaOf = (text: string, head?: { id: string; name: string }): ChunkChoice['delta'] => {
    const named = head && { name }
    if (legacy) return { function_call: { ...named, arguments: text } }
    const begun = { index, ...(head && { id: head.id, type: kind }) }
    if (kind === 'custom') return { tool_calls: [{ ...begun, custom: { ...named, input: text } }] }
    return { tool_calls: [{ ...begun, function: { ...named, arguments: text } }] }
  }
  return [
    { delta: jsonDelta(deltaOf('', { id: callIds[index] ?? '', name })), tokens: 1 },
    ...call.arguments.map(({ text, tokens }) => ({ delta: jsonDelta(deltaOf(text)), tokens })),
  ]
}

/** Audio bytes in one chunk: a multiple of three, so that the base64 of all chunks can be joined. */
const SOUND_BYTES = 12_000

function soundSteps({ id, bytes, expiresAt }: ChatAudio, transcript: readonly TextChunk[]): Step[] {
  const steps = transcript.map(
    ({ text, tokens }): Step => ({ delta: jsonDelta({ audio: { id, transcript: text } }), tokens }),
  )
  for (let at = 0; at < bytes.length; at += SOUND_BYTES) {
    const data = Buffer.from(bytes.subarray(at, at + SOUND_BYTES)).toString('base64')
    steps.push({ delta: jsonDelta({ audio: { id, data } }) })
  }
  steps.push({ delta: jsonDelta({ audio: { id, expires_at: expiresAt } }) })
  return steps
}
