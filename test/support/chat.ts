// Chat calls in both forms: an answer is held to the strict schema, and its stream to saying the same, piece by piece.
import { expect } from 'bun:test'
import { type Answer, eventsOf, type TestApp } from './app.ts'
import { errorOf } from './errors.ts'
import {
  type StrictChoice,
  type StrictChunk,
  type StrictCompletion,
  strictChunk,
  strictCompletion,
} from './strict/chat.ts'

export const CHAT = '/v2/router/chat/completions'
export const MODEL = 'openai/gpt-4o'
/** Fixtures of the chat tests. */
export const FIXTURES = new URL('./fixtures', import.meta.url).pathname

/** The messages of a user who says one thing. */
export const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })

/** What is sent: the model and a question, unless told otherwise. */
export const bodyOf = (patch: object) => ({ model: MODEL, ...user('What is up?'), ...patch })

/** A whole answer. */
export async function whole(app: TestApp, patch: object): Promise<{ completion: StrictCompletion; answer: Answer }> {
  const answer = await app.post(CHAT, bodyOf(patch))
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: expect.any(String) })
  return { completion: strictCompletion(answer.json()), answer }
}

/** A streamed answer, with its usage. */
export async function streamed(app: TestApp, patch: object): Promise<{ chunks: StrictChunk[]; answer: Answer }> {
  const options = { stream: true, stream_options: { include_usage: true } }
  const answer = await app.post(CHAT, bodyOf({ ...patch, ...options }))
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: expect.any(String) })
  const events = eventsOf(answer.text)
  expect(events.pop()).toBe('[DONE]')
  return { chunks: events.map(strictChunk), answer }
}

/** What a call that is refused is told. */
export async function refused(app: TestApp, patch: object, status = 400) {
  const answer = await app.post(CHAT, bodyOf(patch))
  expect({ status: answer.status, text: answer.text }).toEqual({ status, text: expect.any(String) })
  return errorOf(answer.text, status)
}

type Message = StrictChoice['message']

function add(message: Message, delta: StrictChunk['choices'][number]['delta']): void {
  if (delta.role) message.role = delta.role
  for (const field of ['content', 'refusal'] as const) {
    const piece = delta[field]
    if (typeof piece === 'string') message[field] = `${message[field] ?? ''}${piece}`
  }
  if (delta.reasoning !== undefined) message.reasoning = `${message.reasoning ?? ''}${delta.reasoning}`
  if (delta.reasoning_signature !== undefined) message.reasoning_signature = delta.reasoning_signature
  for (const { index, id, type, function: called } of delta.tool_calls ?? []) {
    message.tool_calls ??= []
    if (id !== undefined && type !== undefined && called.name !== undefined) {
      expect(index).toBe(message.tool_calls.length)
      message.tool_calls.push({ index, id, type, function: { name: called.name, arguments: called.arguments } })
    } else {
      const call = message.tool_calls[index]
      if (!call) throw new Error(`arguments of a tool call that has not begun: ${index}`)
      call.function.arguments += called.arguments
    }
  }
  if (delta.audio) {
    const { id, data = '', transcript = '', expires_at } = delta.audio
    message.audio ??= { id, data: '', transcript: '', expires_at: 0 }
    expect(id).toBe(message.audio.id)
    message.audio.data += data
    message.audio.transcript += transcript
    message.audio.expires_at = expires_at ?? message.audio.expires_at
  }
}

type Logprobs = NonNullable<StrictChoice['logprobs']>
const joined = (one: Logprobs | null | undefined, two: Logprobs): Logprobs => ({
  content: two.content ? [...(one?.content ?? []), ...two.content] : (one?.content ?? null),
  refusal: two.refusal ? [...(one?.refusal ?? []), ...two.refusal] : (one?.refusal ?? null),
})

/** The choices that a client puts together from chunks. */
export function choicesOf(chunks: readonly StrictChunk[]): StrictChoice[] {
  const choices = new Map<number, StrictChoice>()
  for (const { index, delta, finish_reason, logprobs } of chunks.flatMap((chunk) => chunk.choices)) {
    const fresh = () => {
      expect(delta.role).toBe('assistant')
      const message: Message = { role: 'assistant', content: null, refusal: null }
      return { index, message, logprobs: null, finish_reason: 'stop' as const }
    }
    const choice: StrictChoice = choices.get(index) ?? fresh()
    choices.set(index, choice)
    add(choice.message, delta)
    if (logprobs) choice.logprobs = joined(choice.logprobs, logprobs)
    if (finish_reason) choice.finish_reason = finish_reason
  }
  return [...choices.values()].sort((a, b) => a.index - b.index)
}

/** Ids are of the call, not of what it says; a log probability is a null or its two lists. */
const comparable = ({ index, message, finish_reason, logprobs }: StrictChoice) => ({
  index,
  finish_reason,
  logprobs: logprobs?.content?.length || logprobs?.refusal?.length ? logprobs : null,
  message: {
    ...message,
    ...(message.tool_calls && { tool_calls: message.tool_calls.map((call) => ({ ...call, id: 'id' })) }),
    ...(message.audio && { audio: { ...message.audio, id: 'id' } }),
  },
})

/** What the second of two equal calls reads from the prompt cache, the first may have written. */
const counts = (usage: StrictChunk['usage']) => {
  const { cached_tokens: read = 0, cache_creation_tokens: written = 0 } = usage?.prompt_tokens_details ?? {}
  return {
    ...usage,
    prompt_tokens_details: { ...usage?.prompt_tokens_details, cached_tokens: read + written, cache_creation_tokens: 0 },
  }
}

/** Asks twice, for a whole answer and for a stream, and holds both to the same; gives the whole one. */
export async function both(app: TestApp, patch: object): Promise<StrictCompletion> {
  const { completion, answer } = await whole(app, patch)
  const { chunks, answer: stream } = await streamed(app, patch)
  const choices = choicesOf(chunks)
  expect(choices.map(comparable)).toEqual(completion.choices.map(comparable))
  expect(chunks.filter((chunk) => chunk.usage)).toEqual(chunks.slice(-1))
  expect(chunks.at(-1)?.choices).toEqual([])
  expect(counts(chunks.at(-1)?.usage)).toEqual(counts(completion.usage))
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
  const one = await app.traceOf(answer)
  const two = await app.traceOf(stream)
  expect(one).toMatchObject({ outcome: 'succeeded', status: 200, stream: false, response: completion })
  expect(two).toMatchObject({ outcome: 'succeeded', status: 200, stream: true, usage: chunks.at(-1)?.usage })
  expect(strictCompletion(two.response).choices.map(comparable)).toEqual(completion.choices.map(comparable))
  return completion
}

/** The message of the only choice. */
export function messageOf({ choices }: StrictCompletion): Message {
  expect(choices).toHaveLength(1)
  const [choice] = choices
  if (!choice) throw new Error('there is no choice')
  return choice.message
}
