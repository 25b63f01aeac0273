// A chat answer as chunks, and the whole answer that a client has put together from some.
import type { TextPiece } from '../../answers/text-answer.ts'
import type { ChatChunk, ChatCompletion, Usage } from '../../contract/chat.ts'
import type { StreamEvent } from '../../lib/sse.ts'
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
  const chunk = (chunkChoices: ChunkChoice[], tokens?: number, total: Usage | null = null): StreamEvent => ({
    data: { ...frame, object: 'chat.completion.chunk', choices: chunkChoices, ...(usage ? { usage: total } : {}) },
    ...(tokens ? { tokens } : {}),
  })
  const steps = choices.map(stepsOf)
  const events: StreamEvent[] = []
  for (let step = 0; step < (steps[0]?.length ?? 0); step++) {
    for (const [index, own] of steps.entries()) {
      const { delta = {}, logprobs = null, finish = null, tokens } = own[step] ?? {}
      events.push(chunk([{ index, delta, logprobs, finish_reason: finish }], tokens))
    }
  }
  if (usage) events.push(chunk([], undefined, usage))
  return events
}

/** The steps of one streamed choice: role, reasoning, text or sound, tool calls, finish reason. */
function stepsOf(parts: ChoiceParts): Step[] {
  const { answer, signature, logprobs, sound } = parts
  const steps: Step[] = [{ delta: { role: 'assistant', content: answer.content && !sound ? '' : null, refusal: null } }]
  const said = (field: 'content' | 'refusal', pieces: readonly TextPiece[]): Step[] => {
    const likely = logprobs?.(pieces)
    return pieces.map(({ text, tokens }, place) => {
      const own = likely?.slice(place, place + 1)
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
  steps.push(
    ...(sound ? soundSteps(sound, content) : said('content', content)),
    ...said('refusal', answer.refusal ?? []),
  )
  steps.push(...answer.toolCalls.flatMap((_, index) => callSteps(parts, index)), { delta: {}, finish: answer.finish })
  return steps
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

type Partial = Omit<Choice, 'finish_reason'> & { finish_reason: Choice['finish_reason'] | null }

/** The completion that a client has put together after these chunks. */
export function assembleChat(events: readonly StreamEvent[]): object {
  const chunks = events.map((event) => event.data as ChatChunk)
  const first = chunks[0]
  if (!first) return {}
  const choices: Partial[] = []
  for (const step of chunks.flatMap((chunk) => chunk.choices)) {
    const choice = (choices[step.index] ??= {
      index: step.index,
      message: { role: 'assistant', content: null, refusal: null },
      logprobs: null,
      finish_reason: null,
    })
    addDelta(choice.message, step.delta)
    choice.logprobs = joined(choice.logprobs, step.logprobs)
    choice.finish_reason = step.finish_reason ?? choice.finish_reason
  }
  const { usage: _, ...frame } = first
  const usage = chunks.findLast((chunk) => chunk.usage)?.usage
  return { ...frame, object: 'chat.completion', choices, ...(usage ? { usage } : {}) }
}

function addDelta(message: Choice['message'], delta: ChunkChoice['delta']): void {
  for (const field of ['content', 'refusal', 'reasoning', 'reasoning_signature'] as const) {
    const piece = delta[field]
    if (piece != null) message[field] = (message[field] ?? '') + piece
  }
  if (delta.audio) {
    const { id, data = '', transcript = '', expires_at } = delta.audio
    const audio = (message.audio ??= { id, data: '', transcript: '', expires_at: 0 })
    audio.data += data
    audio.transcript += transcript
    audio.expires_at = expires_at ?? audio.expires_at
  }
  if (delta.function_call) {
    const call = (message.function_call ??= { name: delta.function_call.name ?? '', arguments: '' })
    call.arguments += delta.function_call.arguments
  }
  for (const { index, id = '', function: called, custom } of delta.tool_calls ?? []) {
    const calls = (message.tool_calls ??= [])
    const call = (calls[index] ??= custom
      ? { index, id, type: 'custom', custom: { name: custom.name ?? '', input: '' } }
      : { index, id, type: 'function', function: { name: called?.name ?? '', arguments: '' } })
    if (call.type === 'custom') call.custom.input += custom?.input ?? ''
    else call.function.arguments += called?.arguments ?? ''
  }
}

function joined(before: Choice['logprobs'], more: ChunkChoice['logprobs']): Choice['logprobs'] {
  if (!more) return before
  const join = <T>(one: T[] | null | undefined, two: T[] | null) => (two ? [...(one ?? []), ...two] : (one ?? null))
  return { content: join(before?.content, more.content), refusal: join(before?.refusal, more.refusal) }
}
