// A chat answer as chunks.
import type { TextPiece } from '../../answers/text-answer.ts'
import type { ChatChunk, ChatCompletion, Usage } from '../../contract/chat.ts'
import { type StreamEvent, WrittenEvent } from '../../lib/sse.ts'
import type { ChatAudio, ChatFrame, ChoiceParts } from './parts.ts'

type Choice = ChatCompletion['choices'][number]
type ChunkChoice = ChatChunk['choices'][number]

interface Step {
  delta?: ChunkChoice['delta']
  logprobs?: ChunkChoice['logprobs']
  finish?: Choice['finish_reason']
  tokens?: number
}

/** The chunks of all choices, step by step; with `usage`, one more chunk that carries it. */
export function chatChunks(frame: ChatFrame, choices: readonly ChoiceParts[], usage: Usage | undefined): StreamEvent[] {
  // Written around what differs: the rest is the same in every chunk.
  const head = JSON.stringify({ ...frame, object: 'chat.completion.chunk' }).slice(0, -1)
  const tail = usage ? ',"usage":null}' : '}'
  const steps = choices.map(stepsOf)
  const events: StreamEvent[] = []
  // Those made here are of one length, those of a provider need not be.
  const longest = Math.max(0, ...steps.map((own) => own.length))
  for (let step = 0; step < longest; step++) {
    for (const [index, own] of steps.entries()) {
      const piece = own[step]
      if (!piece) continue
      const { delta = {}, logprobs = null, finish = null, tokens } = piece
      const likely = logprobs ? JSON.stringify(logprobs) : 'null'
      const rest = `,"logprobs":${likely},"finish_reason":${JSON.stringify(finish)}}]${tail}`
      const text = `${head},"choices":[{"index":${index},"delta":${JSON.stringify(delta)}${rest}`
      events.push(new WrittenEvent(text, tokens))
    }
  }
  if (usage) events.push(new WrittenEvent(`${head},"choices":[],"usage":${JSON.stringify(usage)}}`, undefined))
  return events
}

/** The steps of one streamed choice: role, reasoning, text or sound, tool calls, finish reason. */
function stepsOf(parts: ChoiceParts): Step[] {
  const { answer, signature, logprobs, sound, more } = parts
  const steps: Step[] = [{ delta: { role: 'assistant', content: answer.content && !sound ? '' : null, refusal: null } }]
  const said = (field: 'content' | 'refusal', pieces: readonly TextPiece[]): Step[] => {
    const likely = logprobs?.(pieces)
    return pieces.map(({ text, tokens }, position) => {
      const own = likely?.slice(position, position + 1)
      return {
        delta: { [field]: text },
        tokens,
        ...(own ? { logprobs: { content: null, refusal: null, [field]: own } } : {}),
      }
    })
  }
  for (const { text, tokens } of answer.reasoning) steps.push({ delta: { reasoning: text }, tokens })
  if (signature) steps.push({ delta: { reasoning_signature: signature } })
  const content = answer.content ?? []
  return steps.concat(
    sound ? soundSteps(sound, content) : said('content', content),
    said('refusal', answer.refusal ?? []),
    answer.toolCalls.flatMap((_, index) => callSteps(parts, index)),
    more ? [{ delta: more }] : [],
    { delta: {}, finish: answer.finish },
  )
}

/** One call: its name, then its text piece by piece. */
function callSteps({ answer, callIds, legacy }: ChoiceParts, index: number): Step[] {
  const call = answer.toolCalls[index]
  if (!call) return []
  const { name, kind } = call
  const delta = (text: string, head?: { id: string; name: string }): ChunkChoice['delta'] => {
    const named = head && { name }
    if (legacy) return { function_call: { ...named, arguments: text } }
    const begun = { index, ...(head && { id: head.id, type: kind }) }
    if (kind === 'custom') return { tool_calls: [{ ...begun, custom: { ...named, input: text } }] }
    return { tool_calls: [{ ...begun, function: { ...named, arguments: text } }] }
  }
  return [
    { delta: delta('', { id: callIds[index] ?? '', name }), tokens: 1 },
    ...call.arguments.map(({ text, tokens }) => ({ delta: delta(text), tokens })),
  ]
}

/** Bytes of sound in one chunk: a multiple of three, so that the base64 texts of all chunks join to that of the whole. */
const SOUND_BYTES = 12_000

function soundSteps({ id, bytes, expiresAt }: ChatAudio, transcript: readonly TextPiece[]): Step[] {
  const steps: Step[] = transcript.map(({ text, tokens }) => ({ delta: { audio: { id, transcript: text } }, tokens }))
  for (let at = 0; at < bytes.length; at += SOUND_BYTES) {
    const data = Buffer.from(bytes.subarray(at, at + SOUND_BYTES)).toString('base64')
    steps.push({ delta: { audio: { id, data } } })
  }
  steps.push({ delta: { audio: { id, expires_at: expiresAt } } })
  return steps
}
