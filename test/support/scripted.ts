// Providers that do what a test says, step by step, in the bytes that a real one would send.
import { expect } from 'bun:test'
import type { Config } from '../../src/config.ts'
import type { Backend, BackendCall } from '../../src/contract/core/backend.ts'
import { ConnectionFailure, type Reply } from '../../src/contract/core/reply.ts'
import { VIRTUAL_START } from '../../src/lib/virtual-clock.ts'
import { type Answer, createTestApp, eventsOf } from './app.ts'
import { CHAT } from './chat.ts'
import { errorOf } from './errors.ts'

/** What a provider does with one attempt. */
export type Step = (call: BackendCall) => Promise<Reply>
/** A part of a stream: what is on the wire, a wait in ms, or an error that ends it. */
export type Piece = string | Uint8Array | number | Error

/** The primary model and its fallbacks. */
export const [A, B, C] = ['openai/a', 'groq/b', 'mistral/c'] as const
/** Both forms in which a call can be made. */
export const FORMS: [form: string, stream: boolean][] = [
  ['whole', false],
  ['streamed', true],
]

const encoder = new TextEncoder()
const NOTHING = { headers: {}, usage: null, fixture: null, generated: false }

/** A reply of these bytes. */
export const bytesOf = (text: string, contentType = 'application/json', status = 200): Reply => ({
  ...NOTHING,
  status,
  body: { kind: 'bytes', contentType, bytes: encoder.encode(text) },
})

const USAGE = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 }
/** A whole answer as a provider words it. */
export const completion = (content: string, more: object = {}) => ({
  id: 'chatcmpl-theirs',
  object: 'chat.completion',
  created: 1,
  model: 'theirs',
  choices: [
    { index: 0, message: { role: 'assistant', content, refusal: null }, logprobs: null, finish_reason: 'stop' },
  ],
  usage: USAGE,
  ...more,
})

const frame = { id: 'chatcmpl-theirs', object: 'chat.completion.chunk', created: 1, model: 'theirs' }
/** An event with any data. */
export const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`
/** A chunk as a provider words it. */
export const chunk = (delta: object, finish_reason: string | null = null): string =>
  event({ ...frame, choices: [{ index: 0, delta, logprobs: null, finish_reason }] })
export const ROLE: string = chunk({ role: 'assistant', content: '' })
export const STOP: string = chunk({}, 'stop')
export const DONE = 'data: [DONE]\n\n'
/** A chunk of text. */
export const said = (content: string): string => chunk({ content })

async function* played(pieces: readonly Piece[], { clock, signal }: BackendCall): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece
    if (typeof piece === 'number')
      await (piece === Number.POSITIVE_INFINITY ? untilAborted(signal) : clock.sleep(piece, signal))
    else yield typeof piece === 'string' ? encoder.encode(piece) : piece
  }
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })

/** Streams these pieces. */
export const streams =
  (...pieces: Piece[]): Step =>
  async (call) => ({
    ...NOTHING,
    status: 200,
    body: { kind: 'bytes', contentType: 'text/event-stream', bytes: played(pieces, call) },
  })

/** Answers in the form that is asked for. */
export const says =
  (content: string): Step =>
  async (call) =>
    call.stream
      ? { ...(await streams(ROLE, ...content.split(/(?<= )/).map(said), STOP, DONE)(call)), usage: USAGE }
      : bytesOf(JSON.stringify(completion(content)))

/** Answers with exactly this text. */
export const sends =
  (text: string, contentType?: string): Step =>
  async () =>
    bytesOf(text, contentType)

/** Refuses with a status, in the words of the OpenAI family. */
export const refuses =
  (status: number, headers: Record<string, string> = {}, message = `no: ${status}`): Step =>
  async () => ({
    ...bytesOf(JSON.stringify({ error: { message, type: 'x', code: 'why' } }), undefined, status),
    headers,
  })

/** Is not there. */
export const drops: Step = async () => {
  throw new ConnectionFailure('the connection was refused')
}

/** Takes the call and never answers. */
export const hangs: Step = ({ signal }) => untilAborted(signal)

/** Waits before it does something. */
export const after =
  (ms: number, step: Step): Step =>
  async (call) => {
    await call.clock.sleep(ms, call.signal)
    return step(call)
  }

/** One attempt that reached a provider. */
export interface Reached {
  model: string
  /** Milliseconds since the clock began. */
  at: number
  request: Record<string, unknown>
  signal: AbortSignal
}

/** The step of an attempt; the last one of a model's list is repeated. */
export type Script = Record<string, readonly Step[]> | ((call: BackendCall, number: number) => Step)

/** A backend of scripted providers, and what reached it. */
export function scripted(script: Script): Backend & { reached: Reached[] } {
  const reached: Reached[] = []
  return {
    reached,
    async answer(call) {
      const { model, clock, request, signal } = call
      const number = reached.filter((one) => one.model === model).length
      reached.push({ model, at: clock.now() - VIRTUAL_START, request: request as Reached['request'], signal })
      if (typeof script === 'function') return script(call, number)(call)
      const steps = script[model] ?? []
      const step = steps[Math.min(number, steps.length - 1)]
      if (!step) throw new Error(`the test says nothing about ${model}`)
      return step(call)
    },
  }
}

const open: { close(): void }[] = []
/** Closes every application made here; for `afterAll`. */
export function closeScripted(): void {
  for (const app of open.splice(0)) app.close()
}

/** An application over scripted providers. */
export function createScripted(script: Script, settings: Partial<Config> = {}) {
  const backend = scripted(script)
  const app = createTestApp(settings, undefined, { backend })
  open.push(app)
  /** Asks the primary model, unless told otherwise. */
  const ask = (patch: object, path = CHAT): Promise<Answer> =>
    app.post(path, { model: A, messages: [{ role: 'user', content: 'Hello!' }], ...patch })
  return { ...app, ask, reached: backend.reached }
}
export type ScriptedApp = ReturnType<typeof createScripted>

/** What a chat call is told: the whole text, or that of its chunks up to the end mark. */
export function textOf({ status, text }: Answer): string {
  expect({ status, text }).toEqual({ status: 200, text: expect.any(String) })
  if (text.startsWith('{')) return JSON.parse(text).choices[0].message.content
  const events = eventsOf(text) as { choices: { delta: { content?: string } }[] }[]
  expect(events.pop() as unknown).toBe('[DONE]')
  return events.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).join('')
}

/** The text of a stream that was cut, and the error that says so; there is no end mark. */
export function cutOf({ status, text }: Answer) {
  expect(status).toBe(200)
  const events = eventsOf(text)
  const last = events.pop()
  const error = errorOf(JSON.stringify(last), Number((last as { code: string }).code))
  const chunks = events as { choices: { delta: { content?: string } }[] }[]
  return { heard: chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).join(''), error }
}

/** The attempts of a call, each in one line: `openai/a 2 retry http_error 429`. */
export async function attemptsOf(app: ScriptedApp, answer: Answer): Promise<string[]> {
  const { attempts } = await app.traceOf(answer)
  return attempts.map(
    ({ target, number, reason: why, outcome, status }) => `${target} ${number} ${why} ${outcome} ${status}`,
  )
}

/** The waits before the attempts of a call, in ms. */
export const waitsOf = async (app: ScriptedApp, answer: Answer): Promise<number[]> =>
  (await app.traceOf(answer)).attempts.map(({ wait_ms }) => wait_ms)
